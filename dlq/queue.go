package dlq

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// queueWorkers is how many DLQs are described at the same time: each costs a few
// round trips and a short-lived client.
const queueWorkers = 4

// Queue describes a dead-letter topic.
type Queue struct {
	Topic      string
	Partitions int
	// Depth is at most how many dead letters there are: offsets without a
	// record count too.
	Depth int64
	// Open is at most how many of them nothing was decided about.
	Open int64
	// Oldest is the time of death of the oldest record, zero for none.
	Oldest time.Time
	// Source and Group are the topic and the group that the oldest record
	// names, "" where it names none.
	Source string
	Group  string
	// Run names the run that works on it, "" for none.
	Run string
}

// Queues describes the dead-letter topics whose names match a pattern of
// [path.Match], sorted by name. An empty pattern matches every topic that is
// named like a DLQ of this framework. A pattern can also match others, and
// must name a topic whole where it has no wildcard.
func (c *Cluster) Queues(ctx context.Context, pattern string) ([]Queue, error) {
	names, err := c.queueNames(ctx, pattern)
	if err != nil {
		return nil, fmt.Errorf("list DLQs: %w", err)
	}
	queues, problems := make([]Queue, len(names)), make([]error, len(names))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(queueWorkers, len(names)) {
		workers.Go(func() {
			for i := range next {
				queues[i], problems[i] = c.queue(ctx, names[i])
			}
		})
	}
	for i := range names {
		next <- i
	}
	close(next)
	workers.Wait()
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("list DLQs: %w", err)
	}
	return queues, nil
}

func (c *Cluster) queueNames(ctx context.Context, pattern string) ([]string, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	all, err := c.admin.Topics(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range all {
		parsed, ours := retry.ParseTopic(name)
		isDLQ := ours && parsed.Kind == retry.NameDLQ
		matches, _ := path.Match(pattern, name) // its only error was found above
		if pattern == "" && isDLQ || pattern != "" && matches && (isDLQ || !ours) {
			names = append(names, name)
		}
	}
	return names, nil
}

func (c *Cluster) queue(ctx context.Context, name string) (Queue, error) {
	info, err := c.topic(ctx, name)
	if err != nil {
		return Queue{}, err
	}
	ledger, err := c.readLedger(ctx, info)
	if err != nil {
		return Queue{}, err
	}
	bounds, err := c.scanBounds(ctx, name, info.Partitions, nil)
	if err != nil {
		return Queue{}, fmt.Errorf("%s: %w", name, err)
	}
	q := Queue{Topic: name, Partitions: info.Partitions}
	if ledger.lease.live(c.config.Now()) {
		q.Run = ledger.lease.Run
	}
	filled := 0
	for _, b := range bounds {
		if b.High > b.Low {
			filled++
		}
		q.Depth += b.High - b.Low
		q.Open += b.High - b.Low - ledger.Decided(b.Partition, b.Low, b.High-1)
	}
	return q, c.oldest(ctx, &q, bounds, filled)
}

// oldest reads the first record of each partition.
func (c *Cluster) oldest(ctx context.Context, q *Queue, bounds []Bound, filled int) error {
	seen := map[int32]bool{}
	_, err := c.scanWithin(ctx, ScanRequest{Topic: q.Topic}, bounds, func(m *client.Message) error {
		if seen[m.Partition] {
			return nil
		}
		seen[m.Partition] = true
		r := recordOf(m)
		if q.Oldest.IsZero() || r.Timestamp.Before(q.Oldest) {
			q.Oldest, q.Source, q.Group = r.Timestamp, r.Stamp.Meta.Origin.Topic, r.Stamp.Meta.Group
		}
		if len(seen) == filled {
			return ErrStop
		}
		return nil
	})
	return err
}
