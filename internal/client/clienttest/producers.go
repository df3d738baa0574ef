package clienttest

import (
	"errors"
	"slices"
	"strings"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

func producerBehaviours() []behaviour {
	return []behaviour{
		{"every message gets exactly one report, with its tag and offset", reportsOnce},
		{"what cannot be written is refused and gets no report", refusals},
		{"a message over message.max.bytes is refused", oversize},
		{"a batch over the topic's limit fails whole", oversizeBatch},
		{"a partition that does not exist is an error", unknownPartition},
		{"a topic that does not exist is reported", unknownTopicReported},
		{"a full queue refuses", queueFull},
		{"close reports what it gives up", closeGivesUp},
		{"flush ends with its context", flushEnds},
	}
}

func reportsOnce(b *bench) {
	const n = 300
	topic := b.topic("reports", 2)
	w := b.producer(client.Config{"linger.ms": "1", "batch.num.messages": "7"})
	for i := range n {
		m := client.Message{Topic: topic, Partition: int32(i % 2), Value: []byte("v"), Headers: []retry.Header{{Key: "h"}}}
		b.must(w.Produce(&m, i))
	}
	w.flush()
	if got := w.Outstanding(); got != 0 {
		b.Errorf("%d outstanding after flush", got)
	}
	reports := w.got()
	if len(reports) != n {
		b.Fatalf("got %d reports, want %d", len(reports), n)
	}
	slices.SortFunc(reports, func(a, b client.Report) int { return a.Tag.(int) - b.Tag.(int) })
	for i, r := range reports {
		want := client.Report{Tag: i, Partition: int32(i % 2), Offset: int64(i / 2)}
		if r != want {
			b.Errorf("report %d: got %+v, want %+v", i, r, want)
		}
	}
}

func refusals(b *bench) {
	topic := b.topic("refusals", 1)
	w := b.producer(nil)
	for name, m := range map[string]client.Message{
		"no topic":           {},
		"a long topic":       {Topic: strings.Repeat("x", 250)},
		"a very long topic":  {Topic: strings.Repeat("x", 600)},
		"NUL in the topic":   {Topic: "a\x00b"},
		"no partition":       {Topic: topic, Partition: -1},
		"a time before 1970": {Topic: topic, Timestamp: -1},
		"NUL in a header":    {Topic: topic, Headers: []retry.Header{{Key: "a\x00b"}}},
	} {
		b.wantCode(name, w.Produce(&m, name), client.InvalidArg)
	}
	w.put(topic, 0, "v")
	w.flush()
	if got := w.got(); len(got) != 1 || got[0].Err != nil {
		b.Errorf("got reports %+v, want one, of the good message", got)
	}
	b.must(w.Close())
	b.wantCode("after close", w.Produce(&client.Message{Topic: topic}, nil), client.State)
}

func oversize(b *bench) {
	topic := b.topic("oversize", 1)
	w := b.producer(client.Config{"message.max.bytes": "2000"})
	b.must(w.Produce(&client.Message{Topic: topic, Value: make([]byte, 1900)}, nil))
	b.wantCode("value", w.Produce(&client.Message{Topic: topic, Value: make([]byte, 2000)}, nil), client.MsgSizeTooLarge)
	header := []retry.Header{{Key: "h", Value: make([]byte, 1000)}}
	b.wantCode("headers", w.Produce(&client.Message{Topic: topic, Value: make([]byte, 1000), Headers: header}, nil), client.MsgSizeTooLarge)
	w.flush()
	if got := w.got(); len(got) != 1 || got[0].Err != nil {
		b.Errorf("got reports %+v, want one, of the good message", got)
	}
}

func oversizeBatch(b *bench) {
	topic := b.topicWith("limit", 1, map[string]string{"max.message.bytes": "5000"})
	w := b.producer(client.Config{"linger.ms": "200"})
	for i := range 10 {
		b.must(w.Produce(&client.Message{Topic: topic, Value: make([]byte, 1000)}, i))
	}
	w.flush()
	reports := w.got()
	if len(reports) != 10 {
		b.Fatalf("got %d reports, want 10", len(reports))
	}
	for _, r := range reports {
		b.wantCode("report", r.Err, client.MsgSizeTooLarge)
	}
	b.must(w.Produce(&client.Message{Topic: topic, Value: make([]byte, 1000)}, "alone"))
	w.flush()
	b.check(w.got()[10].Err)
}

// Whether the client knows the topic already decides if it is told at once or
// by a report.
func unknownPartition(b *bench) {
	topic := b.topic("two", 2)
	w := b.producer(nil)
	w.put(topic, 1, "v")
	w.flush()
	err := w.Produce(&client.Message{Topic: topic, Partition: 2}, "bad")
	if err == nil {
		w.flush()
		err = w.got()[1].Err
	}
	b.wantCode("produce", err, client.UnknownPartition)
}

func unknownTopicReported(b *bench) {
	w := b.producer(client.Config{"topic.metadata.propagation.max.ms": "100", "allow.auto.create.topics": "false"})
	err := w.Produce(&client.Message{Topic: b.name("nowhere")}, nil)
	if err == nil {
		w.flush()
		err = w.got()[0].Err
	}
	b.wantCode("produce", err, client.UnknownTopicOrPartition)
}

func queueFull(b *bench) {
	topic := b.topic("full", 1)
	w := b.producer(client.Config{"queue.buffering.max.messages": "10", "linger.ms": "60000"})
	w.put(topic, 0, numbers(10)...)
	b.wantCode("one more", w.Produce(&client.Message{Topic: topic}, nil), client.QueueFull)
	if got := w.Outstanding(); got != 10 {
		b.Errorf("%d outstanding, want 10", got)
	}
	w.flush()
	b.check(w.Produce(&client.Message{Topic: topic}, nil))
}

func closeGivesUp(b *bench) {
	topic := b.topic("given", 1)
	const n = 5000
	w := b.producer(client.Config{"linger.ms": "60000"})
	w.put(topic, 0, numbers(n)...)
	b.must(w.Close())
	reports := w.got()
	if len(reports) != n {
		b.Fatalf("got %d reports, want %d", len(reports), n)
	}
	for _, r := range reports {
		b.wantCode("report", r.Err, client.PurgeQueue)
	}
}

func flushEnds(b *bench) {
	w := b.producer(client.Config{"topic.metadata.propagation.max.ms": "60000"})
	b.must(w.Produce(&client.Message{Topic: b.name("nowhere")}, nil))
	if err := w.Flush(ended()); !errors.Is(err, ended().Err()) {
		b.Errorf("got %v, want the context's error", err)
	}
	if got := w.Outstanding(); got != 1 {
		b.Errorf("%d outstanding, want 1", got)
	}
}
