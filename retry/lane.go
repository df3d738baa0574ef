package retry

import (
	"slices"
	"time"
)

const (
	// MaxLaneJitter is the largest share of a lane's delay that chance adds
	// to it. A reader waits no longer than the delay and this much, so that a
	// record whose writer's clock was wrong is not late by more.
	MaxLaneJitter = 0.2
	// DerivedLanesMax is how many lanes a policy makes for itself: each is a
	// topic with as many partitions as its source.
	DerivedLanesMax = 8
)

// Lanes are the delays of retry topics, ascending and each once.
type Lanes []time.Duration

// Choose returns the smallest lane that is at least as long as wait, and its
// index; the longest where none is. Without lanes it returns 0 and -1.
func (l Lanes) Choose(wait time.Duration) (lane time.Duration, index int) {
	if len(l) == 0 {
		return 0, -1
	}
	index, _ = slices.BinarySearch(l, wait)
	index = min(index, len(l)-1)
	return l[index], index
}

func (l Lanes) sorted() Lanes {
	c := slices.Clone(l)
	slices.Sort(c)
	return slices.Compact(c)
}

func (l Lanes) validate() []error {
	var probs problems
	seen := make(map[time.Duration]bool, len(l))
	for i, d := range l {
		if _, err := FormatDelay(d); err != nil {
			probs.addf("retry lane %d: %w", i, err)
		}
		if seen[d] {
			probs.addf("retry lane %d: %v is there twice", i, d)
		}
		seen[d] = true
	}
	return probs
}

// Placement is where a record waits.
type Placement struct {
	// Index is the lane's index in the policy's lanes, and Lane its delay.
	Index int
	Lane  time.Duration
	// Wait is the time from writing the copy until it is due, jitter
	// included. It is never shorter than what was asked for. Where it is
	// longer than the lane allows ([ReaderWait]) the record goes on to another
	// lane for the rest.
	Wait time.Duration
}

// Place chooses the lane for a wanted wait without jitter, as [Decision] has
// it: the smallest lane that is long enough, for that lane's delay; where none
// is, the longest lane, with the wanted wait. Jitter is at most
// [MaxLaneJitter] of the lane's delay, random is 0 to below 1. A wait beyond
// [MaxWait] counts as [MaxWait].
func (p Policy) Place(wait time.Duration, random float64) Placement {
	if len(p.Lanes) == 0 {
		p = p.WithDefaults()
	}
	p = p.scalars()
	wait = min(max(0, wait), MaxWait)
	lane, index := p.Lanes.Choose(wait)
	extra := min(jitter(lane, min(p.Jitter, MaxLaneJitter), random), lane/5)
	return Placement{Index: index, Lane: lane, Wait: max(wait, lane) + extra}
}

// ReaderWait returns how long a lane's reader waits before it handles a record,
// from the moment it first sees it and by its own monotonic clock. written is
// the copy's timestamp and due the instant before which it must not be
// handled, both by the writer's clock; lane is the lane's delay.
//
// wait is due-now, but never more than what the writer wanted (due-written)
// nor than the lane's delay with its jitter, 1.2 times the delay: a wrong clock
// cannot make a record wait longer. rest is what is then still missing of a
// wanted wait that was longer than the lane allows; such a record goes to
// another lane for the rest. skewed reports that the writer's clock was ahead
// of the reader's.
func ReaderWait(now, due, written time.Time, lane time.Duration) (wait, rest time.Duration, skewed bool) {
	wanted := max(0, due.Sub(written))
	lane = min(max(0, lane), MaxWait)
	allowed := lane + lane/5
	missing := max(0, due.Sub(now))
	wait = min(missing, wanted, allowed)
	if wanted > allowed {
		rest = min(missing-wait, wanted-allowed)
	}
	return wait, rest, written.After(now)
}
