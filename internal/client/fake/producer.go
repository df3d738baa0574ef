package fake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// maxTopicName is the limit of Kafka.
const maxTopicName = 249

// Producer is a [client.Producer] of a [Cluster].
type Producer struct {
	cluster *Cluster
	name    string
	rng     *rand.Rand
	config  client.ProducerConfig
	wake    chan struct{} // capacity 1
	done    chan struct{} // closed when the goroutine that reports ends

	// From the configuration.
	maxMessage int
	maxQueue   int
	maxBatch   int
	linger     time.Duration
	patience   time.Duration // with topics that do not exist

	// All below: guarded by the cluster's lock.
	waiting     map[client.TopicPartition][]pending
	flying      map[client.TopicPartition]*batch
	known       map[string]bool // topics that were written to
	outstanding int
	flushing    int
	settled     chan struct{} // closed and replaced after each call of OnReports
	troubles    []client.Error
	fatal       *client.Error
	closed      bool
	transactor  *Transactor // nil outside transactions
}

type pending struct {
	message client.Message
	tag     any
	since   time.Time
	in      *transaction
}

// Producer makes a producer. It reads these keys and ignores all others:
// message.max.bytes, queue.buffering.max.messages, batch.size, linger.ms,
// topic.metadata.propagation.max.ms. It has one goroutine, which Close ends.
func (c *Cluster) Producer(config client.ProducerConfig) (client.Producer, error) {
	return c.newProducer(config), nil
}

func (c *Cluster) newProducer(config client.ProducerConfig) *Producer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients++
	name := fmt.Sprintf("producer-%s-%d", config.Config["client.id"], c.clients)
	p := &Producer{
		cluster:    c,
		name:       name,
		rng:        c.stream(name),
		config:     config,
		wake:       make(chan struct{}, 1),
		done:       make(chan struct{}),
		maxMessage: number(config.Config, "message.max.bytes", 1_000_000),
		maxQueue:   number(config.Config, "queue.buffering.max.messages", 100_000),
		maxBatch:   number(config.Config, "batch.size", 1_000_000),
		linger:     millis(config.Config, "linger.ms", 5),
		patience:   millis(config.Config, "topic.metadata.propagation.max.ms", 30_000),
		waiting:    make(map[client.TopicPartition][]pending),
		flying:     make(map[client.TopicPartition]*batch),
		known:      make(map[string]bool),
		settled:    make(chan struct{}),
	}
	c.producers = append(c.producers, p)
	go p.run()
	return p
}

// Produce queues a message.
func (p *Producer) Produce(m *client.Message, tag any) error {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	if err := p.refuse(m); err != nil {
		return err
	}
	var in *transaction
	if p.transactor != nil {
		// A fenced one learns of it by the report.
		if in = p.transactor.current; in == nil && !p.transactor.fenced {
			return fail(client.State, "produce outside a transaction")
		}
	}
	message := *m
	message.Headers = cloneHeaders(m.Headers)
	at := client.TopicPartition{Topic: m.Topic, Partition: m.Partition}
	p.waiting[at] = append(p.waiting[at], pending{message: message, tag: tag, since: time.Now(), in: in})
	p.outstanding++
	signal(p.wake)
	return nil
}

func (p *Producer) refuse(m *client.Message) error {
	switch {
	case p.closed:
		return fail(client.State, "produce after close")
	case p.fatal != nil:
		return &client.Error{Code: p.fatal.Code, Text: p.fatal.Text, Fatal: true}
	}
	if err := misplaced(m); err != nil {
		return err
	}
	switch {
	case size(m) > p.maxMessage:
		return fail(client.MsgSizeTooLarge, "message of %d bytes, message.max.bytes is %d", size(m), p.maxMessage)
	case p.outstanding >= p.maxQueue:
		return fail(client.QueueFull, "%d messages are outstanding", p.outstanding)
	}
	for i := range m.Headers {
		if strings.IndexByte(m.Headers[i].Key, 0) >= 0 {
			return fail(client.InvalidArg, "header %d has NUL in its name", i)
		}
	}
	if t := p.cluster.topics[m.Topic]; t != nil && p.known[m.Topic] && int(m.Partition) >= len(t.partitions) {
		return fail(client.UnknownPartition, "%s has no partition %d", m.Topic, m.Partition)
	}
	return nil
}

// misplaced tells of a message that no topic could take.
func misplaced(m *client.Message) error {
	switch {
	case m.Topic == "" || len(m.Topic) > maxTopicName || strings.IndexByte(m.Topic, 0) >= 0:
		return fail(client.InvalidArg, "topic name of %d bytes", len(m.Topic))
	case m.Partition < 0:
		return fail(client.InvalidArg, "produce to %s: no partition given", m.Topic)
	case m.Timestamp < 0:
		return fail(client.InvalidArg, "produce to %s: timestamp %d before 1970", m.Topic, m.Timestamp)
	}
	return nil
}

// Outstanding returns how many messages wait for their report.
func (p *Producer) Outstanding() int {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	return p.outstanding
}

// Flush sends without lingering and waits.
func (p *Producer) Flush(ctx context.Context) error {
	p.flush(1)
	defer p.flush(-1)
	for {
		left, settled := p.left()
		if left == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("flush with %d messages outstanding: %w", left, context.Cause(ctx))
		}
		select {
		case <-settled:
		case <-ctx.Done():
		}
	}
}

func (p *Producer) flush(n int) {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	p.flushing += n
	signal(p.wake)
}

func (p *Producer) left() (outstanding int, settled <-chan struct{}) {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	return p.outstanding, p.settled
}

// Close gives up what is outstanding, reports it and ends the goroutine. An
// open transaction stays open, and in the way of readers, until its time is up
// or another producer takes its id.
func (p *Producer) Close() error {
	p.cluster.mu.Lock()
	p.closed = true
	p.cluster.producers = slices.DeleteFunc(p.cluster.producers, func(other *Producer) bool { return other == p })
	signal(p.wake)
	p.cluster.mu.Unlock()
	<-p.done
	return nil
}

// Fail tells OnError of this error. After a fatal one nothing can be produced
// and what is outstanding is reported with it.
func (p *Producer) Fail(err client.Error) {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	p.fail(err)
}

func (p *Producer) fail(err client.Error) {
	if err.Fatal && p.fatal == nil {
		p.fatal = &err
	}
	p.troubles = append(p.troubles, err)
	signal(p.wake)
}
