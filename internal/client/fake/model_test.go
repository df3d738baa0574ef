package fake

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// Whoever had what before: each partition goes to exactly one subscriber, no
// subscriber of a topic has two more of it than another, and nobody gives up
// what the balance lets it keep.
func TestTargetIsBalancedCompleteAndSticky(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "partitions")
		c := New(Config{Topics: map[string]int{"a": n, "b": rapid.IntRange(1, 5).Draw(t, "others")}})
		g := newGroup(c, "g")
		for i := range rapid.IntRange(1, 5).Draw(t, "members") {
			m := &Consumer{name: fmt.Sprint(i)}
			g.members = append(g.members, m)
			g.seen[m] = rapid.SampledFrom([][]string{{"a"}, {"b"}, {"a", "b"}}).Draw(t, "topics")
		}
		for _, p := range c.topics["a"].partitions {
			if i := rapid.IntRange(-1, len(g.members)-1).Draw(t, "owner"); i >= 0 {
				g.owner[p.at] = g.members[i]
			}
		}
		target := g.target()
		for _, topic := range []string{"a", "b"} {
			checkSpread(t, g, topic, target)
		}
	})
}

func checkSpread(t *rapid.T, g *group, topic string, target map[*Consumer][]client.TopicPartition) {
	got := make(map[client.TopicPartition]*Consumer)
	least, most, subscribers := 1<<30, 0, 0
	for _, m := range g.members {
		mine := 0
		for _, part := range target[m] {
			if part.Topic != topic {
				continue
			}
			if got[part] != nil {
				t.Fatalf("%v is given twice", part)
			}
			got[part] = m
			mine++
		}
		if !slices.Contains(g.seen[m], topic) {
			if mine > 0 {
				t.Fatalf("%s got %d of %s without a subscription", m.name, mine, topic)
			}
			continue
		}
		subscribers++
		least, most = min(least, mine), max(most, mine)
	}
	if subscribers == 0 {
		return
	}
	if most-least > 1 || len(got) != len(g.cluster.topics[topic].partitions) {
		t.Fatalf("%s: from %d to %d each, %d in all", topic, least, most, len(got))
	}
	for part, owner := range g.owner {
		if part.Topic != topic || !slices.Contains(g.seen[owner], topic) || got[part] == owner {
			continue
		}
		if mine := countOf(target[owner], topic); mine < least {
			t.Fatalf("%s gave up %v and has only %d", owner.name, part, mine)
		}
	}
}

func countOf(parts []client.TopicPartition, topic string) int {
	n := 0
	for _, part := range parts {
		if part.Topic == topic {
			n++
		}
	}
	return n
}

// A naive log says what a reader sees: everything below the first record of an
// open transaction, without what was aborted.
func TestLogReadsLikeANaiveOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &partition{open: make(map[*transaction]int64)}
		var model []entry // markers have no transaction and a nil value
		var open []*transaction
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				p.append(client.Message{Value: []byte{1}}, nil, time.Time{}, false)
				model = append(model, entry{message: client.Message{Value: []byte{1}}})
			case 1:
				open = append(open, &transaction{touched: make(map[*partition]bool)})
			case 2:
				if len(open) > 0 {
					in := rapid.SampledFrom(open).Draw(t, "in")
					p.append(client.Message{Value: []byte{2}}, in, time.Time{}, false)
					model = append(model, entry{message: client.Message{Value: []byte{2}}, in: in})
				}
			case 3:
				if len(open) > 0 {
					i := rapid.IntRange(0, len(open)-1).Draw(t, "end")
					in := open[i]
					open = slices.Delete(open, i, i+1)
					if in.touched[p] {
						model = append(model, entry{})
					}
					in.end(rapid.SampledFrom([]transactionState{transactionCommitted, transactionAborted}).Draw(t, "state"))
				}
			}
		}
		compareLogs(t, p, model)
	})
}

func compareLogs(t *rapid.T, p *partition, model []entry) {
	var want []int64
	end := len(model)
	for i, e := range model {
		if e.in != nil && e.in.state == transactionOpen {
			end = i
			break
		}
		if e.message.Value != nil && (e.in == nil || e.in.state == transactionCommitted) {
			want = append(want, int64(i))
		}
	}
	var got []int64
	var next int64
	for {
		records, to := p.read(next, client.ReadCommitted, rapid.IntRange(1, 7).Draw(t, "limit"))
		for i := range records {
			got = append(got, records[i].Offset)
		}
		if to == next {
			break
		}
		next = to
	}
	if !slices.Equal(got, want) || next != int64(end) || p.stable() != int64(end) || p.high != int64(len(model)) {
		t.Fatalf("got %v to %d of %d, want %v to %d of %d", got, next, p.high, want, end, len(model))
	}
}

// The same seed gives the same run, to the nanosecond; another gives another.
func TestSeedDecidesEveryDelay(t *testing.T) {
	t.Parallel()
	first, again, other := traceOf(t, 1), traceOf(t, 1), traceOf(t, 2)
	if !slices.Equal(first, again) {
		t.Errorf("one seed, two runs:\n%v\n%v", first, again)
	}
	if slices.Equal(first, other) {
		t.Errorf("two seeds, one run: %v", first)
	}
}

func traceOf(t *testing.T, seed uint64) []string {
	t.Helper()
	var trace []string
	synctest.Test(t, func(t *testing.T) {
		late := Delays{Fetch: time.Second, Commit: time.Second, Report: time.Second, Join: time.Second}
		c := New(Config{Seed: seed, Topics: map[string]int{"t": 4}, Delays: late})
		began := time.Now()
		var consumers []client.Consumer
		for range 2 {
			m, err := c.Consumer(client.Config{"group.id": "g", "auto.offset.reset": "earliest", "group.protocol": "consumer"})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Subscribe([]string{"t"}, nil); err != nil {
				t.Fatal(err)
			}
			consumers = append(consumers, m)
		}
		for p := range int32(4) {
			c.Append(client.TopicPartition{Topic: "t", Partition: p}, make([]client.Message, 3)...)
		}
		for time.Since(began) < 10*time.Second {
			for i, m := range consumers {
				var message client.Message
				if kind, _ := m.Poll(time.Millisecond, &message); kind == client.Record {
					trace = append(trace, fmt.Sprint(i, message.Partition, message.Offset, time.Since(began)))
				}
			}
		}
		for _, m := range consumers {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return trace
}
