//go:build cgo

package confluent

import (
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/consumer/consumertest"
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// preloaded is a partition that is read again from its start when it ends.
const preloaded = 20_000

func benchmarkConsumer(b *testing.B) *consumer {
	b.Helper()
	broker := consumertest.StartBroker(b, consumertest.Topic{Name: "t", Partitions: 1})
	p, err := quiet().Producer(client.ProducerConfig{Config: client.Config{"bootstrap.servers": broker.Addr()}})
	if err != nil {
		b.Fatal(err)
	}
	m := client.Message{Topic: "t", Value: make([]byte, 256), Headers: []retry.Header{{Key: "h", Value: []byte("v")}}}
	for range preloaded {
		if err := p.Produce(&m, nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
	made, err := quiet().Consumer(client.Config{
		"bootstrap.servers": broker.Addr(), "group.id": "g", "enable.auto.commit": "false", "enable.auto.offset.store": "false",
	})
	if err != nil {
		b.Fatal(err)
	}
	c, ok := made.(*consumer)
	if !ok {
		b.Fatalf("got %T", made)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c
}

// read reads records until the benchmark has enough, rewinding off the clock,
// and waits off the clock until all are prefetched.
func benchmarkReads(b *testing.B, c *consumer, poll func() bool) {
	b.Helper()
	b.ReportAllocs()
	left := 0
	for b.Loop() {
		if left == 0 {
			b.StopTimer()
			left = preloaded
			rewind(b, c)
			b.StartTimer()
		}
		for !poll() {
		}
		left--
	}
}

func rewind(b *testing.B, c *consumer) {
	b.Helper()
	if err := c.Assign([]client.Offset{{TopicPartition: client.TopicPartition{Topic: "t"}, Offset: client.OffsetEarliest}}); err != nil {
		b.Fatal(err)
	}
	// Statistics would say when all is here; half a second always was enough.
	timer := time.NewTimer(500 * time.Millisecond)
	<-timer.C
}

func BenchmarkPoll(b *testing.B) {
	c := benchmarkConsumer(b)
	var m client.Message
	b.Run("adapter", func(b *testing.B) {
		benchmarkReads(b, c, func() bool {
			kind, _ := c.Poll(0, &m)
			return kind == client.Record
		})
	})
	b.Run("binding", func(b *testing.B) {
		benchmarkReads(b, c, func() bool {
			_, ok := c.kafka.Poll(0).(*kafka.Message)
			return ok
		})
	})
}
