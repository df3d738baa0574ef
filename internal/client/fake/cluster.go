package fake

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// Config makes a cluster. The zero value is a cluster without topics where
// nothing is late.
type Config struct {
	// Seed of all delays.
	Seed uint64
	// ID of the cluster. Default "fake".
	ID string
	// Topics that exist from the start, by name, with their number of
	// partitions.
	Topics map[string]int
	// Delays of what is never instant on a network. Default: none.
	Delays Delays
	// OnMisuse is told when a client is used against its contract. Default:
	// panic.
	OnMisuse func(error)
}

// Delays are upper bounds in virtual time; each wait is drawn between half of
// its bound and all of it.
type Delays struct {
	// Fetch passes before the first record of a partition that was assigned,
	// resumed, sought or kept through a rebalance.
	Fetch time.Duration
	// Commit passes before a commit reaches the group.
	Commit time.Duration
	// Report passes between writing a batch and its reports.
	Report time.Duration
	// Join passes between a change in a group and each round of its
	// rebalance.
	Join time.Duration
}

// Cluster is a Kafka cluster in memory and a [client.Library] that makes
// clients of it. Safe for concurrent use.
type Cluster struct {
	config Config

	mu        sync.Mutex // guards all below and the state of every client
	topics    map[string]*topic
	groups    map[string]*group
	ids       map[string]*Transactor // the newest producer of each transactional id
	consumers []*Consumer
	producers []*Producer
	made      int // topics made so far, for their ids
	clients   int // clients made so far, for their names
	faults    faults
}

var _ client.Library = (*Cluster)(nil)

type topic struct {
	name       string
	id         string
	config     map[string]string
	replicas   int
	partitions []*partition
}

// New makes a cluster.
func New(config Config) *Cluster {
	if config.ID == "" {
		config.ID = "fake"
	}
	c := &Cluster{
		config: config,
		topics: make(map[string]*topic),
		groups: make(map[string]*group),
		ids:    make(map[string]*Transactor),
	}
	for _, name := range slices.Sorted(maps.Keys(config.Topics)) {
		c.addTopic(client.TopicSpec{Topic: name, Partitions: config.Topics[name]})
	}
	return c
}

// addTopic adds a topic. The lock is held, except in New.
func (c *Cluster) addTopic(spec client.TopicSpec) {
	c.made++
	t := &topic{
		name:     spec.Topic,
		id:       fmt.Sprintf("%s-%d", c.config.ID, c.made),
		config:   topicDefaults(),
		replicas: max(1, spec.ReplicationFactor),
	}
	maps.Copy(t.config, spec.Config)
	for i := range max(1, spec.Partitions) {
		t.partitions = append(t.partitions, &partition{
			at:   client.TopicPartition{Topic: spec.Topic, Partition: int32(i)},
			open: make(map[*transaction]int64),
		})
	}
	c.topics[spec.Topic] = t
	c.topicsChanged()
}

// topicsChanged lets groups look at their subscriptions again. The lock is
// held.
func (c *Cluster) topicsChanged() {
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		g := c.groups[name]
		if g.subscriptionsMoved() {
			g.trigger()
		}
	}
}

// topicDefaults are a broker's own.
func topicDefaults() map[string]string {
	return map[string]string{
		"cleanup.policy":         "delete",
		"max.message.bytes":      "1048588",
		"message.timestamp.type": "CreateTime",
		"min.insync.replicas":    "1",
		"retention.bytes":        "-1",
		"retention.ms":           "604800000",
	}
}

// partition finds a partition, or nil. The lock is held.
func (c *Cluster) partition(at client.TopicPartition) *partition {
	t := c.topics[at.Topic]
	if t == nil || at.Partition < 0 || int(at.Partition) >= len(t.partitions) {
		return nil
	}
	return t.partitions[at.Partition]
}

// group finds or makes a group. The lock is held.
func (c *Cluster) group(name string) *group {
	g := c.groups[name]
	if g == nil {
		g = newGroup(c, name)
		c.groups[name] = g
	}
	return g
}

// notify wakes every poll and every producer. The lock is held.
func (c *Cluster) notify() {
	for _, consumer := range c.consumers {
		signal(consumer.wake)
	}
	for _, producer := range c.producers {
		signal(producer.wake)
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// stream is the source of one client's delays.
func (c *Cluster) stream(name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(c.config.Seed, h.Sum64()))
}

// draw picks a wait between half of the bound and all of it.
func draw(rng *rand.Rand, bound time.Duration) time.Duration {
	if bound <= 0 {
		return 0
	}
	return bound/2 + time.Duration(rng.Int64N(int64(bound/2)+1))
}

// misusef tells of a broken contract. The lock is not held.
func (c *Cluster) misusef(format string, args ...any) {
	err := fmt.Errorf("client misused: "+format, args...)
	if c.config.OnMisuse == nil {
		panic(err)
	}
	c.config.OnMisuse(err)
}
