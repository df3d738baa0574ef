package clienttest

import (
	"github.com/holdfast-kafka/holdfast/internal/client"
)

func directBehaviours() []behaviour {
	return []behaviour{
		{"a reader without a group starts at the offsets given", assignAtOffsets},
		{"assign without a group takes exactly these", assignReplaces},
		{"seek sets the next position", seekBack},
		{"seek of a partition not assigned is an error", seekUnassigned},
		{"a position out of range is reset", outOfRange},
		{"a position out of range is a failure where the policy is error", outOfRangeError},
		{"the high watermark is known after a fetch", highWatermark},
	}
}

func assignAtOffsets(b *bench) {
	topic := b.topic("direct", 3)
	for p := range int32(3) {
		b.write(topic, p, numbers(5)...)
	}
	m := b.reader(nil, position(topic, 0, 3), position(topic, 1, client.OffsetEarliest), position(topic, 2, client.OffsetLatest))
	m.read(7)
	// Latest is looked up in the background, so what comes after it is
	// written until some of it is seen.
	b.until("a record after the end is read", func() bool {
		if len(m.offsets(topic, 2)) == 0 {
			b.write(topic, 2, "after")
		}
		return len(m.offsets(topic, 2)) > 0
	}, m)
	wantOffsets(b, m, topic, 0, upTo(3, 5))
	wantOffsets(b, m, topic, 1, upTo(0, 5))
	if got := m.offsets(topic, 2)[0]; got < 5 {
		b.Errorf("read offset %d from before the end", got)
	}
}

func assignReplaces(b *bench) {
	topic := b.topic("replace", 2)
	b.write(topic, 0, numbers(5)...)
	m := b.reader(nil, position(topic, 0, 0))
	m.read(5)
	b.must(m.Assign([]client.Offset{position(topic, 1, 0)}))
	b.write(topic, 0, "unseen")
	b.write(topic, 1, "seen")
	m.read(6)
	wantOffsets(b, m, topic, 0, upTo(0, 5))
	wantOffsets(b, m, topic, 1, upTo(0, 1))
}

func seekBack(b *bench) {
	topic := b.topic("seek", 1)
	b.write(topic, 0, numbers(10)...)
	m := b.reader(nil, position(topic, 0, 0))
	m.read(6)
	b.must(m.Seek(position(topic, 0, 2)))
	m.read(14)
	wantOffsets(b, m, topic, 0, append(upTo(0, 6), upTo(2, 10)...))
}

func seekUnassigned(b *bench) {
	topic := b.topic("unassigned", 1)
	m := b.consumer(b.name("g"), nil)
	if err := m.Seek(position(topic, 0, 2)); client.CodeOf(err) == 0 {
		b.Errorf("got %v, want an error of the library", err)
	}
}

func outOfRange(b *bench) {
	topic := b.topic("range", 1)
	b.write(topic, 0, numbers(5)...)
	m := b.reader(nil, position(topic, 0, 1000))
	m.read(5)
	wantOffsets(b, m, topic, 0, upTo(0, 5))
}

func outOfRangeError(b *bench) {
	topic := b.topic("error", 1)
	b.write(topic, 0, numbers(5)...)
	m := b.reader(client.Config{"auto.offset.reset": "error"}, position(topic, 0, 1000))
	b.until("the failure is told", func() bool { return len(m.failures) > 0 }, m)
	b.wantCode("poll", m.failures[0], client.AutoOffsetReset)
	wantOffsets(b, m, topic, 0, nil)
}

func highWatermark(b *bench) {
	topic := b.topic("high", 1)
	b.write(topic, 0, numbers(5)...)
	m := b.reader(nil, position(topic, 0, 2))
	m.read(1)
	_, high, err := m.Watermarks(at(topic, 0))
	if high != 5 || err != nil {
		b.Errorf("got high watermark %d, %v, want 5", high, err)
	}
}
