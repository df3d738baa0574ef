package consumer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// maxPollIntervalDefault is the client library's own default.
const maxPollIntervalDefault = 5 * time.Minute

// ownedReasons are the keys of the client library that the runtime sets
// itself, each with why a program must not.
func ownedReasons() map[string]string {
	const (
		commits  = "positions are stored and committed by the runtime when outcomes are durable"
		producer = "copies of records must be acknowledged by all in-sync replicas, for ever if need be"
	)
	return map[string]string{
		"bootstrap.servers":                     "set Config.Brokers",
		"metadata.broker.list":                  "set Config.Brokers",
		"group.id":                              "set Config.Group",
		"enable.auto.commit":                    commits,
		"auto.commit.enable":                    commits,
		"auto.commit.interval.ms":               "set Config.CommitInterval",
		"enable.auto.offset.store":              commits,
		"check.crcs":                            "damaged records must be noticed",
		"enable.partition.eof":                  "the poll loop has no use for it",
		"topic.blacklist":                       "the routes name the topics",
		"enable.idempotence":                    producer,
		"acks":                                  producer,
		"request.required.acks":                 producer,
		"message.timeout.ms":                    producer,
		"delivery.timeout.ms":                   producer,
		"max.in.flight":                         producer,
		"max.in.flight.requests.per.connection": producer,
		"retries":                               producer,
		"message.send.max.retries":              producer,
		"transactional.id":                      "the runtime writes without transactions",
		"batch.size":                            "it follows from the size limits of lanes and dead-letter topics",
		"message.max.bytes":                     "it follows from the size limits of lanes and dead-letter topics",
		"partitioner":                           "a copy's partition follows from its origin's",
	}
}

// ownedKeys returns an error for every key that the runtime owns.
func ownedKeys(config map[string]string) []error {
	var errs []error
	reasons := ownedReasons()
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if reason, owned := reasons[key]; owned {
			errs = append(errs, fmt.Errorf("kafka %s: cannot be set: %s", key, reason))
		} else if strings.HasPrefix(key, "go.") {
			errs = append(errs, fmt.Errorf("kafka %s: cannot be set: it changes how events reach the runtime", key))
		}
	}
	return errs
}

// maxPollInterval is the client's max.poll.interval.ms.
func (c *Config) maxPollInterval() time.Duration {
	ms, err := strconv.Atoi(c.Kafka["max.poll.interval.ms"])
	if err != nil {
		return maxPollIntervalDefault
	}
	return time.Duration(ms) * time.Millisecond
}

// common are the keys every client of the runtime shares.
func (c *Config) common(without func(key string) bool) client.Config {
	shared := client.Config{"bootstrap.servers": c.Brokers}
	for key, value := range c.Kafka {
		if !without(key) {
			shared[key] = value
		}
	}
	return shared
}

// sourceClient configures the i-th source client.
func (c *Config) sourceClient(i int) client.Config {
	config := client.Config{
		"auto.offset.reset": "earliest", // the library's default skips what a new group has not seen
		// How long the fetcher rests when its queue is full. The library's
		// second lets the poll loop run dry and costs a third of the rate.
		"fetch.queue.backoff.ms": "10",
		// What the library prefetches, outside Go's heap: its default of 64
		// MiB a client is more than the runtime's own buffers.
		"queued.max.messages.kbytes": "32768",
	}
	c.groupKeys(config)
	maps.Copy(config, c.common(producerOnly))
	c.ownedConsumer(config)
	if id := c.Kafka["group.instance.id"]; id != "" && i > 0 {
		config["group.instance.id"] = fmt.Sprintf("%s-%d", id, i+1)
	}
	return config
}

// laneClient configures the client that reads lanes and replay lanes.
func (c *Config) laneClient() client.Config {
	config := client.Config{}
	c.groupKeys(config)
	maps.Copy(config, c.common(producerOnly))
	c.ownedConsumer(config)
	// Whatever the user set for the sources: a lane's first record counts, an
	// aborted replay does not, and waiting records are not to be prefetched
	// by the tens of megabytes.
	maps.Copy(config, client.Config{
		"auto.offset.reset":          "earliest",
		"isolation.level":            "read_committed",
		"fetch.message.max.bytes":    "65536",
		"queued.min.messages":        "1000",
		"queued.max.messages.kbytes": "16384",
		"fetch.queue.backoff.ms":     "50",
	})
	if id := c.Kafka["group.instance.id"]; id != "" {
		config["group.instance.id"] = id + "-lanes"
	}
	return config
}

func (c *Config) groupKeys(config client.Config) {
	if c.Kafka["group.protocol"] != "consumer" {
		config["partition.assignment.strategy"] = "cooperative-sticky"
	}
}

func (c *Config) ownedConsumer(config client.Config) {
	maps.Copy(config, client.Config{
		"group.id":                 c.Group,
		"enable.auto.commit":       "false",
		"enable.auto.offset.store": "false",
		"check.crcs":               "true",
	})
}

// maxMessageBytes is far above what a broker takes, so that the topic's limit
// decides and not the client's.
const maxMessageBytes = 128 << 20

// producer configures the producer of lanes and dead letters. limit is the
// smallest max.message.bytes of its topics, zero when not known.
func (c *Config) producer(limit int) client.Config {
	config := client.Config{"linger.ms": "5"}
	maps.Copy(config, c.common(consumerOnly))
	batch := 1_000_000 // the library's default
	if limit > 0 {
		// The broker's limit is on the batch, and a batch over it is refused
		// whole, however small its records.
		batch = max(1, min(batch, limit-1<<10))
	}
	maps.Copy(config, client.Config{
		"enable.idempotence": "true",
		"acks":               "all",
		"message.timeout.ms": "0",
		// How long the library waits in silence for a topic that it does not
		// find; its default is 30 s.
		"topic.metadata.propagation.max.ms": "5000",
		"batch.size":                        strconv.Itoa(batch),
		"message.max.bytes":                 strconv.Itoa(maxMessageBytes),
		// A frozen leader keeps what is in flight to it for this long; the
		// library's minute is an outage.
		"socket.timeout.ms": "10000",
	})
	return config
}

// admin configures the client that asks about topics.
func (c *Config) admin() client.Config {
	return c.common(func(key string) bool { return consumerOnly(key) || producerOnly(key) })
}

// consumerOnly reports a key that means nothing to a producer.
func consumerOnly(key string) bool {
	switch key {
	case "auto.offset.reset", "isolation.level", "max.poll.interval.ms", "session.timeout.ms",
		"heartbeat.interval.ms", "partition.assignment.strategy", "coordinator.query.interval.ms",
		"exclude.internal.topics", "topic.blacklist", "client.rack", "allow.auto.create.topics",
		"consume.callback.max.messages", "offset.store.method":
		return true
	}
	return strings.HasPrefix(key, "group.") || strings.HasPrefix(key, "fetch.") ||
		strings.HasPrefix(key, "queued.") || key == "max.partition.fetch.bytes"
}

// producerOnly reports a key that means nothing to a consumer.
func producerOnly(key string) bool {
	switch key {
	case "linger.ms", "compression.codec", "compression.type", "compression.level",
		"batch.num.messages", "request.timeout.ms", "retry.backoff.max.ms", "sticky.partitioning.linger.ms",
		"delivery.report.only.error", "transaction.timeout.ms", "enable.gapless.guarantee":
		return true
	}
	return strings.HasPrefix(key, "queue.buffering.")
}
