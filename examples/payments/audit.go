package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/holdfast-kafka/holdfast/retry"
)

// audit reads everything the story leaves in the broker: the payments, the
// lanes, the dead letters and the gateway's book. It reads with a client of its
// own, outside of any group, and asks nothing of what it judges. For one
// goroutine.
type audit struct {
	broker *broker
	client *kgo.Client
	group  string
	source string
	dlq    string
	replay string
	book   string
	log    *slog.Logger

	tracked []string // the topics that the group consumes
	topics  []string // all that are read
	parts   map[string]int
	next    positions // behind the last offset read, control records included
	wanted  positions // behind the last record read
	trails  map[string]*trail
	written int // payments read so far
}

// openAudit waits until the consumer has its topics and begins to read.
func openAudit(ctx context.Context, b *broker, topic, group string, lanes retry.Lanes, log *slog.Logger) (*audit, error) {
	a := &audit{
		broker: b, group: group, log: log,
		source: topic, dlq: retry.DLQTopic(topic, group), replay: retry.ReplayTopic(topic, group), book: bookTopic(topic, group),
		wanted: positions{}, trails: map[string]*trail{},
	}
	a.tracked = []string{topic, a.replay}
	for _, delay := range lanes {
		a.tracked = append(a.tracked, retry.LaneTopic(topic, group, delay))
	}
	a.topics = append(slices.Clone(a.tracked), a.dlq, a.book)
	var err error
	if a.parts, err = b.await(ctx, a.topics); err != nil {
		return nil, err
	}
	err = patiently(ctx, func() error {
		a.next, err = b.offsets(ctx, a.pick(a.topics), earliest)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.client, err = kgo.NewClient(
		kgo.SeedBrokers(b.seeds...),
		kgo.ConsumeTopics(a.topics...),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // so that the end of a log that ends with one is reached
		kgo.FetchMaxWait(500*time.Millisecond),
	)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return a, nil
}

func (a *audit) close() { a.client.Close() }

// pick returns the partitions of some of the topics.
func (a *audit) pick(topics []string) map[string]int {
	parts := map[string]int{}
	for _, topic := range topics {
		parts[topic] = a.parts[topic]
	}
	return parts
}

// read reads everything there is now, and returns the group's positions from
// before that. It waits for a broker that is away.
func (a *audit) read(ctx context.Context) (committed positions, err error) {
	err = patiently(ctx, func() error {
		committed, err = a.readOnce(ctx)
		return err
	})
	return committed, err
}

func (a *audit) readOnce(ctx context.Context) (committed positions, err error) {
	if committed, err = a.broker.committed(ctx, a.group, a.pick(a.tracked)); err != nil {
		return nil, err
	}
	// The book last: a copy that is read has its call in what is read of it.
	var others []string
	for _, topic := range a.topics {
		if topic != a.book {
			others = append(others, topic)
		}
	}
	for _, topics := range [][]string{others, {a.book}} {
		ends, err := a.broker.offsets(ctx, a.pick(topics), latest)
		if err != nil {
			return nil, err
		}
		if err := a.readTo(ctx, ends); err != nil {
			return nil, err
		}
	}
	return committed, nil
}

func (a *audit) readTo(ctx context.Context, ends positions) error {
	for !a.next.reach(ends) {
		fetches := a.client.PollFetches(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fetches.EachError(func(topic string, partition int32, err error) {
			a.log.WarnContext(ctx, "audit reads", "topic", topic, "partition", partition, "error", err)
		})
		fetches.EachRecord(a.take)
	}
	return nil
}

// take takes in one record.
func (a *audit) take(r *kgo.Record) {
	at := part{r.Topic, r.Partition}
	a.next[at] = r.Offset + 1
	if r.Attrs.IsControl() {
		return
	}
	a.wanted[at] = r.Offset + 1
	switch r.Topic {
	case a.book:
		var line entry
		if json.Unmarshal(r.Value, &line) == nil && line.Key != "" {
			a.trail(line.Key).enter(line)
		}
	case a.source:
		origin := retry.Origin{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli()}
		t := a.trail(origin.ID(a.group))
		a.written++
		t.written, t.source = true, place{r.Topic, r.Partition, r.Offset}
	default:
		a.takeCopy(r)
	}
}

// takeCopy takes in a record of a lane or a dead letter.
func (a *audit) takeCopy(r *kgo.Record) {
	headers := make([]retry.Header, len(r.Headers))
	for i, h := range r.Headers {
		headers[i] = retry.Header(h)
	}
	_, stamp, _ := retry.Decode(headers)
	if stamp.Kind == 0 {
		return // not a copy
	}
	c := trailCopy{
		kind: inLane, at: place{r.Topic, r.Partition, r.Offset},
		count: stamp.Count, due: stamp.Due, replays: stamp.Meta.ReplayCount(),
		disposition: stamp.Disposition, cause: stamp.Meta.Error,
	}
	switch r.Topic {
	case a.dlq:
		c.kind = inDLQ
	case a.replay:
		c.kind = inReplayLane
	}
	t := a.trail(stamp.Meta.Origin.ID(stamp.Meta.Group))
	t.copies = append(t.copies, c)
}

func (a *audit) trail(key string) *trail {
	t := a.trails[key]
	if t == nil {
		t = &trail{}
		a.trails[key] = t
	}
	return t
}

// figures reads everything and counts.
func (a *audit) figures(ctx context.Context) (figures, error) {
	committed, err := a.read(ctx)
	if err != nil {
		return figures{}, errors.Join(errors.New("the figures could not be counted"), err)
	}
	return count(a.trails, committed), nil
}

// idle reads everything and reports whether the group has nothing left to do.
func (a *audit) idle(ctx context.Context) (bool, error) {
	committed, err := a.read(ctx)
	if err != nil {
		return false, err
	}
	for at, offset := range a.wanted {
		if slices.Contains(a.tracked, at.topic) && committed[at] < offset {
			return false, nil
		}
	}
	return true, nil
}
