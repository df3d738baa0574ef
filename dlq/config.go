package dlq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/client/confluent"
)

// DefaultRequestTimeout bounds one question to the cluster, and how long a scan
// waits without progress: long enough for a leader election.
const DefaultRequestTimeout = 30 * time.Second

// Config says how to reach a cluster.
type Config struct {
	// Brokers is the comma-separated list of bootstrap servers. It may be
	// left to Kafka's "bootstrap.servers".
	Brokers string
	// Kafka holds further keys of librdkafka, for security above all. The
	// keys that a promise depends on are refused.
	Kafka map[string]string
	// RequestTimeout is how long one question may take, and a scan stand
	// still. Zero: [DefaultRequestTimeout].
	RequestTimeout time.Duration
	// Now is the clock. Nil: [time.Now].
	Now func() time.Time
	// Logger gets what the Kafka client has to say. Nil: [slog.Default].
	Logger *slog.Logger
	// Library makes the Kafka clients. Nil: the real one.
	Library client.Library
}

// owned reports whether a key is set by this package and must not be set by
// its user.
func owned(key string) bool {
	switch key {
	case "auto.offset.reset", "enable.auto.commit", "enable.auto.offset.store", "enable.idempotence",
		"enable.partition.eof", "isolation.level", "statistics.interval.ms", "transaction.timeout.ms",
		"transactional.id":
		return true
	default:
		return false
	}
}

// Validate reports every mistake at once.
func (c Config) Validate() error {
	var problems []error
	if c.Brokers == "" && c.Kafka["bootstrap.servers"] == "" {
		problems = append(problems, errors.New("no brokers given"))
	}
	if c.RequestTimeout < 0 {
		problems = append(problems, fmt.Errorf("request timeout %s is negative", c.RequestTimeout))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Kafka)) {
		if owned(key) {
			problems = append(problems, fmt.Errorf("configuration key %s is owned: exactly-once replay and scans that end depend on it", key))
		}
	}
	return errors.Join(problems...)
}

func (c Config) withDefaults() Config {
	if c.RequestTimeout == 0 {
		c.RequestTimeout = DefaultRequestTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Library == nil {
		c.Library = confluent.Library{Logger: c.Logger}
	}
	c.Kafka = maps.Clone(c.Kafka)
	if c.Kafka == nil {
		c.Kafka = map[string]string{}
	}
	if c.Brokers != "" {
		c.Kafka["bootstrap.servers"] = c.Brokers
	}
	return c
}

// client returns the client configuration with the keys owned here on top.
func (c Config) client(owned client.Config) client.Config {
	merged := client.Config(maps.Clone(c.Kafka))
	maps.Copy(merged, owned)
	return merged
}

// Cluster gives access to the dead letters of one cluster. Safe for concurrent
// use; whoever opened it closes it.
type Cluster struct {
	config Config
	admin  client.Admin
}

// Open makes a Cluster. It connects in the background, so a wrong address shows
// at the first question.
func Open(config Config) (*Cluster, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("open cluster: %w", err)
	}
	config = config.withDefaults()
	admin, err := config.Library.Admin(config.client(nil))
	if err != nil {
		return nil, fmt.Errorf("open cluster: %w", err)
	}
	return &Cluster{config: config, admin: admin}, nil
}

// Close frees the cluster's client.
func (c *Cluster) Close() error { return c.admin.Close() }

// ID returns the cluster's id.
func (c *Cluster) ID(ctx context.Context) (string, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	return c.admin.ClusterID(ctx)
}

func (c *Cluster) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.config.RequestTimeout)
}

// describe returns what the cluster says about topics, in the order asked. A
// topic that does not exist has an Err of [client.UnknownTopicOrPartition].
func (c *Cluster) describe(ctx context.Context, topics ...string) ([]client.TopicInfo, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	return c.admin.Describe(ctx, topics)
}

// topic describes one topic that must exist.
func (c *Cluster) topic(ctx context.Context, name string) (client.TopicInfo, error) {
	infos, err := c.describe(ctx, name)
	switch {
	case err != nil:
		return client.TopicInfo{}, err
	case client.CodeOf(infos[0].Err) == client.UnknownTopicOrPartition:
		return client.TopicInfo{}, &NotFoundError{Topic: name}
	}
	// A topic id is a part of ledger keys: write it as Kafka's own tools do,
	// in base64's form for addresses, which has no slash.
	infos[0].ID = strings.NewReplacer("/", "_", "+", "-").Replace(infos[0].ID)
	return infos[0], infos[0].Err
}

// offsets returns one position of every partition of a topic.
func (c *Cluster) offsets(ctx context.Context, topic string, partitions int, at int64, isolation client.Isolation) ([]int64, error) {
	parts := make([]client.TopicPartition, partitions)
	for i := range parts {
		parts[i] = client.TopicPartition{Topic: topic, Partition: int32(i)}
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	for {
		out, err := c.offsetsOnce(ctx, topic, parts, at, isolation)
		if err == nil || !leaderless(err) {
			return out, err
		}
		// A leader is being chosen: the topic is new, or a broker went.
		if ended := pause(ctx, leaderWait); ended != nil {
			return nil, errors.Join(err, ended)
		}
	}
}

// leaderWait is the time between questions to a partition without a leader:
// choosing one takes a few hundred milliseconds.
const leaderWait = 100 * time.Millisecond

// leaderless reports that a partition had no leader, or not the one asked.
func leaderless(err error) bool {
	code := client.CodeOf(err)
	return code == client.LeaderNotAvailable || code == client.NotLeader
}

func (c *Cluster) offsetsOnce(ctx context.Context, topic string, parts []client.TopicPartition, at int64, isolation client.Isolation) ([]int64, error) {
	found, err := c.admin.ListOffsets(ctx, parts, at, isolation)
	if err != nil {
		return nil, fmt.Errorf("offsets of %s: %w", topic, err)
	}
	out := make([]int64, len(parts))
	for i, offset := range found {
		if offset.Err != nil {
			return nil, fmt.Errorf("offset of %s/%d: %w", topic, i, offset.Err)
		}
		out[i] = offset.Offset
	}
	return out, nil
}
