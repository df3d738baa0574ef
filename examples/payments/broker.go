package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/holdfast-kafka/holdfast/retry"
)

// part names a partition.
type part struct {
	topic     string
	partition int32
}

// positions holds an offset for each partition.
type positions map[part]int64

// past reports whether a position lies behind a place.
func (p positions) past(at place) bool { return p[part{at.topic, at.partition}] > at.offset }

// reach reports whether every position is at its end or behind it.
func (p positions) reach(ends positions) bool {
	for at, end := range ends {
		if p[at] < end {
			return false
		}
	}
	return true
}

// Kafka's numbers for the ends of a log.
const (
	earliest int64 = -2
	latest   int64 = -1
)

// broker asks a cluster what the story needs to know, with a client of its own.
type broker struct {
	client *kgo.Client
	seeds  []string
}

func openBroker(addresses string) (*broker, error) {
	b := &broker{seeds: strings.Split(addresses, ",")}
	var err error
	b.client, err = kgo.NewClient(kgo.SeedBrokers(b.seeds...))
	if err != nil {
		return nil, fmt.Errorf("brokers %s: %w", addresses, err)
	}
	return b, nil
}

func (b *broker) close() { b.client.Close() }

// patiently asks again while a broker is away or does not know enough yet.
func patiently(ctx context.Context, ask func() error) error {
	again := time.NewTicker(tick)
	defer again.Stop()
	for {
		err := ask()
		if err == nil || !kerr.IsRetriable(err) && !kgo.IsRetryableBrokerErr(err) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// bookTopic is where the gateway keeps its book.
func bookTopic(topic, group string) string {
	return strings.TrimSuffix(retry.DLQTopic(topic, group), ".dlq") + ".gateway"
}

// create creates topics; one that exists is left as it is.
func (b *broker) create(ctx context.Context, partitions map[string]int) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	for topic, n := range partitions {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = topic, int32(n), -1
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, b.client)
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	for _, t := range resp.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("create topic %s: %w", t.Topic, err)
		}
	}
	return nil
}

// await waits until topics exist and returns their partitions.
func (b *broker) await(ctx context.Context, topics []string) (map[string]int, error) {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		req := kmsg.NewPtrMetadataRequest()
		for _, topic := range topics {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = new(topic)
			req.Topics = append(req.Topics, t)
		}
		resp, err := req.RequestWith(ctx, b.client)
		if err != nil {
			return nil, fmt.Errorf("describe topics: %w", err)
		}
		parts := map[string]int{}
		for _, t := range resp.Topics {
			if t.ErrorCode == 0 && len(t.Partitions) > 0 {
				parts[*t.Topic] = len(t.Partitions)
			}
		}
		if len(parts) == len(topics) {
			return parts, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// offsets returns one end of every partition of topics, of what is committed.
func (b *broker) offsets(ctx context.Context, topics map[string]int, end int64) (positions, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, 1
	for topic, n := range topics {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for i := range n {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = int32(i), end
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, b.client)
	if err != nil {
		return nil, fmt.Errorf("offsets: %w", err)
	}
	found := positions{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("offsets of %s/%d: %w", t.Topic, p.Partition, err)
			}
			found[part{t.Topic, p.Partition}] = p.Offset
		}
	}
	for topic, n := range topics {
		for i := range n {
			if _, told := found[part{topic, int32(i)}]; !told {
				return nil, fmt.Errorf("offset of %s/%d: %w", topic, i, kerr.UnknownTopicOrPartition)
			}
		}
	}
	return found, nil
}

// committed returns a group's positions; a partition without one is left out.
func (b *broker) committed(ctx context.Context, group string, topics map[string]int) (positions, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	for topic, n := range topics {
		t := kmsg.NewOffsetFetchRequestTopic()
		t.Topic = topic
		for i := range n {
			t.Partitions = append(t.Partitions, int32(i))
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, b.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		return positions{}, nil // nobody has joined it yet
	}
	if err != nil {
		return nil, fmt.Errorf("positions of group %s: %w", group, err)
	}
	found := positions{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("position of group %s on %s/%d: %w", group, t.Topic, p.Partition, err)
			}
			if p.Offset >= 0 {
				found[part{t.Topic, p.Partition}] = p.Offset
			}
		}
	}
	return found, nil
}
