package consumer

import (
	"slices"
	"time"

	"github.com/holdfast-kafka/holdfast/retry"
)

// Header is one record header. A nil Value is Kafka's null and differs from an
// empty one.
type Header = retry.Header

// Record is one record given to a handler. Its bytes are the handler's to keep
// and not to change: a retry or a dead letter is a copy of them.
type Record struct {
	// Topic, Partition, Offset and Timestamp are those of the record as it
	// was first read, on every retry and replay too.
	Topic     string
	Partition int32
	Offset    int64
	Timestamp time.Time
	// Key and Value are nil where Kafka has null, which differs from empty: a
	// nil Value is a tombstone.
	Key   []byte
	Value []byte
	// Headers are the producer's, in order, repeated ones included. Those
	// that Holdfast adds to its copies are not among them.
	Headers []Header

	attempt int32
	replays int32
	group   string
	epoch   int32
}

// Header returns the value of the last header with this name; ok tells whether
// there is one.
func (r *Record) Header(name string) (value []byte, ok bool) {
	for _, h := range slices.Backward(r.Headers) {
		if h.Key == name {
			return h.Value, true
		}
	}
	return nil, false
}

// Attempt returns which attempt this is, the first being 1. Only failed
// attempts count: one that was held back, or cut off by a revoke or a
// shutdown, does not. A replay begins again with 1.
func (r *Record) Attempt() int { return int(r.attempt) }

// Replays returns how many times the record was replayed from a dead-letter
// topic.
func (r *Record) Replays() int { return int(r.replays) }

// Origin returns where the record was first read. Its ID is the same on every
// attempt, retry and replay and so is the key for idempotent work.
func (r *Record) Origin() Origin {
	return Origin{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, LeaderEpoch: r.epoch,
		Timestamp: r.Timestamp, group: r.group,
	}
}

// Origin is where a record was first read.
type Origin struct {
	Topic       string
	Partition   int32
	Offset      int64
	LeaderEpoch int32 // -1: not known
	Timestamp   time.Time

	group string
}

// ID returns <topic>/<partition>/<offset>@<timestamp ms>/<group>, which is
// also the header x-origin-id of every copy.
func (o Origin) ID() string {
	return retry.Origin{
		Topic: o.Topic, Partition: o.Partition, Offset: o.Offset, Timestamp: o.Timestamp.UnixMilli(),
	}.ID(o.group)
}
