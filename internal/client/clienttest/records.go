package clienttest

import (
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

func recordBehaviours() []behaviour {
	return []behaviour{
		{"a record is read as it was written, null and empty told apart", recordIsFaithful},
		{"statistics come as JSON when asked for", statisticsCome},
		{"poll after close is refused", pollAfterClose},
		{"close twice is no error", closeTwice},
	}
}

func recordIsFaithful(b *bench) {
	topic := b.topic("faithful", 1)
	sent := []client.Message{
		{Key: nil, Value: nil, Timestamp: 1_700_000_000_001},
		{Key: []byte{}, Value: []byte{}, Timestamp: 1_700_000_000_002},
		{Key: []byte{0, 0xff}, Value: []byte("v\x00w"), Timestamp: 1_700_000_000_003, Headers: []retry.Header{
			{Key: "b", Value: []byte("1")},
			{Key: "a", Value: nil},
			{Key: "b", Value: []byte{}},
			{Key: "", Value: []byte{0}},
			{Key: "b", Value: []byte("1")},
			{Key: "\xff", Value: []byte("not text")},
		}},
	}
	w := b.producer(nil)
	for i := range sent {
		sent[i].Topic = topic
		b.must(w.Produce(&sent[i], nil))
	}
	w.flush()
	m := b.reader(nil, position(topic, 0, client.OffsetEarliest))
	m.read(len(sent))
	for i := range sent {
		sent[i].Offset = int64(i)
		sent[i].TimestampType = client.TimestampCreate
		sent[i].LeaderEpoch = m.records[i].LeaderEpoch // the broker's affair
		if diff := cmp.Diff(sent[i], m.records[i]); diff != "" {
			b.Errorf("record %d (-written +read):\n%s", i, diff)
		}
	}
}

func logAppendTime(b *bench) {
	topic := b.topicWith("append", 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	w := b.producer(nil)
	b.must(w.Produce(&client.Message{Topic: topic, Timestamp: 12345}, nil))
	w.flush()
	m := b.reader(nil, position(topic, 0, client.OffsetEarliest))
	m.read(1)
	if got := m.records[0]; got.TimestampType != client.TimestampLogAppend || got.Timestamp == 12345 {
		b.Errorf("got type %d and time %d, want the broker's own", got.TimestampType, got.Timestamp)
	}
}

func statisticsCome(b *bench) {
	topic := b.topic("statistics", 1)
	b.write(topic, 0, numbers(3)...)
	m := b.consumer(b.name("g"), client.Config{"statistics.interval.ms": "50"})
	b.must(m.Assign([]client.Offset{position(topic, 0, 0)}))
	b.until("statistics speak of the partition", func() bool {
		return strings.Contains(m.statistics, `"`+topic+`"`) &&
			strings.Contains(m.statistics, `"lo_offset":0`) && strings.Contains(m.statistics, `"hi_offset":3`)
	}, m)
	low, high, err := m.Watermarks(at(topic, 0))
	if low != 0 || high != 3 || err != nil {
		b.Errorf("got watermarks %d and %d, %v, want 0 and 3", low, high, err)
	}
}

func pollAfterClose(b *bench) {
	m := b.consumer(b.name("g"), nil)
	b.must(m.close())
	kind, err := m.Poll(0, new(client.Message))
	if kind != client.Failure {
		b.Errorf("got event %d, want a failure", kind)
	}
	b.wantCode("poll", err, client.State)
	b.wantCode("commit", m.Commit(), client.State)
	b.wantCode("pause", m.Pause([]client.TopicPartition{at("t", 0)}), client.State)
	b.wantCode("subscribe", m.Subscribe([]string{"t"}, nil), client.State)
}

func closeTwice(b *bench) {
	m := b.consumer(b.name("g"), nil)
	b.must(m.close())
	b.check(m.close())
	w := b.producer(nil)
	b.must(w.Close())
	b.check(w.Close())
}
