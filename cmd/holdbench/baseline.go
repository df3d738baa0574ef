package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// bestLoop is the fastest loop one can write on the client: one goroutine,
// positions kept in Go, stored and committed each second.
func bestLoop(brokers, topic string) side {
	var n atomic.Int64
	return side{
		count: n.Load,
		run: func(ctx context.Context) error {
			config := bareConfig(brokers)
			// As Holdfast sets its source clients.
			config["fetch.queue.backoff.ms"] = 10
			config["queued.max.messages.kbytes"] = 32768
			config["check.crcs"] = true
			config["enable.auto.commit"] = false
			config["partition.assignment.strategy"] = "cooperative-sticky"
			return pollLoop(ctx, config, topic, &bestPositions{next: map[int32]kafka.Offset{}}, &n)
		},
	}
}

// plainLoop is what people write: the client's defaults, each record's offset
// stored after it was handled.
func plainLoop(brokers, topic string) side {
	var n atomic.Int64
	return side{
		count: n.Load,
		run: func(ctx context.Context) error {
			return pollLoop(ctx, bareConfig(brokers), topic, plainPositions{}, &n)
		},
	}
}

func bareConfig(brokers string) kafka.ConfigMap {
	return kafka.ConfigMap{
		"bootstrap.servers":        brokers,
		"group.id":                 unique("holdbench"),
		"auto.offset.reset":        "earliest",
		"enable.auto.offset.store": false,
		"enable.metrics.push":      false,
	}
}

// positions is how a loop keeps its positions.
type positions interface {
	handled(c *kafka.Consumer, m *kafka.Message) error
}

type plainPositions struct{}

func (plainPositions) handled(c *kafka.Consumer, m *kafka.Message) error {
	_, err := c.StoreMessage(m)
	return err
}

type bestPositions struct {
	topic *string
	next  map[int32]kafka.Offset
	at    time.Time
	since int
}

func (p *bestPositions) handled(c *kafka.Consumer, m *kafka.Message) error {
	p.topic = m.TopicPartition.Topic
	p.next[m.TopicPartition.Partition] = m.TopicPartition.Offset + 1
	p.since++
	const look = 256 // records between looks at the clock
	if p.since%look != 0 || time.Since(p.at) < time.Second {
		return nil
	}
	p.at = time.Now()
	var offsets []kafka.TopicPartition
	for partition, offset := range p.next {
		offsets = append(offsets, kafka.TopicPartition{Topic: p.topic, Partition: partition, Offset: offset})
	}
	if _, err := c.StoreOffsets(offsets); err != nil {
		return err
	}
	_, err := c.Commit()
	return err
}

func pollLoop(ctx context.Context, config kafka.ConfigMap, topic string, keep positions, n *atomic.Int64) error {
	c, err := kafka.NewConsumer(&config)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := c.SubscribeTopics([]string{topic}, nil); err != nil {
		return err
	}
	for ctx.Err() == nil {
		switch ev := c.Poll(100).(type) {
		case *kafka.Message:
			if err := keep.handled(c, ev); err != nil {
				return err
			}
			n.Add(1)
		case kafka.Error:
			if ev.IsFatal() {
				return fmt.Errorf("bare consumer: %w", ev)
			}
		}
	}
	return nil
}
