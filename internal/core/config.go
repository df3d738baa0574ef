package core

import (
	"time"

	"github.com/holdfast-kafka/holdfast/retry"
)

// Config is what the core is built from. The shell fills in every field; there
// are no defaults here.
type Config struct {
	Slots          int // runs handed out at once, in all
	Ahead          int // how many of the slots are runs that wait for a free worker
	Routes         []Route
	Clients        []Client
	CommitInterval time.Duration
	CommitCount    int // finished records after which a commit comes early
	// DrainTimeout bounds the waiting for running handlers at a revoke, and
	// StopTimeout at the shutdown.
	DrainTimeout time.Duration
	StopTimeout  time.Duration
	// MaxUncommitted bounds the records past the oldest unfinished one.
	MaxUncommitted int
	Seed           uint64 // of the jitter
}

// Route is how the records of some topics are treated.
type Route struct {
	Ordering    Ordering
	Policy      retry.Policy
	InPlace     bool // retries keep their place and wait in memory; otherwise in lanes
	Breakers    []int
	DeadLetters DeadLetters
	TooLarge    TooLarge
}

// Client is one Kafka client of the runtime.
type Client struct {
	// PartRecords and PartBytes are the high mark of one partition's buffer.
	PartRecords, PartBytes int
	// MaxRecords and MaxBytes bound what the client's partitions buffer
	// together; each has room for Floor records all the same.
	MaxRecords, MaxBytes, Floor int
}

// Ordering is the unit within which records are handled one at a time.
type Ordering uint8

// Orderings.
const (
	ByPartition Ordering = iota
	ByKey
	Unordered
)

// DeadLetters is what becomes of records given up on.
type DeadLetters uint8

// What to do with dead records.
const (
	DeadToTopic DeadLetters = iota // written to the dead-letter topic
	DeadBlock                      // kept: the record is tried again, its partition waits
	DeadDrop                       // dropped, as the user wrote down
)

// TooLarge is what becomes of a copy that its target refuses for its size.
type TooLarge uint8

// What to do with copies that are too large.
const (
	TooLargeHold TooLarge = iota // held, and tried again
	TooLargeOmit                 // written without the payload
)

// Shutdown allowances after StopTimeout. Together they stay under the 10 s
// that Run promises.
const (
	cancelGrace  = 2 * time.Second // for cancelled handlers to return
	flushGrace   = 2 * time.Second // for copies to be acknowledged
	commitGrace  = 3 * time.Second // for the last commit's answer
	closeGrace   = 2 * time.Second // for the clients to leave the group
	publishRetry = 100 * time.Millisecond
	// maxPublishRetry bounds the time between tries to write a copy: a
	// dead-letter topic that works again is used within it.
	maxPublishRetry = 5 * time.Second
	// tooLargeRetry is the time between tries of a copy that was refused for
	// its size: somebody must raise a limit first.
	tooLargeRetry = 30 * time.Second
	// pauseDwell is the least time a partition stays paused: a pause throws
	// its prefetch away, so flapping costs the rate.
	pauseDwell = 50 * time.Millisecond
	// runBudget is the work a run should hold, so that a slot comes free for
	// other partitions and keys soon.
	runBudget = 500 * time.Microsecond
)
