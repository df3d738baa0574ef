package clienttest

import (
	"errors"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

func offsetBehaviours() []behaviour {
	return []behaviour{
		{"store overwrites: 100, then 50, commits 50", storeOverwrites},
		{"commit never goes below what it committed", commitOnlyUp},
		{"commit with nothing stored is no error", commitNothing},
		{"store of a partition not owned is refused and the others count", storeUnowned},
		{"what is stored is forgotten at the next assign", storedIsForgotten},
		{"the leader epoch is committed with the position", epochTravels},
		{"the group has no position before the first commit", committedOfNew},
		{"a new member starts at the committed position", startAtCommitted},
	}
}

// owner is a member that owns all partitions of a topic.
func (b *bench) owner(topic string, partitions int) *member {
	b.Helper()
	m := b.consumer(b.name("group"), nil)
	m.subscribe(topic)
	b.until("all partitions are assigned", func() bool { return len(m.owned) == partitions }, m)
	return m
}

func storeOverwrites(b *bench) {
	topic := b.topic("overwrite", 1)
	b.write(topic, 0, numbers(120)...)
	m := b.owner(topic, 1)
	m.stored(position(topic, 0, 100))
	m.stored(position(topic, 0, 50))
	b.check(m.Commit())
	m.wantCommitted(topic, 50)
}

func commitOnlyUp(b *bench) {
	topic := b.topic("up", 1)
	b.write(topic, 0, numbers(120)...)
	m := b.owner(topic, 1)
	m.stored(position(topic, 0, 100))
	b.check(m.Commit())
	m.stored(position(topic, 0, 50))
	b.check(m.Commit())
	m.wantCommitted(topic, 100)
	m.stored(position(topic, 0, 110))
	b.check(m.Commit())
	m.wantCommitted(topic, 110)
}

func commitNothing(b *bench) {
	topic := b.topic("nothing", 1)
	m := b.owner(topic, 1)
	b.check(m.Commit())
	b.write(topic, 0, numbers(3)...)
	m.read(3)
	b.check(m.Commit())
	m.wantCommitted(topic, client.OffsetStored)
}

func storeUnowned(b *bench) {
	topic := b.topic("unowned", 1)
	other := b.name("never-heard-of")
	b.write(topic, 0, numbers(10)...)
	m := b.owner(topic, 1)
	offsets := []client.Offset{position(other, 0, 3), position(topic, 0, 5)}
	offsets[1].Err = errors.New("from before")
	b.wantCode("store", m.Store(offsets), client.UnknownPartition)
	b.wantCode("entry", offsets[0].Err, client.UnknownPartition)
	b.check(offsets[1].Err)
	b.check(m.Commit())
	m.wantCommitted(topic, 5)
	one := []client.Offset{position(other, 0, 3)}
	b.wantCode("store of one", m.Store(one), client.UnknownPartition)
	b.wantCode("its entry", one[0].Err, client.UnknownPartition)
}

func storedIsForgotten(b *bench) {
	topic := b.topic("forgotten", 1)
	b.write(topic, 0, numbers(10)...)
	m := b.reader(nil, position(topic, 0, 0))
	m.read(1)
	m.stored(position(topic, 0, 7))
	b.must(m.Unassign([]client.TopicPartition{at(topic, 0)}))
	b.must(m.Assign([]client.Offset{position(topic, 0, 0)}))
	m.read(11)
	b.check(m.Commit())
	m.wantCommitted(topic, client.OffsetStored)
}

func epochTravels(b *bench) {
	topic := b.topic("epoch", 2)
	b.write(topic, 0, "v")
	m := b.owner(topic, 2)
	m.read(1)
	known := position(topic, 0, 1)
	known.LeaderEpoch = m.records[0].LeaderEpoch
	m.stored(known)
	m.stored(position(topic, 1, 1))
	b.must(m.Commit())
	got, err := m.Committed([]client.TopicPartition{at(topic, 0), at(topic, 1)}, b.features.Patience)
	b.must(err)
	if got[0] != known || known.LeaderEpoch < 0 {
		b.Errorf("committed %+v, want %+v", got[0], known)
	}
	if want := position(topic, 1, 1); got[1] != want {
		b.Errorf("committed %+v, want %+v", got[1], want)
	}
}

func committedOfNew(b *bench) {
	topic := b.topic("new", 1)
	m := b.consumer(b.name("g"), nil)
	m.wantCommitted(topic, client.OffsetStored)
}

func startAtCommitted(b *bench) {
	topic := b.topic("start", 1)
	b.write(topic, 0, numbers(10)...)
	first := b.owner(topic, 1)
	first.stored(position(topic, 0, 4))
	b.check(first.Commit())
	b.must(first.close())
	second := b.owner(topic, 1)
	second.read(6)
	wantOffsets(b, second, topic, 0, upTo(4, 10))
}
