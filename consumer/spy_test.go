package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// spy is a library that notes what its clients are told.
type spy struct {
	client.Library

	rig *rig

	mu        sync.Mutex // guards what follows
	consumers []*spyConsumer
	producers []client.Config
	admins    []client.Config
}

func (s *spy) Consumer(config client.Config) (client.Consumer, error) {
	c, err := s.Library.Consumer(config)
	if err != nil {
		return nil, err
	}
	spied := &spyConsumer{Consumer: c, rig: s.rig, config: config, stored: map[client.TopicPartition]int64{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consumers = append(s.consumers, spied)
	return spied, nil
}

func (s *spy) Producer(config client.ProducerConfig) (client.Producer, error) {
	s.mu.Lock()
	s.producers = append(s.producers, config.Config)
	s.mu.Unlock()
	return s.Library.Producer(config)
}

func (s *spy) Admin(config client.Config) (client.Admin, error) {
	s.mu.Lock()
	s.admins = append(s.admins, config)
	s.mu.Unlock()
	return s.Library.Admin(config)
}

// made returns the consumers made so far: for each member its source clients
// and then its lane client.
func (s *spy) made() []*spyConsumer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*spyConsumer(nil), s.consumers...)
}

// producersMade returns how many producers were made.
func (s *spy) producersMade() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.producers)
}

// spyConsumer notes commits and audits stored positions.
type spyConsumer struct {
	client.Consumer

	rig    *rig
	config client.Config

	mu      sync.Mutex // guards what follows
	topics  []string
	commits []time.Time
	closed  int
	stored  map[client.TopicPartition]int64 // in this epoch
}

func (c *spyConsumer) Subscribe(topics []string, onRebalance func(client.Rebalance)) error {
	c.mu.Lock()
	c.topics = topics
	c.mu.Unlock()
	return c.Consumer.Subscribe(topics, onRebalance)
}

func (c *spyConsumer) Store(offsets []client.Offset) error {
	c.mu.Lock()
	for _, o := range offsets {
		if before, ok := c.stored[o.TopicPartition]; ok && o.Offset < before {
			c.rig.t.Errorf("stored %d for %s/%d after %d in the same epoch", o.Offset, o.Topic, o.Partition, before)
		}
		c.stored[o.TopicPartition] = o.Offset
	}
	c.mu.Unlock()
	for _, o := range offsets {
		c.rig.audit(o)
	}
	return c.Consumer.Store(offsets)
}

func (c *spyConsumer) Unassign(parts []client.TopicPartition) error {
	c.mu.Lock()
	for _, part := range parts {
		delete(c.stored, part)
	}
	c.mu.Unlock()
	return c.Consumer.Unassign(parts)
}

func (c *spyConsumer) Commit() error {
	c.mu.Lock()
	c.commits = append(c.commits, time.Now())
	c.mu.Unlock()
	return c.Consumer.Commit()
}

func (c *spyConsumer) Close() error {
	c.mu.Lock()
	c.closed++
	c.mu.Unlock()
	return c.Consumer.Close()
}

func (c *spyConsumer) subscribed() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.topics
}

func (c *spyConsumer) committed() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Time(nil), c.commits...)
}

func (c *spyConsumer) closes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// audit looks whether every record below a position that is about to be
// stored is done, gone, or lives on as a later copy.
func (r *rig) audit(o client.Offset) {
	hops := r.copies()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.cluster.Records(o.TopicPartition, client.ReadUncommitted) {
		if m.Offset >= o.Offset {
			return
		}
		id, hop := identity(m)
		copied, lives := hops[id]
		switch {
		case r.done[id] || r.done[origin(m)] || r.gone[place(m.Topic, m.Partition, m.Offset)]:
		case !lives || copied <= hop:
			r.t.Errorf("position %d of %s/%d is past offset %d, which is neither done nor copied",
				o.Offset, o.Topic, o.Partition, m.Offset)
			return
		}
	}
}

// copies returns the highest hop of every record that has a copy.
func (r *rig) copies() map[string]int {
	hops := map[string]int{}
	admin, _ := r.cluster.Admin(nil)
	topics, _ := admin.Topics(context.Background())
	for _, topic := range topics {
		if !retry.IsReservedTopic(topic) {
			continue
		}
		for _, m := range r.in(topic) {
			id, hop := identity(m)
			hops[id] = max(hops[id], hop)
		}
	}
	return hops
}

// origin is the origin id on a record, "" for none.
func origin(m client.Message) string {
	_, stamp, _ := retry.Decode(m.Headers)
	return stamp.OriginID
}

// identity is a record's origin id and hop, for a record of a source topic its
// own place and zero.
func identity(m client.Message) (id string, hop int) {
	if retry.IsReservedTopic(m.Topic) {
		_, stamp, _ := retry.Decode(m.Headers)
		return stamp.OriginID, stamp.Meta.Hop
	}
	return retry.Origin{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset, Timestamp: m.Timestamp}.ID(billing), 0
}

// logs is a handler that keeps warnings and errors as text.
type logs struct{ rig *rig }

func (*logs) Enabled(context.Context, slog.Level) bool { return true }

func (l *logs) Handle(_ context.Context, rec slog.Record) error {
	if rec.Level < slog.LevelWarn {
		return nil
	}
	line := rec.Message
	add := func(a slog.Attr) bool {
		line += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	}
	rec.Attrs(add)
	l.rig.mu.Lock()
	defer l.rig.mu.Unlock()
	l.rig.lines = append(l.rig.lines, line)
	return nil
}

func (l *logs) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *logs) WithGroup(string) slog.Handler { return l }

// logged returns how many warnings and errors hold this text.
func (r *rig) logged(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, line := range r.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}
