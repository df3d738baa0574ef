package output

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/holdfast-kafka/holdfast/dlq"
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// envelopeVersion is the version of the JSON form of a record.
const envelopeVersion = 1

// Envelope is the JSON form of a dead letter. It loses nothing: bytes that are
// not UTF-8 are base64, null and empty differ, headers keep order and repeats.
type Envelope struct {
	Version     int           `json:"v"`
	ID          string        `json:"id"`
	Topic       string        `json:"topic"`
	Partition   int32         `json:"partition"`
	Offset      int64         `json:"offset"`
	LeaderEpoch int32         `json:"leaderEpoch"`
	Timestamp   int64         `json:"ts"`
	TSType      string        `json:"tsType"`
	Dialect     dlq.Dialect   `json:"dialect"`
	Key         *Bytes        `json:"key"`
	Value       *Bytes        `json:"value"`
	Headers     []HeaderBytes `json:"headers"`
	Failure     *Failure      `json:"failure,omitempty"`
	Lineage     []Event       `json:"lineage,omitempty"`
	Problems    string        `json:"problems,omitempty"`
	State       dlq.State     `json:"state"`
}

// Bytes is a string of bytes in JSON.
type Bytes struct {
	Enc  string `json:"enc"`
	Data string `json:"data"`
	// Decoded is the value where it is JSON, its numbers untouched.
	Decoded json.RawMessage `json:"decoded,omitempty"`
}

// HeaderBytes is one header in JSON. A nil V is Kafka's null.
type HeaderBytes struct {
	K   string  `json:"k"`
	Enc string  `json:"enc"`
	V   *string `json:"v"`
}

// Failure is why a dead letter is dead.
type Failure struct {
	Disposition retry.Disposition `json:"disposition,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Type        string            `json:"type,omitempty"`
	Text        string            `json:"text,omitempty"`
	Count       int               `json:"count"`
	First       int64             `json:"first,omitempty"`
	Last        int64             `json:"last,omitempty"`
	Group       string            `json:"group,omitempty"`
	Cluster     string            `json:"cluster,omitempty"`
	Client      string            `json:"client,omitempty"`
	Origin      *Origin           `json:"origin,omitempty"`
	Hop         int               `json:"hop,omitempty"`
	Parked      int               `json:"parked,omitempty"`
	Replays     int               `json:"replays,omitempty"`
	Stack       string            `json:"stack,omitempty"`
}

// Origin is where a record was first read.
type Origin struct {
	ID        string `json:"id"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Timestamp int64  `json:"ts"`
}

// NewEnvelope makes the JSON form of a dead letter. Without payload, key and
// value are left null.
func NewEnvelope(r *dlq.Record, decision dlq.Decision, payload bool) Envelope {
	e := Envelope{
		Version: envelopeVersion, ID: r.ID.String(), Topic: r.Topic, Partition: r.Partition, Offset: r.Offset,
		LeaderEpoch: r.LeaderEpoch, Timestamp: r.Timestamp.UnixMilli(), TSType: timestampType(r.TimestampType),
		Dialect: r.Dialect, Headers: make([]HeaderBytes, len(r.Headers)), State: decision.State(),
		Failure: newFailure(r), Lineage: Lineage(r, decision),
	}
	if payload {
		e.Key, e.Value = newBytes(r.Key), newBytes(r.Value)
		if e.Value != nil && json.Valid(r.Value) {
			e.Value.Decoded = r.Value
		}
	}
	for i, h := range r.Headers {
		e.Headers[i] = newHeader(h)
	}
	if r.Dialect == dlq.DialectHoldfast {
		e.Problems = r.Problems.String()
	}
	return e
}

func newFailure(r *dlq.Record) *Failure {
	if r.Dialect == dlq.DialectForeign {
		return nil
	}
	s, m := &r.Stamp, &r.Stamp.Meta
	f := &Failure{
		Disposition: s.Disposition, Fingerprint: s.Fingerprint, Type: m.ErrorType, Text: m.Error, Count: s.Count,
		First: m.First, Last: m.Last, Group: m.Group, Cluster: m.Cluster, Client: m.Client,
		Hop: m.Hop, Parked: m.Parked, Replays: m.ReplayCount(), Stack: m.Stack,
	}
	if m.Origin.Topic != "" {
		f.Origin = &Origin{
			ID: s.OriginID, Topic: m.Origin.Topic, Partition: m.Origin.Partition,
			Offset: m.Origin.Offset, Timestamp: m.Origin.Timestamp,
		}
	}
	return f
}

func newBytes(data []byte) *Bytes {
	if data == nil {
		return nil
	}
	enc, text := encode(data)
	return &Bytes{Enc: enc, Data: text}
}

func newHeader(h retry.Header) HeaderBytes {
	if h.Value == nil {
		return HeaderBytes{K: h.Key, Enc: utf8Enc}
	}
	enc, text := encode(h.Value)
	return HeaderBytes{K: h.Key, Enc: enc, V: &text}
}

const (
	utf8Enc   = "utf8"
	base64Enc = "base64"
)

func encode(data []byte) (enc, text string) {
	if utf8.Valid(data) {
		return utf8Enc, string(data)
	}
	return base64Enc, base64.StdEncoding.EncodeToString(data)
}

func timestampType(t client.TimestampType) string {
	switch t {
	case client.TimestampCreate:
		return "CreateTime"
	case client.TimestampLogAppend:
		return "LogAppendTime"
	case client.TimestampNone:
	}
	return "NoTimestamp"
}
