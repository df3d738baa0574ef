package consumer

import "time"

// Observer is told what happens to records besides being handled: for metrics
// and alarms. Calls come one at a time from the goroutine that runs
// everything, so they must be quick and must not call the consumer. A panic in
// one is logged and changes nothing.
type Observer interface {
	Observe(ev Event)
}

// ObserverFunc is a function as an [Observer].
type ObserverFunc func(Event)

// Observe calls f.
func (f ObserverFunc) Observe(ev Event) { f(ev) }

// Event is one thing that happened.
type Event struct {
	Kind EventKind
	// Topic, Partition and Offset are of the record's copy that was read:
	// on a lane they are the lane's. Offset is -1 where no record is concerned.
	Topic     string
	Partition int32
	Offset    int64
	// Disposition is set for Dead.
	Disposition string
	// Gate names the gate of GateClosed and GateOpened.
	Gate string
	// Wait is how long a record will wait, or how long a gate was closed.
	Wait time.Duration
	// Count is the number of records of DrainTimedOut.
	Count int
}

// EventKind says what happened.
type EventKind string

// What can happen.
const (
	EventRetry        EventKind = "retry"         // an attempt failed and another follows
	EventDead         EventKind = "dead"          // a record is given up on
	EventDropped      EventKind = "dropped"       // dropped, as the handler or the route said
	EventParked       EventKind = "parked"        // moved to a lane, uncharged
	EventHeld         EventKind = "held"          // waits in memory, uncharged
	EventPassed       EventKind = "passed"        // a replay for another group went by
	EventForeign      EventKind = "foreign"       // a lane holds a record that is not ours
	EventGateClosed   EventKind = "gate_closed"   // a partition is not dispatched
	EventGateOpened   EventKind = "gate_opened"   // it is again
	EventDrainTimeout EventKind = "drain_timeout" // revoked before its work was finished
	EventLate         EventKind = "late"          // a result of an epoch that is over was dropped
	EventRewound      EventKind = "rewound"       // a partition's offsets went back
	EventPublishRetry EventKind = "publish_retry" // a copy could not be written and is tried again
	EventBlocked      EventKind = "blocked"       // a dead record has nowhere to go and is kept
)

type nobody struct{}

func (nobody) Observe(Event) {}
