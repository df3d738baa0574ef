package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-kafka/holdfast/dlq"
	"github.com/holdfast-kafka/holdfast/retry"
)

// replay deploys the next release, sends the dead letters it understands back
// to be handled and waits until they are.
func (s *story) replay(ctx context.Context) (err error) {
	if err := s.book.write(ctx, entry{Kind: entryRelease}); err != nil {
		return err
	}
	s.sayf("a new release is deployed: it knows BRL, and amounts that are text; a bank that was offline is back")
	cluster, err := dlq.Open(dlq.Config{Brokers: s.brokers})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	sent, err := replayUnderstood(ctx, cluster, s.dlqTopic(), s.processor)
	if err != nil {
		return err
	}
	s.sayf("%s dead letters that it understands are replayed", thousands(int(sent)))
	if err := s.settle(ctx); err != nil {
		return err
	}
	s.sayf("they are handled")
	return nil
}

// replayUnderstood replays the dead letters that a processor failed to
// understand and now would. It returns how many.
func replayUnderstood(ctx context.Context, cluster *dlq.Cluster, topic string, p *processor) (int64, error) {
	var ids []dlq.ID
	_, err := cluster.Scan(ctx, dlq.ScanRequest{Topic: topic}, func(r *dlq.Record) error {
		notUnderstood := r.Stamp.Disposition == retry.DispositionDecode || r.Stamp.Disposition == retry.DispositionPoison
		if notUnderstood && p.understands(r.Value) {
			ids = append(ids, r.ID)
		}
		return nil
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	plan, err := cluster.Plan(ctx, dlq.PlanRequest{DLQ: topic, Filter: dlq.Filter{IDs: ids}})
	if err != nil {
		return 0, err
	}
	done, err := cluster.Replay(ctx, plan, dlq.ReplayOptions{By: "examples/payments", Reason: "the new release understands them"})
	if err != nil {
		return done.Sent, fmt.Errorf("replay: %w", err)
	}
	return done.Sent, nil
}
