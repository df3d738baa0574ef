package core

import "time"

// Role is what a partition's records are.
type Role uint8

// Roles.
const (
	Source Role = iota
	Lane
	Replay
)

type partStatus uint8

const (
	partNew      partStatus = iota
	partOwned               // records are admitted and dispatched
	partDraining            // given up: what runs may finish, nothing begins
	partDead                // the epoch is over
)

// Part is one epoch of one partition. The shell makes it when the partition is
// assigned and holds it as a handle; everything unexported is the core's.
type Part struct {
	Topic     string
	Partition int32
	Client    int
	Role      Role
	Route     int
	Epoch     uint64
	Handle    any // the shell's own

	status  partStatus
	gen     uint32 // counts rewinds within the epoch
	rewinds []rewound
	tracker tracker

	main    *unit            // the unit of ByPartition
	keys    map[string]*unit // the units of ByKey
	ready   heap[*unit]      // units that may be dispatched, the oldest first
	loose   recQueue         // records without a unit that may be dispatched
	waiting heap[*Rec]       // records without a unit that are not due, the first due first
	backlog recQueue         // arrived, but past MaxUncommitted

	records, bytes      int // arrived and unfinished
	running, publishing int
	last                int64 // newest offset that arrived
	seen                bool  // last has a meaning

	gates      gateSet
	gatedSince [gateCount]Instant

	paused         bool // as the client was told
	operatorPaused bool
	pausedAt       Instant
	dwelling       bool // a timer looks at the pause again
	waitingAt      Instant

	committed int64 // answered by the group
	behind    []int // clients whose commit, from before this epoch, is unanswered

	foreignFrom int64 // the first record that is not ours, while gate foreign is closed

	failedPublishes recQueue
	publishDelay    time.Duration
	publishAt       Instant

	inReady bool
	next    *Part
}

// NewPart makes the epoch of a partition that was just assigned.
func NewPart(topic string, partition int32, client int, role Role, route int, epoch uint64) *Part {
	p := &Part{Topic: topic, Partition: partition, Client: client, Role: role, Route: route, Epoch: epoch}
	p.main = &unit{part: p}
	return p
}

// hasWork reports that a record could be dispatched if no gate were closed.
func (p *Part) hasWork() bool { return len(p.ready) > 0 || p.loose.head != nil }

// partQueue is a first-in first-out list of partitions, linked through them.
type partQueue struct{ head, tail *Part }

func (q *partQueue) push(p *Part) {
	p.next = nil
	if q.tail == nil {
		q.head = p
	} else {
		q.tail.next = p
	}
	q.tail = p
}

func (q *partQueue) pop() *Part {
	p := q.head
	if p == nil {
		return nil
	}
	q.head = p.next
	if q.head == nil {
		q.tail = nil
	}
	p.next = nil
	return p
}
