package consumertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// minSessionTimeout lets tests of lost members be quick: Kafka's own least is
// six seconds.
const minSessionTimeout = 100 * time.Millisecond

// newProtocol sets what the broker decides under group.protocol=consumer, where
// members cannot: to move partitions in a second and to give a silent member
// up soon. Kafka's own are 5 s and 45 s.
func newProtocol() map[string]string {
	return map[string]string{
		"group.consumer.heartbeat.interval.ms": "300",
		"group.consumer.session.timeout.ms":    "3000",
	}
}

// Broker is an embedded Kafka broker: one process, no Docker, no disk. It
// speaks the real protocol on loopback, transactions and both group protocols
// included, and is what Holdfast's own tests and example run on.
//
// It is one goroutine in this process: it shows no disks, no replicas and no
// real timings. Safe for concurrent use.
type Broker struct {
	cluster *kfake.Cluster
}

// Topic is a topic that an embedded broker starts with.
type Topic struct {
	Name       string
	Partitions int
}

// NewBroker starts an embedded broker with these topics. Close stops it.
func NewBroker(topics ...Topic) (*Broker, error) {
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.DefaultNumPartitions(1),
		kfake.GroupMinSessionTimeout(minSessionTimeout),
		kfake.BrokerConfigs(newProtocol()),
	}
	for _, topic := range topics {
		opts = append(opts, kfake.SeedTopics(int32(topic.Partitions), topic.Name))
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, fmt.Errorf("start embedded broker: %w", err)
	}
	return &Broker{cluster: cluster}, nil
}

// StartBroker starts an embedded broker for a test and stops it with the test.
func StartBroker(tb testing.TB, topics ...Topic) *Broker {
	tb.Helper()
	broker, err := NewBroker(topics...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(broker.Close)
	return broker
}

// Addr returns the broker's address for Config.Brokers.
func (b *Broker) Addr() string { return strings.Join(b.cluster.ListenAddrs(), ",") }

// Close stops the broker. What it held is gone.
func (b *Broker) Close() { b.cluster.Close() }
