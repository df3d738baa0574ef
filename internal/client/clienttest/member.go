package clienttest

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

const strategyKey = "partition.assignment.strategy"

// member is a consumer with everything it has seen.
type member struct {
	client.Consumer

	bench *bench

	rebalances []client.Rebalance
	owned      map[client.TopicPartition]bool
	records    []client.Message
	failures   []error
	statistics string // the last
	// Hooks of a behaviour, run inside the callback before the answer.
	onAssigned func(parts []client.TopicPartition)
	onRevoked  func(r client.Rebalance)
	closed     bool
}

// consumer makes a consumer that commits nothing by itself. Cleanup closes it.
func (b *bench) consumer(group string, extra client.Config) *member {
	b.Helper()
	config := b.config(client.Config{
		"group.id":                 group,
		"auto.offset.reset":        "earliest",
		"enable.auto.commit":       "false",
		"enable.auto.offset.store": "false",
		strategyKey:                "cooperative-sticky",
		"fetch.wait.max.ms":        "10",
		"fetch.queue.backoff.ms":   "10",
	})
	maps.Copy(config, extra)
	if config[strategyKey] == "" {
		delete(config, strategyKey)
	}
	inner, err := b.harness.Library.Consumer(config)
	b.must(err)
	m := &member{Consumer: inner, bench: b, owned: make(map[client.TopicPartition]bool)}
	b.Cleanup(func() {
		if !m.closed {
			b.check(m.close())
		}
	})
	return m
}

// reader is a consumer without a group that starts at these positions.
func (b *bench) reader(extra client.Config, from ...client.Offset) *member {
	b.Helper()
	m := b.consumer(b.name("reader"), extra)
	b.must(m.Assign(from))
	return m
}

func (m *member) close() error {
	m.closed = true
	return m.Close()
}

func (m *member) subscribe(topics ...string) {
	m.bench.Helper()
	m.bench.must(m.Subscribe(topics, m.rebalance))
}

func (m *member) rebalance(r client.Rebalance) {
	m.rebalances = append(m.rebalances, r)
	if r.Kind == client.Assigned {
		if m.onAssigned != nil {
			m.onAssigned(r.Partitions)
		}
		m.take(r.Partitions)
		return
	}
	if m.onRevoked != nil {
		m.onRevoked(r)
	}
	for _, part := range r.Partitions {
		delete(m.owned, part)
	}
	m.bench.check(m.Unassign(r.Partitions))
}

// take assigns partitions at their committed position.
func (m *member) take(parts []client.TopicPartition) {
	offsets := make([]client.Offset, len(parts))
	for i, part := range parts {
		m.owned[part] = true
		offsets[i] = client.Offset{TopicPartition: part, Offset: client.OffsetStored, LeaderEpoch: client.NoLeaderEpoch}
	}
	m.bench.check(m.Assign(offsets))
}

// poll polls once and keeps what it brings.
func (m *member) poll() client.EventKind {
	m.bench.Helper()
	var message client.Message
	kind, err := m.Poll(10*time.Millisecond, &message)
	switch kind {
	case client.Record:
		if i := len(m.rebalances); i > 0 && !m.owned[at(message.Topic, message.Partition)] {
			m.bench.Errorf("record of %s/%d, which is not owned", message.Topic, message.Partition)
		}
		m.records = append(m.records, message)
	case client.Failure:
		m.bench.Logf("failure: %v", err)
		m.failures = append(m.failures, err)
	case client.Statistics:
		m.statistics = string(message.Value)
	case client.Nothing:
	}
	return kind
}

// until polls these consumers in turn until the condition holds.
func (b *bench) until(what string, condition func() bool, members ...*member) {
	b.Helper()
	deadline := time.Now().Add(b.features.Patience)
	for !condition() {
		if time.Now().After(deadline) {
			for i, m := range members {
				b.Logf("consumer %d: owns %v, has %d records, %d rebalances, failures %v",
					i, m.owned, len(m.records), len(m.rebalances), m.failures)
			}
			b.Fatalf("waited in vain until %s", what)
		}
		for _, m := range members {
			m.poll()
		}
	}
}

// read polls until the consumer has n records in all.
func (m *member) read(n int) {
	m.bench.Helper()
	m.bench.until(strconv.Itoa(n)+" records are read", func() bool { return len(m.records) >= n }, m)
}

// offsets lists the offsets read of one partition, in order.
func (m *member) offsets(topic string, partition int32) []int64 {
	var out []int64
	for i := range m.records {
		if m.records[i].Topic == topic && m.records[i].Partition == partition {
			out = append(out, m.records[i].Offset)
		}
	}
	return out
}

func (m *member) values() []string {
	out := make([]string, len(m.records))
	for i := range m.records {
		out[i] = string(m.records[i].Value)
	}
	return out
}

// stored stores one position, which must be accepted.
func (m *member) stored(o client.Offset) {
	m.bench.Helper()
	if err := m.Store([]client.Offset{o}); err != nil {
		m.bench.Errorf("store %s/%d at %d: %v", o.Topic, o.Partition, o.Offset, err)
	}
}

// wantCommitted asks the group for the position in a topic's first partition.
func (m *member) wantCommitted(topic string, want int64) {
	m.bench.Helper()
	offsets, err := m.Committed([]client.TopicPartition{at(topic, 0)}, m.bench.features.Patience)
	m.bench.must(err)
	m.bench.check(offsets[0].Err)
	if got := offsets[0].Offset; got != want {
		m.bench.Errorf("%s: committed %d, want %d", topic, got, want)
	}
}

func upTo(from, to int64) []int64 {
	var out []int64
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

func wantOffsets(b *bench, m *member, topic string, partition int32, want []int64) {
	b.Helper()
	if got := m.offsets(topic, partition); !slices.Equal(got, want) {
		b.Errorf("%s/%d: read offsets %v, want %v", topic, partition, got, want)
	}
}
