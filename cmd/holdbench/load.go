package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/client/confluent"
)

// unique returns a name that no other run uses.
func unique(prefix string) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + "-" + hex.EncodeToString(b[:])
}

// fill creates a topic and writes n records, each made by record.
func (o *options) fill(ctx context.Context, topic string, partitions, n int, record func(i int) client.Message) error {
	library := confluent.Library{}
	admin, err := library.Admin(client.Config{"bootstrap.servers": o.brokers})
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close() }()
	if err := admin.CreateTopics(ctx, []client.TopicSpec{{Topic: topic, Partitions: partitions, ReplicationFactor: 1}}); err != nil {
		return fmt.Errorf("create %s: %w", topic, err)
	}
	o.progressf("writing %d records to %s", n, topic)
	return o.write(ctx, library, n, func(i int) client.Message {
		m := record(i)
		m.Topic, m.Partition = topic, int32(i%partitions)
		return m
	})
}

func (o *options) write(ctx context.Context, library confluent.Library, n int, record func(i int) client.Message) error {
	var failed atomic.Pointer[error]
	producer, err := library.Producer(client.ProducerConfig{
		Config: client.Config{"bootstrap.servers": o.brokers, "linger.ms": "20", "batch.num.messages": "10000"},
		OnReports: func(reports []client.Report) {
			for _, r := range reports {
				if r.Err != nil {
					failed.Store(&r.Err)
				}
			}
		},
		OnError: func(err *client.Error) { o.progressf("producer: %v", err) },
	})
	if err != nil {
		return err
	}
	for i := 0; i < n && err == nil; {
		m := record(i)
		err = producer.Produce(&m, nil)
		if client.CodeOf(err) == client.QueueFull {
			err = pause(ctx, 10*time.Millisecond)
			continue
		}
		i++
	}
	if err == nil {
		err = producer.Flush(ctx)
	}
	if at := failed.Load(); at != nil {
		err = errors.Join(err, *at)
	}
	return errors.Join(err, producer.Close())
}

func pause(ctx context.Context, d time.Duration) error {
	return rest(ctx, d, nil)
}

// drop deletes a scenario's topic.
func (o *options) drop(topic string) {
	admin, err := confluent.Library{}.Admin(client.Config{"bootstrap.servers": o.brokers})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := errors.Join(admin.DeleteTopics(ctx, []string{topic}), admin.Close()); err != nil {
		o.progressf("topic %s is left behind: %v", topic, err)
	}
}
