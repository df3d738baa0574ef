package clienttest

import (
	"slices"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

func transactorBehaviours() []behaviour {
	return []behaviour{
		{"a transactor without an id is refused", noID},
		{"a committed transaction is visible and an aborted one is not", commitAndAbort},
		{"a reader stops at an open transaction", lastStable},
		{"a newer transactor fences the older, fatally", fencing},
		{"a new transactor aborts what another left open", takeover},
		{"calls out of turn are refused", outOfTurn},
		{"abort reports what it gives up", abortReports},
	}
}

func noID(b *bench) {
	_, err := b.harness.Library.Transactor(client.ProducerConfig{Config: b.config(nil)})
	b.wantCode("new transactor", err, client.InvalidArg)
}

func commitAndAbort(b *bench) {
	topic := b.topic("transactions", 1)
	w, tx := b.transactor(b.name("id"))
	b.must(tx.Init(b.context()))

	b.must(tx.Begin())
	w.put(topic, 0, "committed", "too")
	b.must(tx.CommitTransaction(b.context()))

	b.must(tx.Begin())
	w.put(topic, 0, "aborted")
	w.flush()
	b.must(tx.AbortTransaction(b.context()))

	b.must(tx.Begin())
	w.put(topic, 0, "last")
	b.must(tx.CommitTransaction(b.context()))

	m := b.reader(nil, position(topic, 0, 0))
	m.read(3)
	if got, want := m.values(), []string{"committed", "too", "last"}; !slices.Equal(got, want) {
		b.Errorf("committed reader got %q, want %q", got, want)
	}
	// Each transaction ends with a marker, which takes an offset.
	wantOffsets(b, m, topic, 0, []int64{0, 1, 5})
	all := b.reader(client.Config{"isolation.level": "read_uncommitted"}, position(topic, 0, 0))
	all.read(4)
	if got, want := all.values(), []string{"committed", "too", "aborted", "last"}; !slices.Equal(got, want) {
		b.Errorf("uncommitted reader got %q, want %q", got, want)
	}
}

func lastStable(b *bench) {
	topic := b.topic("stable", 1)
	b.write(topic, 0, "before")
	w, tx := b.transactor(b.name("id"))
	b.must(tx.Init(b.context()))
	b.must(tx.Begin())
	w.put(topic, 0, "inside")
	w.flush()
	b.write(topic, 0, "after")

	b.wantEnd(topic, client.ReadCommitted, 1)
	b.wantEnd(topic, client.ReadUncommitted, 3)
	all := b.reader(client.Config{"isolation.level": "read_uncommitted"}, position(topic, 0, 0))
	m := b.reader(nil, position(topic, 0, 0))
	all.read(3)
	m.read(1)
	b.until("the uncommitted reader has it all once more", func() bool { return len(all.records) == 3 }, all, m)
	wantOffsets(b, m, topic, 0, upTo(0, 1))

	b.must(tx.AbortTransaction(b.context()))
	m.read(2)
	wantOffsets(b, m, topic, 0, []int64{0, 2})
	b.wantEnd(topic, client.ReadCommitted, 4)
}

func (b *bench) wantEnd(topic string, isolation client.Isolation, want int64) {
	b.Helper()
	offsets, err := b.admin.ListOffsets(b.context(), []client.TopicPartition{at(topic, 0)}, client.OffsetLatest, isolation)
	b.must(err)
	if offsets[0].Offset != want || offsets[0].Err != nil {
		b.Errorf("end for isolation %d: got %d, %v, want %d", isolation, offsets[0].Offset, offsets[0].Err, want)
	}
}

func fencing(b *bench) {
	topic := b.topic("fenced", 1)
	id := b.name("id")
	w, older := b.transactor(id)
	b.must(older.Init(b.context()))
	b.must(older.Begin())
	w.put(topic, 0, "older")
	w.flush()

	w2, newer := b.transactor(id)
	b.must(newer.Init(b.context()))
	b.must(newer.Begin())
	w2.put(topic, 0, "newer")
	b.must(newer.CommitTransaction(b.context()))

	err := older.CommitTransaction(b.context())
	if !client.IsFatal(err) {
		b.Errorf("commit by the fenced one: got %v, want a fatal error", err)
	}
	if older.Produce(&client.Message{Topic: topic, Value: []byte("too late")}, nil) == nil {
		w.flush()
	}
	b.write(topic, 0, "last")
	m := b.reader(nil, position(topic, 0, 0))
	m.read(2)
	if got := m.values(); !slices.Equal(got, []string{"newer", "last"}) {
		b.Errorf("read %q, want what the newer wrote and what came after", got)
	}
	if err := older.Begin(); !client.IsFatal(err) && client.CodeOf(err) == 0 {
		b.Errorf("begin by the fenced one: got %v, want an error", err)
	}
}

func takeover(b *bench) {
	topic := b.topic("takeover", 1)
	id := b.name("id")
	w, older := b.transactor(id)
	b.must(older.Init(b.context()))
	b.must(older.Begin())
	w.put(topic, 0, "left open")
	w.flush()
	b.must(older.Close())
	b.write(topic, 0, "behind")
	b.wantEnd(topic, client.ReadCommitted, 0)

	_, newer := b.transactor(id)
	b.must(newer.Init(b.context()))
	m := b.reader(nil, position(topic, 0, 0))
	m.read(1)
	if got := m.values(); got[0] != "behind" {
		b.Errorf("read %q, want only what was outside the transaction", got)
	}
}

func outOfTurn(b *bench) {
	topic := b.topic("turn", 1)
	_, tx := b.transactor(b.name("id"))
	b.wantCode("begin before init", tx.Begin(), client.State)
	b.must(tx.Init(b.context()))
	b.wantCode("produce before begin", tx.Produce(&client.Message{Topic: topic}, nil), client.State)
	b.wantCode("commit before begin", tx.CommitTransaction(b.context()), client.State)
	b.must(tx.Begin())
	b.wantCode("begin twice", tx.Begin(), client.State)
	b.must(tx.AbortTransaction(b.context()))
	b.must(tx.Close())
	b.wantCode("begin after close", tx.Begin(), client.State)
	b.wantCode("commit after close", tx.CommitTransaction(b.context()), client.State)
}

func abortReports(b *bench) {
	topic := b.topic("purged", 1)
	w := &writer{bench: b}
	tx, err := b.harness.Library.Transactor(w.config(client.Config{"transactional.id": b.name("id"), "linger.ms": "10000"}))
	b.must(err)
	b.Cleanup(func() { b.check(tx.Close()) })
	w.Producer = tx
	b.must(tx.Init(b.context()))
	b.must(tx.Begin())
	w.put(topic, 0, numbers(10)...)
	b.must(tx.AbortTransaction(b.context()))
	w.flush()
	reports := w.got()
	if len(reports) != 10 {
		b.Fatalf("got %d reports, want 10", len(reports))
	}
	for _, r := range reports {
		b.wantCode("report", r.Err, client.PurgeQueue)
	}
	b.must(tx.Begin())
	w.put(topic, 0, "v")
	b.must(tx.CommitTransaction(b.context()))
}
