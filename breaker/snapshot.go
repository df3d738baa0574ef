package breaker

import (
	"fmt"
	"time"
)

// State is what a breaker does with calls.
type State uint8

// The states.
const (
	// Closed: every call goes through.
	Closed State = iota
	// Open: no call goes through until the open time is over.
	Open
	// HalfOpen: as many calls go through as there are tickets.
	HalfOpen
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case Open:
		return "open"
	case HalfOpen:
		return "half-open"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Snapshot is a breaker at one instant.
type Snapshot struct {
	// State stays [Open] after Until until a call makes it [HalfOpen]: time
	// alone changes nothing, but see [Snapshot.Ready].
	State State
	// Since is when the state began.
	Since time.Time
	// Until is when probing is allowed, for [Open]; otherwise zero.
	Until time.Time
	// Probes is how many calls would be let through now as probes, for
	// [HalfOpen], or at Until, for [Open]; zero for [Closed], where there is
	// no limit.
	Probes int
	// ConsecutiveFailures is the failures in a row, for [Closed].
	ConsecutiveFailures int
	// Openings is how often the breaker opened since it was last closed.
	Openings int
}

// Ready reports whether a call at the given time would be let through.
func (s Snapshot) Ready(now time.Time) bool {
	switch s.State {
	case Closed:
		return true
	case Open:
		return !now.Before(s.Until)
	case HalfOpen:
		return s.Probes > 0
	}
	return false
}

// Left returns how long the breaker stays open from now on, or zero where that
// is over or not a matter of time.
func (s Snapshot) Left(now time.Time) time.Duration { return left(s.Until, now) }

func left(until, now time.Time) time.Duration {
	if until.IsZero() {
		return 0
	}
	return max(0, until.Sub(now))
}
