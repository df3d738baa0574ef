package dlq

import (
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// Dialect names the system whose headers a dead letter carries.
type Dialect string

// The dialects.
const (
	// DialectHoldfast: written by this framework.
	DialectHoldfast Dialect = "holdfast"
	// DialectForeign: nothing is known about it. It has no default target.
	DialectForeign Dialect = "foreign"
)

// Record is a dead letter as it was read. Its bytes are shared with nobody.
type Record struct {
	ID

	LeaderEpoch   int32
	Timestamp     time.Time
	TimestampType client.TimestampType
	// Key and Value are the original's. Nil is Kafka's null and differs from
	// empty.
	Key   []byte
	Value []byte
	// Headers are all headers as they stand on the dead letter; User are
	// those of the original record.
	Headers []retry.Header
	User    []retry.Header
	// Stamp is what our headers say, Problems what was wrong with them.
	Stamp    retry.Stamp
	Problems retry.Problems
	Dialect  Dialect
}

// recordOf reads a message of a dead-letter topic.
func recordOf(m *client.Message) *Record {
	r := &Record{
		ID:            ID{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset},
		LeaderEpoch:   m.LeaderEpoch,
		Timestamp:     time.UnixMilli(m.Timestamp),
		TimestampType: m.TimestampType,
		Key:           m.Key,
		Value:         m.Value,
		Headers:       m.Headers,
	}
	r.User, r.Stamp, r.Problems = retry.Decode(m.Headers)
	r.Dialect = dialectOf(r)
	return r
}

// dialectOf recognises who wrote a dead letter.
func dialectOf(r *Record) Dialect {
	if r.Stamp.Kind != 0 {
		return DialectHoldfast
	}
	return DialectForeign
}

// Readable reports whether the dead letter says where it came from, so that it
// can be sent back there.
func (r *Record) Readable() bool {
	const unusable = retry.ProblemMissing | retry.ProblemPacked | retry.ProblemVersion | retry.ProblemOrigin
	m := &r.Stamp.Meta
	return r.Dialect == DialectHoldfast && !r.Problems.Has(unusable) && m.Group != "" && m.Origin.Topic != ""
}
