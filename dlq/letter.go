package dlq

import (
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// Letter is a dead letter to be written.
type Letter struct {
	// Key, Value and User are the original record's, passed on byte for
	// byte, null and empty told apart.
	Key   []byte
	Value []byte
	User  []retry.Header
	// Stamp says why the record is dead and where it came from.
	Stamp retry.Stamp
	// Timestamp is the dead letter's own, in Unix milliseconds; zero is the
	// time of writing. Never the original's: retention would delete an old
	// one at once.
	Timestamp int64
}

// Message returns what to write to a partition of a dead-letter topic.
func (l *Letter) Message(topic string, partition int32) client.Message {
	stamp := l.Stamp
	stamp.Kind, stamp.Due = retry.StampDeadLetter, 0
	return client.Message{
		Topic:     topic,
		Partition: partition,
		Timestamp: l.Timestamp,
		Key:       l.Key,
		Value:     l.Value,
		Headers:   retry.Encode(l.User, stamp),
	}
}

// replayMessage returns the copy of a dead letter that goes back to be handled:
// the original bytes under a stamp that starts counting anew but remembers that
// it was replayed. What failed before stays with the dead letter.
func replayMessage(r *Record, topic string, partition int32, replay retry.Replay, cluster string) client.Message {
	old := r.Stamp.Meta
	meta := old.Renewed()
	meta.Cluster = cluster
	meta.Hop = old.Hop + 1
	meta.Client = toolClient
	meta.Replay = &replay
	return client.Message{
		Topic:     topic,
		Partition: partition,
		Key:       r.Key,
		Value:     r.Value,
		Headers:   retry.Encode(r.User, retry.Stamp{Kind: retry.StampReplay, Meta: meta}),
	}
}

// lineage returns what a copy says of its replay. A copy for a topic that other
// groups read too names whom it is meant for.
func lineage(r *Record, entry, cluster string, toSource bool) retry.Replay {
	m := &r.Stamp.Meta
	replay := retry.Replay{Of: r.ID.String(), Count: m.ReplayCount() + 1, Run: entry}
	if toSource {
		replay.Target = &retry.Target{Cluster: cluster, Topic: m.Origin.Topic, Group: m.Group}
	}
	return replay
}

// toolClient is the client name in the headers of replayed records.
const toolClient = "dlqctl"
