package core

// Event is something that happened. The concrete types are in this file.
type Event interface{ event() }

// Arrived brings records as polled, in offset order for each partition.
type Arrived struct{ Recs []*Rec }

// Finished brings a run back from its worker.
type Finished struct{ Run *Run }

// PublishResult is how the writing of a copy ended.
type PublishResult uint8

// Results of writing a copy.
const (
	// PublishAcked: all in-sync replicas have it.
	PublishAcked PublishResult = iota
	// PublishTooLarge: the target or the client refuses the size.
	PublishTooLarge
	// PublishFailed: it may or may not have been written.
	PublishFailed
)

// Ack is the fate of one copy.
type Ack struct {
	Rec    *Rec
	Result PublishResult
}

// Published brings the fates of copies.
type Published struct{ Acks []Ack }

// AssignedTo is a rebalance that gives a client partitions, each as a new
// Part. The core answers with [FinishAssign].
type AssignedTo struct {
	Client int
	Parts  []*Part
}

// RevokedFrom is a rebalance that takes a client's partitions. The core
// answers with [FinishRevoke] once they are drained, or at once when lost.
type RevokedFrom struct {
	Client int
	Parts  []*Part
	Lost   bool
}

// CommitAnswered ends the commit that a [Store] began.
type CommitAnswered struct {
	Client int
	Err    error
}

// BreakerState is a breaker's condition as the core needs it.
type BreakerState uint8

// Breaker states.
const (
	BreakerClosed BreakerState = iota
	// BreakerOpen: refuses until BreakerChanged.Until, then lets probes in.
	BreakerOpen
	// BreakerHalfOpen: lets probes in.
	BreakerHalfOpen
)

// BreakerChanged tells a breaker's new state. A breaker not heard of is closed.
type BreakerChanged struct {
	Breaker int
	State   BreakerState
	Until   Instant
	Tickets int // how many probes may be in flight
}

// OperatorPause stops or resumes fetching of the partitions of a topic, now
// and in later epochs. Partition -1 means all of the topic's.
type OperatorPause struct {
	Topic     string
	Partition int32
	Paused    bool
}

// StopAsked begins the ordered shutdown. Again it changes nothing.
type StopAsked struct{}

// Broke tells that a client is of no more use. The runtime stops, and this
// client is neither committed with nor closed.
type Broke struct {
	Client int
	Err    error
}

// ClientClosed tells that a client's Close returned, or was given up.
type ClientClosed struct{ Client int }

// Asked wants a view of the state, see [View].
type Asked struct{ Reply func(View) }

func (*Arrived) event()        {}
func (*Finished) event()       {}
func (*Published) event()      {}
func (*AssignedTo) event()     {}
func (*RevokedFrom) event()    {}
func (*CommitAnswered) event() {}
func (*BreakerChanged) event() {}
func (*OperatorPause) event()  {}
func (*StopAsked) event()      {}
func (*Broke) event()          {}
func (*ClientClosed) event()   {}
func (*Asked) event()          {}
