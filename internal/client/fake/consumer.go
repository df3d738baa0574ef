package fake

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// Consumer is a [client.Consumer] of a [Cluster]. Its other exported methods
// are part of the script and safe for concurrent use.
type Consumer struct {
	cluster *Cluster
	name    string
	groupID string
	rng     *rand.Rand
	wake    chan struct{} // capacity 1

	// From the configuration.
	eager     bool
	keepStore bool // enable.auto.offset.store is off, so Store may be used
	reset     string
	isolation client.Isolation
	limit     prefetchLimit
	maxPoll   time.Duration
	interval  time.Duration // of statistics; 0: none
	blacklist []*regexp.Regexp

	// All below: guarded by the cluster's lock.
	subscription []string
	callback     func(client.Rebalance)
	group        *group // nil without a subscription
	member       bool
	claims       map[client.TopicPartition]*claim
	known        map[client.TopicPartition]bool // ever assigned
	paused       map[client.TopicPartition]bool // outlives the claim
	queue        []client.Message
	queueBytes   int
	ops          []op
	lost         bool // the group went on without us and the callback has not run
	serving      bool // a callback is running
	answered     bool // and has assigned or unassigned
	busy         bool // the owner is inside a call
	leaving      bool // Close has begun its callback
	closed       bool
	fatal        bool
	commits      int // outstanding
	watch        pollWatch
	nextStats    time.Time
	fetched      int64
	delivered    int64
}

// claim is one assigned partition.
type claim struct {
	start     int64 // as assigned; may be logical
	resolved  bool
	app       int64 // after the last record handed over
	next      int64 // to fetch
	from      time.Time
	stored    client.Offset
	committed int64
	low, high int64 // as last seen
}

// op is what a poll serves before any record.
type op struct {
	failure   *client.Error
	rebalance *client.Rebalance
	lost      bool // a rebalance of all that is assigned when it is served
}

func rebalanceOp(kind client.RebalanceKind, parts []client.TopicPartition) op {
	return op{rebalance: &client.Rebalance{Kind: kind, Partitions: slices.Clone(parts)}}
}

// Consumer makes a consumer. It reads these keys and ignores all others:
// group.id, client.id, partition.assignment.strategy, group.protocol,
// auto.offset.reset, isolation.level, enable.auto.offset.store,
// queued.min.messages, queued.max.messages.kbytes, max.poll.interval.ms,
// statistics.interval.ms, topic.blacklist.
func (c *Cluster) Consumer(config client.Config) (client.Consumer, error) {
	group := config["group.id"]
	if group == "" {
		return nil, fmt.Errorf("new consumer: %w", fail(client.InvalidArg, "group.id is not set"))
	}
	blacklist, err := patterns(config["topic.blacklist"])
	if err != nil {
		return nil, fmt.Errorf("new consumer: topic.blacklist: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients++
	name := fmt.Sprintf("%s-%s-%d", group, config["client.id"], c.clients)
	m := &Consumer{
		cluster:   c,
		name:      name,
		groupID:   group,
		rng:       c.stream(name),
		wake:      make(chan struct{}, 1),
		eager:     eager(config),
		keepStore: config["enable.auto.offset.store"] == "false",
		reset:     config["auto.offset.reset"],
		limit:     limitOf(config),
		maxPoll:   millis(config, "max.poll.interval.ms", 300_000),
		interval:  millis(config, "statistics.interval.ms", 0),
		blacklist: blacklist,
		claims:    make(map[client.TopicPartition]*claim),
		known:     make(map[client.TopicPartition]bool),
		paused:    make(map[client.TopicPartition]bool),
	}
	if config["isolation.level"] == "read_uncommitted" {
		m.isolation = client.ReadUncommitted
	}
	m.nextStats = time.Now().Add(m.interval)
	c.consumers = append(c.consumers, m)
	return m, nil
}

// eager tells the protocol from the configuration: the library's default
// strategies are eager ones.
func eager(config client.Config) bool {
	return config["group.protocol"] != "consumer" &&
		!strings.Contains(config["partition.assignment.strategy"], "cooperative")
}

func millis(config client.Config, key string, fallback int) time.Duration {
	return time.Duration(number(config, key, fallback)) * time.Millisecond
}

func number(config client.Config, key string, fallback int) int {
	n, err := strconv.Atoi(config[key])
	if err != nil {
		return fallback
	}
	return n
}

func patterns(list string) ([]*regexp.Regexp, error) {
	var out []*regexp.Regexp
	for text := range strings.SplitSeq(list, ",") {
		if text == "" {
			continue
		}
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("topic pattern: %w", err)
		}
		out = append(out, re)
	}
	return out, nil
}

func fail(code client.Code, format string, args ...any) *client.Error {
	return &client.Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// Subscribe joins the group. A topic that does not exist is a Failure of a
// later Poll and is picked up when it comes to exist.
func (m *Consumer) Subscribe(topics []string, onRebalance func(client.Rebalance)) error {
	defer m.enter("Subscribe")()
	if m.closed {
		return closedError()
	}
	for _, topic := range topics {
		if _, err := regexp.Compile(topic); strings.HasPrefix(topic, "^") && err != nil {
			return fail(client.InvalidArg, "subscribe to %s: %v", topic, err)
		}
		if !strings.HasPrefix(topic, "^") && m.cluster.topics[topic] == nil {
			m.push(op{failure: fail(client.UnknownTopicOrPartition, "subscribed topic %s does not exist", topic)})
		}
	}
	m.subscription, m.callback = slices.Clone(topics), onRebalance
	m.group = m.cluster.group(m.groupID)
	m.member = true
	m.group.join(m)
	return nil
}

// resolve lists the topics of the subscription that exist.
func (m *Consumer) resolve() []string {
	var out []string
	for name := range m.cluster.topics {
		if m.wants(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (m *Consumer) wants(topic string) bool {
	if slices.ContainsFunc(m.blacklist, func(re *regexp.Regexp) bool { return re.MatchString(topic) }) {
		return false
	}
	return slices.ContainsFunc(m.subscription, func(s string) bool {
		if !strings.HasPrefix(s, "^") {
			return s == topic
		}
		ok, err := regexp.MatchString(s, topic)
		return ok && err == nil
	})
}

// enter takes the lock for a call that only the owner may make and returns
// what ends the call.
func (m *Consumer) enter(call string) func() {
	m.cluster.mu.Lock()
	if m.busy {
		m.cluster.mu.Unlock()
		m.cluster.misusef("%s of consumer %s while another goroutine is inside a call", call, m.name)
		m.cluster.mu.Lock()
	}
	return m.cluster.mu.Unlock
}

func closedError() *client.Error { return fail(client.State, "consumer is closed") }

// push queues an op for the next poll. The lock is held.
func (m *Consumer) push(o op) {
	m.ops = append(m.ops, o)
	signal(m.wake)
}

// Name tells this consumer from others in messages.
func (m *Consumer) Name() string { return m.name }

// Group returns its group.id.
func (m *Consumer) Group() string { return m.groupID }

// Counts returns how many records were fetched and how many were handed over.
func (m *Consumer) Counts() (fetched, delivered int64) {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	return m.fetched, m.delivered
}

// Paused lists what is assigned and paused.
func (m *Consumer) Paused() []client.TopicPartition {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	var out []client.TopicPartition
	for part := range m.claims {
		if m.paused[part] {
			out = append(out, part)
		}
	}
	sortParts(out)
	return out
}

// Assignment lists what is assigned.
func (m *Consumer) Assignment() []client.TopicPartition {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	return m.assigned()
}

// Fail makes a later poll return this error, which names no partition.
func (m *Consumer) Fail(err client.Error) {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	m.push(op{failure: &err})
}

// Lose takes the member out of its group, as a session that timed out does:
// its partitions go to others at once, polls bring a Failure with this code
// and the callback with Lost, and then it joins again.
func (m *Consumer) Lose(code client.Code) {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	m.lose(code)
}

func (m *Consumer) lose(code client.Code) {
	if !m.member || m.closed {
		return
	}
	m.member, m.lost = false, true
	// A revocation that is waiting comes all the same, and says lost too.
	m.ops = append(slices.DeleteFunc(m.ops, func(o op) bool { return o.rebalance != nil && o.rebalance.Kind == client.Assigned }),
		op{failure: fail(code, "consumer %s is out of group %s", m.name, m.groupID)},
		op{rebalance: &client.Rebalance{Kind: client.Revoked}, lost: true})
	m.group.remove(m)
	signal(m.wake)
}
