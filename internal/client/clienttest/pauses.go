package clienttest

import (
	"github.com/holdfast-kafka/holdfast/internal/client"
)

func pauseBehaviours() []behaviour {
	return []behaviour{
		{"pause before assign does nothing", pauseBeforeAssign},
		{"pause right after assign lets no record through", pauseAfterAssign},
		{"pause drops the prefetch, and resume doubles and loses nothing", pauseAndResume},
		{"a paused partition does not hold up another", pauseIsPerPartition},
		{"the pause flag survives unassign and assign", pauseSurvivesAssign},
		{"resume of what is not paused changes nothing", resumeOfRunning},
		{"pause of a partition that does not exist is no error", pauseUnknown},
	}
}

func pauseBeforeAssign(b *bench) {
	topic := b.topic("early", 1)
	b.write(topic, 0, "v")
	m := b.consumer(b.name("g"), nil)
	m.onAssigned = func(parts []client.TopicPartition) { b.check(m.Pause(parts)) }
	m.subscribe(topic)
	m.read(1)
}

func pauseAfterAssign(b *bench) {
	topic := b.topic("late", 2)
	b.write(topic, 0, numbers(10)...)
	b.write(topic, 1, numbers(10)...)
	m := b.reader(nil, position(topic, 0, 0), position(topic, 1, 0))
	b.must(m.Pause([]client.TopicPartition{at(topic, 0)}))
	m.read(10)
	wantOffsets(b, m, topic, 0, nil)
	b.must(m.Resume([]client.TopicPartition{at(topic, 0)}))
	m.read(20)
	wantOffsets(b, m, topic, 0, upTo(0, 10))
}

func pauseAndResume(b *bench) {
	const n, every = 600, 50
	topic := b.topic("flap", 2)
	b.write(topic, 0, numbers(n)...)
	b.write(topic, 1, numbers(n)...)
	m := b.reader(nil, position(topic, 0, 0), position(topic, 1, 0))
	for read := every; read <= 2*n; read += every {
		m.read(read)
		part := []client.TopicPartition{at(topic, int32(read/every%2))}
		b.must(m.Pause(part))
		b.must(m.Resume(part))
	}
	wantOffsets(b, m, topic, 0, upTo(0, n))
	wantOffsets(b, m, topic, 1, upTo(0, n))
}

func pauseIsPerPartition(b *bench) {
	topic := b.topic("apart", 2)
	b.write(topic, 0, numbers(20)...)
	b.write(topic, 1, numbers(20)...)
	m := b.reader(nil, position(topic, 0, 0), position(topic, 1, 0))
	b.until("both partitions were read from", func() bool {
		return len(m.offsets(topic, 0)) > 0 && len(m.offsets(topic, 1)) > 0
	}, m)
	b.must(m.Pause([]client.TopicPartition{at(topic, 1)}))
	before := len(m.offsets(topic, 1))
	b.write(topic, 0, "last")
	b.until("the other partition is read to its end", func() bool { return len(m.offsets(topic, 0)) == 21 }, m)
	wantOffsets(b, m, topic, 1, upTo(0, int64(before)))
	b.must(m.Resume([]client.TopicPartition{at(topic, 1)}))
	m.read(41)
	wantOffsets(b, m, topic, 1, upTo(0, 20))
}

func pauseSurvivesAssign(b *bench) {
	topic := b.topic("survives", 2)
	b.write(topic, 0, numbers(5)...)
	b.write(topic, 1, numbers(5)...)
	// The flag belongs to a partition that the client has come to know.
	m := b.reader(nil, position(topic, 0, 0), position(topic, 1, 0))
	m.read(10)
	b.must(m.Pause([]client.TopicPartition{at(topic, 0)}))
	b.must(m.Unassign([]client.TopicPartition{at(topic, 0), at(topic, 1)}))
	b.must(m.Assign([]client.Offset{position(topic, 0, 5), position(topic, 1, 5)}))
	b.write(topic, 0, numbers(5)...)
	b.write(topic, 1, numbers(5)...)
	m.read(15)
	wantOffsets(b, m, topic, 0, upTo(0, 5))
	b.must(m.Resume([]client.TopicPartition{at(topic, 0)}))
	m.read(20)
}

func resumeOfRunning(b *bench) {
	topic := b.topic("running", 1)
	b.write(topic, 0, numbers(200)...)
	m := b.reader(nil, position(topic, 0, 0))
	for read := 20; read <= 200; read += 20 {
		m.read(read)
		b.must(m.Resume([]client.TopicPartition{at(topic, 0)}))
	}
	wantOffsets(b, m, topic, 0, upTo(0, 200))
}

func pauseUnknown(b *bench) {
	m := b.consumer(b.name("g"), nil)
	b.check(m.Pause([]client.TopicPartition{at(b.name("nowhere"), 0)}))
	b.check(m.Resume([]client.TopicPartition{at(b.name("nowhere"), 0)}))
}
