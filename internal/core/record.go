package core

import (
	"time"

	"github.com/holdfast-kafka/holdfast/retry"
)

// Instant is a time on the shell's monotonic clock, in nanoseconds. Zero is
// the start of the runtime, so negative values are before it.
type Instant int64

// Never is later than every instant.
const Never Instant = 1<<63 - 1

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from earlier to i.
func (i Instant) Sub(earlier Instant) time.Duration { return time.Duration(i - earlier) }

// Mark says whether a record may be handled at all.
type Mark uint8

// Marks.
const (
	Plain Mark = iota
	// Passed: a replay meant for another group; done without an attempt.
	Passed
	// Foreign: a lane record that is not ours. Neither handled nor
	// committed; its partition waits at gate foreign.
	Foreign
)

// Rec is the core's view of one record. The shell fills in the exported
// fields before [Arrived]; from then on the record belongs to the core, or,
// between Dispatch and Finished, to a worker, which sets Result.
type Rec struct {
	Part        *Part
	Payload     any    // the shell's own record
	Key         []byte // heeded by routes with ordering ByKey
	Offset      int64
	LeaderEpoch int32
	Size        int32 // bytes that count against the limits

	// Attempts is how many failed attempts were charged before this one.
	Attempts int32
	// Failed and FirstFailure tell when the first attempt failed, if one did.
	Failed       bool
	Mark         Mark
	FirstFailure Instant
	// Held is how long since then the record waited uncharged.
	Held time.Duration
	// Due is the instant before which the record must not be handled.
	Due Instant
	// Rest is what is missing of the true due after Due: the record then
	// moves on to another lane instead of being handled.
	Rest time.Duration

	Result Result

	next *Rec
	unit *unit
	seq  uint64
	from Instant // since when it could be handled
	gen  uint32
	more *trouble // most records never need it, and there are many
}

// trouble is what only records need that do not simply succeed.
type trouble struct {
	probing []*breakerState
	publish Publish
}

func (r *Rec) trouble() *trouble {
	if r.more == nil {
		r.more = new(trouble)
	}
	return r.more
}

// Outcome is what became of an attempt, as the worker saw it.
type Outcome uint8

// Outcomes a worker reports.
const (
	// OutcomeDone: the handler returned nil.
	OutcomeDone Outcome = iota
	// OutcomeFailed: the attempt is charged; Result.Verdict says how it failed.
	OutcomeFailed
	// OutcomeHold: not now, uncharged: Result.Breaker or Result.Verdict.After
	// say until when.
	OutcomeHold
	// OutcomeDrop: the user's policy said drop.
	OutcomeDrop
	// OutcomeAbandoned: cut off by us (revoked, stopped); nothing is known
	// and nothing is charged.
	OutcomeAbandoned
)

// NoBreaker is the breaker number of a hold without a breaker.
const NoBreaker = -1

// Result is how an attempt ended.
type Result struct {
	Outcome     Outcome
	Breaker     int32 // with OutcomeHold: the breaker that refused, or NoBreaker
	Verdict     retry.Verdict
	Disposition retry.Disposition // why it would be dead: panic, timeout, decode; "" for the class's own
}

// MaxRun is the most records handed over at once. A hand-off between
// goroutines costs as much as a poll, so records travel in runs; from 64 to 128
// a record's CPU falls by another 5 %, beyond that by nothing.
const MaxRun = 128

// Run is a series of records for one worker, handled one after another.
type Run struct {
	Part *Part
	Recs []*Rec
	// StopOnFailure: a failed attempt ends the run, since its record keeps
	// its place. A hold always ends it.
	StopOnFailure bool
	// Probe: the run goes to a breaker that is not closed, to see whether it
	// would be.
	Probe bool

	// Set by the worker.
	Attempted int           // the first this many have a Result, the others were not begun
	Elapsed   time.Duration // of the attempts

	buf [MaxRun]*Rec
}

// recQueue is a first-in first-out list of records, linked through them.
type recQueue struct {
	head, tail *Rec
	n          int
}

func (q *recQueue) push(r *Rec) {
	r.next = nil
	if q.tail == nil {
		q.head = r
	} else {
		q.tail.next = r
	}
	q.tail = r
	q.n++
}

func (q *recQueue) pushFront(r *Rec) {
	r.next = q.head
	q.head = r
	if q.tail == nil {
		q.tail = r
	}
	q.n++
}

func (q *recQueue) pop() *Rec {
	r := q.head
	if r == nil {
		return nil
	}
	q.head = r.next
	if q.head == nil {
		q.tail = nil
	}
	r.next = nil
	q.n--
	return r
}

// before orders records that wait.
func (r *Rec) before(other *Rec) bool {
	if r.Due != other.Due {
		return r.Due < other.Due
	}
	return r.Offset < other.Offset
}
