// Package client is the seam between Holdfast and the Kafka client library.
//
// The interfaces here are the few calls Holdfast makes, in Holdfast's own
// types, so that everything above them runs unchanged on the real client
// (package confluent) and on a pure Go fake (package fake) under virtual time.
// One conformance suite (package clienttest) runs on both, so the fake cannot
// drift from what it stands for.
package client

import (
	"context"
	"time"

	"github.com/holdfast-kafka/holdfast/retry"
)

// Config holds the client library's configuration keys and values.
type Config map[string]string

// TopicPartition names one partition of one topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Offset is a position in a partition. When a call fills it in, Err says what
// went wrong for this partition alone.
type Offset struct {
	TopicPartition

	Offset      int64
	LeaderEpoch int32 // NoLeaderEpoch when not known
	Err         error
}

// Special offsets and the missing leader epoch, with Kafka's own numbers.
const (
	OffsetEarliest int64 = -2
	OffsetLatest   int64 = -1
	// OffsetStored asks for the group's committed position, and is what
	// [Consumer.Committed] reports for a partition without one.
	OffsetStored  int64 = -1001
	NoLeaderEpoch int32 = -1
)

// TimestampType tells who set a record's timestamp.
type TimestampType int8

// The timestamp types of Kafka.
const (
	TimestampNone TimestampType = iota
	TimestampCreate
	TimestampLogAppend
)

// Message is one Kafka record, read or to be written. A nil Key or Value is
// Kafka's null and differs from an empty one.
type Message struct {
	Topic         string
	Partition     int32 // to write: the exact target partition
	LeaderEpoch   int32
	Offset        int64
	Timestamp     int64 // Unix milliseconds; to write: zero means now; read: zero when its type is none
	TimestampType TimestampType
	Key           []byte
	Value         []byte
	Headers       []retry.Header
}

// EventKind says what a poll brought.
type EventKind uint8

// What [Consumer.Poll] can bring.
const (
	// Nothing: the time ran out, or a rebalance callback was served.
	Nothing EventKind = iota
	// Record: the message was filled in.
	Record
	// Failure: the error concerns the client and no partition; see [Error].
	Failure
	// Statistics: the raw JSON statistics are in the message's Value.
	Statistics
)

// RebalanceKind says what happened to an assignment.
type RebalanceKind uint8

// Kinds of rebalance.
const (
	Assigned RebalanceKind = iota
	Revoked
)

// Rebalance tells the callback what the group decided. The callback runs
// inside Poll, or inside Close, on the goroutine that called it, and must
// answer with [Consumer.Assign] or [Consumer.Unassign] before it returns.
type Rebalance struct {
	Kind       RebalanceKind
	Partitions []TopicPartition
	// Lost: the partitions are already somebody else's and nothing may be
	// committed for them. Read before the assignment is given up.
	Lost bool
}

// Consumer is a member of a group, or with Assign outside a callback a reader
// without one.
//
// One goroutine owns it and calls everything but Commit, Committed and
// Watermarks, which may be called from one other goroutine at a time.
type Consumer interface {
	// Subscribe joins the group for these topics; names that begin with ^
	// are regular expressions.
	Subscribe(topics []string, onRebalance func(Rebalance)) error
	// Poll waits at most timeout and fills into when it returns Record or
	// Statistics. Nothing wakes it early but an event. A Failure comes with
	// an *Error.
	Poll(timeout time.Duration, into *Message) (EventKind, error)
	// Assign takes partitions, incrementally where the group protocol is
	// incremental. Outside a callback it starts reading at the given
	// offsets without a group. Leader epochs are not looked at.
	Assign(parts []Offset) error
	// Unassign gives partitions up, incrementally where the group protocol
	// is incremental, otherwise all of them.
	Unassign(parts []TopicPartition) error
	// Pause stops fetching and throws the prefetched records away.
	Pause(parts []TopicPartition) error
	// Resume fetches again from the position after the last polled record.
	Resume(parts []TopicPartition) error
	// Seek sets the next position of an assigned partition.
	Seek(to Offset) error
	// Store sets the position that the next Commit commits, overwriting the
	// last one, and sets Err on each entry that was refused, or to nil. It
	// returns the first refusal; the other entries count all the same. The
	// leader epoch is stored too, zero included: NoLeaderEpoch when unknown.
	Store(offsets []Offset) error
	// Commit commits the stored positions and waits for the answer, for as
	// long as the coordinator needs. Nothing to commit is no error.
	Commit() error
	// Committed asks the group for its positions.
	Committed(parts []TopicPartition, timeout time.Duration) ([]Offset, error)
	// Watermarks returns the last known low and high offsets, without
	// asking the broker; -1 for one that is not known yet. The low one is
	// known only where statistics are on.
	Watermarks(part TopicPartition) (low, high int64, err error)
	// Close leaves the group. The rebalance callback runs inside it, once,
	// to revoke all that is assigned, if anything is; where the group is
	// rebalancing Store and Commit may be refused there, so what is to be
	// committed is committed before. Close
	// must not be called while a Commit is outstanding nor after a fatal
	// error: it would not return. Of a fatal error that Poll has told it
	// knows, and returns an *Error with code State, the client unfreed.
	// Poll after Close, or inside a callback, is a Failure with code State.
	Close() error
}

// Report is the fate of one produced message.
type Report struct {
	Tag       any
	Partition int32
	Offset    int64 // of the written record, when Err is nil
	Err       error // an *Error; nil means acknowledged by all in-sync replicas
}

// Producer writes messages. Safe for concurrent use.
type Producer interface {
	// Produce queues a message and never blocks; everything it needs is
	// copied before it returns, except that Key and Value must not change.
	// With a nil error exactly one Report with the tag follows. An error is
	// an *Error and no report follows.
	Produce(m *Message, tag any) error
	// Outstanding returns how many messages wait for their report.
	Outstanding() int
	// Flush waits until nothing is outstanding or ctx ends.
	Flush(ctx context.Context) error
	// Close gives up what is outstanding and frees the client. The reports
	// of given-up messages are delivered before it returns.
	Close() error
}

// Transactor is a producer with a transactional id. One goroutine drives the
// transaction; reports arrive as for any [Producer].
type Transactor interface {
	Producer
	// Init fences every older producer of the same transactional id and
	// aborts what it left open.
	Init(ctx context.Context) error
	Begin() error
	// CommitTransaction flushes and commits.
	CommitTransaction(ctx context.Context) error
	// AbortTransaction purges what is queued and aborts.
	AbortTransaction(ctx context.Context) error
}

// ProducerConfig makes a producer.
type ProducerConfig struct {
	Config Config
	// OnReports is called with the reports of produced messages, several at
	// a time, on one goroutine of the producer. It must not block, and may
	// keep the slice.
	OnReports func([]Report)
	// OnError is called with errors that concern no message.
	OnError func(*Error)
}

// TopicSpec describes a topic to create.
type TopicSpec struct {
	Topic             string
	Partitions        int
	ReplicationFactor int // 0: the broker's default
	Config            map[string]string
}

// TopicInfo is what a cluster says about one topic.
type TopicInfo struct {
	Topic             string
	ID                string // Kafka's topic id as text, "" when not known
	Partitions        int
	ReplicationFactor int
	Err               error // an *Error, for instance UnknownTopicOrPartition
}

// Admin asks and changes what belongs to no consumer or producer. Safe for
// concurrent use. Every call obeys its context's deadline.
type Admin interface {
	ClusterID(ctx context.Context) (string, error)
	// Topics lists every topic's name, internal ones left out.
	Topics(ctx context.Context) ([]string, error)
	// Describe answers in the order asked.
	Describe(ctx context.Context, topics []string) ([]TopicInfo, error)
	// TopicConfig returns a topic's effective settings.
	TopicConfig(ctx context.Context, topic string) (map[string]string, error)
	// CreateTopics creates all and joins the errors; a topic that exists is
	// an *Error with code TopicAlreadyExists.
	CreateTopics(ctx context.Context, specs []TopicSpec) error
	DeleteTopics(ctx context.Context, topics []string) error
	// ListOffsets answers, in order, the offset for each partition: at is
	// OffsetEarliest, OffsetLatest, or a Unix millisecond time >= 0 for the
	// first record at or after it (then -1 means none). ReadCommitted makes
	// OffsetLatest the last stable offset.
	ListOffsets(ctx context.Context, parts []TopicPartition, at int64, isolation Isolation) ([]Offset, error)
	// DeleteRecords deletes everything before the given offsets.
	DeleteRecords(ctx context.Context, before []Offset) error
	// Groups lists every group's name.
	Groups(ctx context.Context) ([]string, error)
	// GroupOffsets returns the group's committed positions on a topic's
	// partitions; partitions without one are left out.
	GroupOffsets(ctx context.Context, group, topic string) ([]Offset, error)
	Close() error
}

// Isolation is what a reader sees of transactions.
type Isolation uint8

// Isolation levels.
const (
	ReadCommitted Isolation = iota
	ReadUncommitted
)

// Library makes clients. The real one is in package confluent.
type Library interface {
	Consumer(config Config) (Consumer, error)
	Producer(config ProducerConfig) (Producer, error)
	Transactor(config ProducerConfig) (Transactor, error)
	Admin(config Config) (Admin, error)
}
