package clienttest

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

func groupBehaviours(way Balance) []behaviour {
	g := &balancing{way: way}
	return []behaviour{
		{"two clients of a group share its partitions, and one takes all when the other leaves", g.shareAndLeave},
		{"clients of a group with different topics balance each by itself", g.apart},
		{"a rebalance takes what moves and keeps or returns the rest", g.moves},
		{"a rebalance loses and doubles no record", g.rebalanceKeepsPositions},
		{"the pause flag survives revoke and assign", g.pauseSurvives},
		{"the revoke callback runs inside close and can commit", g.revokeInClose},
		{"a close during a rebalance tells of one revocation", g.closeInRebalance},
		{"store after revoke is refused", g.storeAfterRevoke},
		{"a rebalance that nobody answers is answered", g.unanswered},
		{"poll inside the callback is refused", g.pollInside},
		{"a pattern subscribes to topics that come later, the blacklist apart", g.pattern},
		{"a member that does not poll loses everything and joins again", g.maxPoll},
	}
}

// balancing holds behaviours of a group that shares in one way.
type balancing struct{ way Balance }

func (g *balancing) with(extra client.Config) client.Config {
	out := client.Config{strategyKey: string(g.way), "heartbeat.interval.ms": "200"}
	if g.way == Broker {
		// The newer protocol refuses what the broker decides.
		out = client.Config{"group.protocol": "consumer", strategyKey: ""}
	}
	maps.Copy(out, extra)
	return out
}

// pair is two members of one group on a topic of four partitions, the first
// of which owns all.
func (g *balancing) pair(b *bench) (topic string, first, second *member) {
	b.Helper()
	topic = b.topic("shared", 4)
	first = b.consumer(b.name("group"), g.with(nil))
	first.subscribe(topic)
	b.until("the first owns all", func() bool { return len(first.owned) == 4 }, first)
	second = b.consumer(b.name("group"), g.with(nil))
	return topic, first, second
}

func (b *bench) share(first, second *member) {
	b.Helper()
	b.until("each owns half", func() bool { return len(first.owned) == 2 && len(second.owned) == 2 }, first, second)
}

func (g *balancing) shareAndLeave(b *bench) {
	topic, first, second := g.pair(b)
	second.subscribe(topic)
	b.share(first, second)
	for part := range first.owned {
		if second.owned[part] {
			b.Errorf("%v is owned twice", part)
		}
	}
	b.must(first.close())
	b.until("the second owns all", func() bool { return len(second.owned) == 4 }, second)
}

func (g *balancing) apart(b *bench) {
	one, other := b.topic("one", 2), b.topic("other", 2)
	var members []*member
	for _, topic := range []string{one, other, one, other} {
		m := b.consumer(b.name("group"), g.with(nil))
		m.subscribe(topic)
		members = append(members, m)
	}
	b.until("each owns one partition of its topic", func() bool {
		for i, m := range members {
			topic := []string{one, other}[i%2]
			if len(m.owned) != 1 || !(m.owned[at(topic, 0)] || m.owned[at(topic, 1)]) {
				return false
			}
		}
		return true
	}, members...)
}

func (g *balancing) moves(b *bench) {
	topic, first, second := g.pair(b)
	before := len(first.rebalances)
	second.subscribe(topic)
	b.share(first, second)
	i := slices.IndexFunc(first.rebalances[before:], func(r client.Rebalance) bool { return r.Kind == client.Revoked })
	if i < 0 {
		b.Fatal("nothing was revoked")
	}
	revoked := first.rebalances[before+i]
	want := 2
	if g.way == Eager {
		want = 4
	}
	if len(revoked.Partitions) != want || revoked.Lost {
		b.Errorf("revoked %d partitions, lost %t, want %d and not lost", len(revoked.Partitions), revoked.Lost, want)
	}
}

// Both members commit what they read before they give it up, so across all
// moves every record is read once.
func (g *balancing) rebalanceKeepsPositions(b *bench) {
	const n = 50
	topic, first, second := g.pair(b)
	for p := range int32(4) {
		b.write(topic, p, numbers(n)...)
	}
	commit := func(m *member) func(client.Rebalance) {
		return func(r client.Rebalance) {
			if m.closed {
				return
			}
			for _, part := range r.Partitions {
				if read := m.offsets(part.Topic, part.Partition); len(read) > 0 {
					m.stored(position(part.Topic, part.Partition, read[len(read)-1]+1))
				}
			}
			b.check(m.Commit())
		}
	}
	first.onRevoked, second.onRevoked = commit(first), commit(second)
	first.read(n)
	second.subscribe(topic)
	b.until("everything is read", func() bool { return len(first.records)+len(second.records) >= 4*n }, first, second)
	b.share(first, second)
	for p := range int32(4) {
		got := append(first.offsets(topic, p), second.offsets(topic, p)...)
		slices.Sort(got)
		if !slices.Equal(got, upTo(0, n)) {
			b.Errorf("partition %d: read %v, want each offset below %d once", p, got, n)
		}
	}
}

func (g *balancing) pauseSurvives(b *bench) {
	topic, first, second := g.pair(b)
	paused := slices.Collect(maps.Keys(first.owned))
	b.must(first.Pause(paused))
	second.subscribe(topic)
	b.share(first, second)
	moved := slices.Collect(maps.Keys(second.owned))
	b.must(second.close())
	b.until("the first owns all again", func() bool { return len(first.owned) == 4 }, first)
	for p := range int32(4) {
		b.write(topic, p, "v")
	}
	// One partition that moved away and back and one that may have stayed
	// are resumed; the records of these two are the only ones to come.
	resumed := moved[:1]
	for _, part := range paused {
		if !slices.Contains(moved, part) {
			resumed = append(slices.Clone(resumed), part)
			break
		}
	}
	b.must(first.Resume(resumed))
	first.read(len(resumed))
	for _, part := range paused {
		if got := len(first.offsets(part.Topic, part.Partition)); (got > 0) != slices.Contains(resumed, part) {
			b.Errorf("partition %d brought %d records, resumed were %v", part.Partition, got, resumed)
		}
	}
	b.must(first.Resume(paused))
	first.read(4)
}

func (g *balancing) revokeInClose(b *bench) {
	topic, first, _ := g.pair(b)
	b.write(topic, 0, numbers(10)...)
	first.read(10)
	inClose := false
	first.onRevoked = func(r client.Rebalance) {
		inClose = first.closed
		if r.Lost || len(r.Partitions) != 4 {
			b.Errorf("revoked %d partitions, lost %t, want 4 and not lost", len(r.Partitions), r.Lost)
		}
		first.stored(position(topic, 0, 10))
		b.check(first.Commit())
	}
	b.must(first.close())
	if !inClose {
		b.Fatal("no callback inside close")
	}
	offsets, err := b.admin.GroupOffsets(b.context(), b.name("group"), topic)
	b.must(err)
	if len(offsets) != 1 || offsets[0].Offset != 10 || offsets[0].Partition != 0 {
		b.Errorf("group has %v, want partition 0 at 10", offsets)
	}
}

// The rebalance that the second one's leaving brings about reaches the first
// inside its own close. Whether it can still commit there depends on how far
// the rebalance is: a client that is already joining again has given its
// partitions up inside. What was accepted must be in the group.
func (g *balancing) closeInRebalance(b *bench) {
	topic, first, second := g.pair(b)
	for p := range int32(4) {
		b.write(topic, p, numbers(5)...)
	}
	second.subscribe(topic)
	b.share(first, second)
	owned := slices.Collect(maps.Keys(first.owned))
	var told []client.RebalanceKind
	accepted := 0
	first.onAssigned = func([]client.TopicPartition) { told = append(told, client.Assigned) }
	first.onRevoked = func(r client.Rebalance) {
		told = append(told, client.Revoked)
		for _, part := range r.Partitions {
			if first.Store([]client.Offset{position(part.Topic, part.Partition, 3)}) == nil {
				accepted++
			}
		}
		if first.Commit() != nil {
			accepted = 0
		}
	}
	b.must(second.close())
	b.must(first.close())
	if !slices.Equal(told, []client.RebalanceKind{client.Revoked}) {
		b.Errorf("close told of %v, want one revocation", told)
	}
	offsets, err := b.admin.GroupOffsets(b.context(), b.name("group"), topic)
	b.must(err)
	if len(offsets) != accepted || accepted > len(owned) {
		b.Errorf("group has %+v, want a position for each of the %d accepted", offsets, accepted)
	}
}

func (g *balancing) storeAfterRevoke(b *bench) {
	topic, first, second := g.pair(b)
	second.subscribe(topic)
	b.share(first, second)
	for part := range second.owned {
		entry := []client.Offset{position(part.Topic, part.Partition, 1)}
		b.wantCode("store of partition "+strconv.Itoa(int(part.Partition)), first.Store(entry), client.State)
	}
}

func (g *balancing) unanswered(b *bench) {
	topic := b.topic("unanswered", 1)
	b.write(topic, 0, numbers(3)...)
	m := b.consumer(b.name("group"), g.with(nil))
	calls := 0
	b.must(m.Subscribe([]string{topic}, func(client.Rebalance) { calls++ }))
	m.read(3)
	before := calls
	b.must(m.close())
	if before == 0 || calls == before {
		b.Errorf("got %d calls before and %d after close, want an assignment and a revocation", before, calls)
	}
}

func (g *balancing) pollInside(b *bench) {
	topic := b.topic("inside", 1)
	m := b.consumer(b.name("group"), g.with(nil))
	m.onAssigned = func([]client.TopicPartition) {
		kind, err := m.Poll(0, new(client.Message))
		if kind != client.Failure {
			b.Errorf("got event %d, want a failure", kind)
		}
		b.wantCode("poll", err, client.State)
	}
	m.subscribe(topic)
	b.until("the partition is assigned", func() bool { return len(m.owned) == 1 }, m)
}

func (g *balancing) pattern(b *bench) {
	now := b.topic("pattern.now", 1)
	m := b.consumer(b.name("group"), g.with(client.Config{
		"topic.blacklist":                    `^pattern\.hidden`,
		"topic.metadata.refresh.interval.ms": "200",
	}))
	m.subscribe(`^pattern\.[a-z]+-` + b.suffix)
	b.until("the topic is assigned", func() bool { return len(m.owned) == 1 && m.owned[at(now, 0)] }, m)
	b.topic("pattern.hidden", 1)
	later := b.topic("pattern.later", 1)
	b.until("the topic that came later is assigned", func() bool { return m.owned[at(later, 0)] }, m)
	if len(m.owned) != 2 {
		b.Errorf("owns %v, want %s and %s", m.owned, now, later)
	}
}

func (g *balancing) maxPoll(b *bench) {
	interval := strconv.FormatInt(b.features.MaxPoll.Milliseconds(), 10)
	config := g.with(client.Config{"max.poll.interval.ms": interval})
	if g.way != Broker {
		config["session.timeout.ms"] = interval
		config["heartbeat.interval.ms"] = strconv.FormatInt(b.features.MaxPoll.Milliseconds()/4, 10)
	}
	topic := b.topic("slow", 2)
	b.write(topic, 0, numbers(10)...)
	slow := b.consumer(b.name("group"), config)
	slow.subscribe(topic)
	b.until("the slow one owns all and reads", func() bool { return len(slow.owned) == 2 && len(slow.records) > 0 }, slow)
	slow.stored(position(topic, 0, 1))
	b.pass(b.features.MaxPoll + 2*time.Second)
	quick := b.consumer(b.name("group"), config)
	quick.subscribe(topic)
	b.until("the other owns all", func() bool { return len(quick.owned) == 2 }, quick)
	if err := slow.Commit(); client.CodeOf(err) == 0 {
		b.Errorf("commit by one who is out: got %v, want an error", err)
	}
	lost := 0
	slow.onRevoked = func(r client.Rebalance) {
		if r.Lost {
			lost += len(r.Partitions)
		}
	}
	b.until("the slow one has lost all and owns half", func() bool {
		return lost > 0 && len(slow.owned) == 1 && len(quick.owned) == 1
	}, slow, quick)
	if lost != 2 {
		b.Errorf("lost %d partitions, want both", lost)
	}
	if !slices.ContainsFunc(slow.failures, func(err error) bool { return client.CodeOf(err) == client.MaxPollExceeded }) {
		b.Errorf("failures %v, want one with code MaxPollExceeded", slow.failures)
	}
}
