//go:build cgo

package confluent

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// consumer is a [client.Consumer] on librdkafka. Its unguarded fields belong
// to the goroutine that owns it.
type consumer struct {
	kafka *kafka.Consumer
	logs  *logDrain
	// closed is written by Close; Poll reads it, because the binding's own
	// Poll does not and would read freed memory.
	closed atomic.Bool

	held        []client.TopicPartition // what is assigned
	incremental bool                    // the group's protocol, known from the first assignment on
	serving     bool                    // a rebalance callback is running
	answered    bool                    // and has assigned or unassigned
	fatal       bool                    // a fatal error was polled: Close would not return
	pending     []*client.Error         // what a callback could not tell; the next Poll does
}

// Consumer makes a consumer. It connects in the background.
func (l Library) Consumer(config client.Config) (client.Consumer, error) {
	logs := newLogDrain(l.logger())
	conf, err := configMap(config, nil, logs.config())
	if err != nil {
		return nil, fmt.Errorf("new consumer: %w", err)
	}
	inner, err := kafka.NewConsumer(conf)
	if err != nil {
		return nil, fmt.Errorf("new consumer: %w", errorOf(err))
	}
	logs.start()
	return &consumer{kafka: inner, logs: logs}, nil
}

func (c *consumer) Subscribe(topics []string, onRebalance func(client.Rebalance)) error {
	err := c.kafka.SubscribeTopics(topics, func(_ *kafka.Consumer, event kafka.Event) error {
		c.rebalance(event, onRebalance)
		return nil
	})
	return errorOf(err)
}

func (c *consumer) Assign(parts []client.Offset) error {
	var err error
	if c.incremental {
		err = c.kafka.IncrementalAssign(positionsOut(parts))
	} else {
		err = c.kafka.Assign(positionsOut(parts))
	}
	if err != nil {
		return errorOf(err)
	}
	if !c.incremental {
		c.held = nil
	}
	for i := range parts {
		c.held = append(c.held, parts[i].TopicPartition)
	}
	c.answered = true
	return nil
}

func (c *consumer) Unassign(parts []client.TopicPartition) error {
	var err error
	if c.incremental {
		err = c.kafka.IncrementalUnassign(partitionsOut(parts))
	} else {
		err = c.kafka.Unassign()
	}
	if err != nil {
		return errorOf(err)
	}
	c.held = slices.DeleteFunc(c.held, func(held client.TopicPartition) bool {
		return !c.incremental || slices.Contains(parts, held)
	})
	c.answered = true
	return nil
}

func (c *consumer) Pause(parts []client.TopicPartition) error {
	return errorOf(c.kafka.Pause(partitionsOut(parts)))
}

func (c *consumer) Resume(parts []client.TopicPartition) error {
	return errorOf(c.kafka.Resume(partitionsOut(parts)))
}

func (c *consumer) Seek(to client.Offset) error {
	parts, err := c.kafka.SeekPartitions(positionsOut([]client.Offset{to}))
	if err != nil {
		return errorOf(err)
	}
	for i := range parts {
		if err := errorOf(parts[i].Error); err != nil {
			return err
		}
	}
	return nil
}

// Store lets the library judge each entry: its call error only repeats the
// last of them when all were refused.
func (c *consumer) Store(offsets []client.Offset) error {
	stored, callErr := c.kafka.StoreOffsets(storedOut(offsets))
	var first error
	for i := range offsets {
		if i < len(stored) {
			offsets[i].Err = errorOf(stored[i].Error)
		} else {
			offsets[i].Err = errorOf(callErr)
		}
		if first == nil && offsets[i].Err != nil {
			first = offsets[i].Err
		}
	}
	if first == nil {
		first = errorOf(callErr)
	}
	return first
}

func (c *consumer) Commit() error {
	_, err := c.kafka.Commit()
	if err = errorOf(err); client.CodeOf(err) == client.NoOffset {
		return nil
	}
	return err
}

func (c *consumer) Committed(parts []client.TopicPartition, timeout time.Duration) ([]client.Offset, error) {
	asked := partitionsOut(parts)
	offsets, err := c.kafka.Committed(asked, milliseconds(timeout))
	if noSuchGroup(err) {
		return offsetsIn(asked), nil
	}
	if err != nil {
		return nil, errorOf(err)
	}
	for i := range offsets {
		if noSuchGroup(offsets[i].Error) {
			offsets[i].Error = nil
		}
	}
	return offsetsIn(offsets), nil
}

func (c *consumer) Watermarks(part client.TopicPartition) (low, high int64, err error) {
	low, high, err = c.kafka.GetWatermarkOffsets(part.Topic, part.Partition)
	return known(low), known(high), errorOf(err)
}

// known turns librdkafka's "invalid" into the interface's "not known yet".
func known(offset int64) int64 {
	if offset < 0 {
		return -1
	}
	return offset
}

func (c *consumer) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	if c.fatal {
		return wrongState("not closed: after a fatal error the library would never return")
	}
	err := errorOf(c.kafka.Close())
	c.logs.stop()
	for _, e := range c.pending {
		err = errors.Join(err, e)
	}
	return err
}

// milliseconds rounds up, so that a short wait does not become none, and keeps
// clear of librdkafka's negative "for ever".
func milliseconds(d time.Duration) int {
	return int(max(0, (d+time.Millisecond-1)/time.Millisecond))
}
