//go:build cgo

package confluent

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// maxTopicName is the limit of Kafka. Names can come from a record's headers.
const maxTopicName = 249

// flushStep bounds one call into the library, which no context can interrupt.
const flushStep = 100 * time.Millisecond

// producer is a [client.Producer] on librdkafka.
type producer struct {
	kafka       *kafka.Producer
	config      client.ProducerConfig
	logs        *logDrain
	gate        gate
	outstanding atomic.Int64
	settled     chan struct{} // capacity 1: reports were delivered since it was last read
	drained     chan struct{} // closed when the goroutine that drains events ends
}

// Producer makes an idempotent producer. It connects in the background.
func (l Library) Producer(config client.ProducerConfig) (client.Producer, error) {
	p, err := l.newProducer(config)
	if err != nil {
		return nil, fmt.Errorf("new producer: %w", err)
	}
	return p, nil
}

func (l Library) newProducer(config client.ProducerConfig) (*producer, error) {
	logs := newLogDrain(l.logger())
	owned := logs.config()
	owned["go.delivery.report.fields"] = "none"
	// The channel of events is drained at once, and nothing is ever sent on
	// the other; the binding's own million slots each are 24 MB.
	owned["go.events.channel.size"] = 4 * maxReports
	owned["go.produce.channel.size"] = 1
	conf, err := configMap(config.Config, kafka.ConfigMap{"enable.idempotence": "true"}, owned)
	if err != nil {
		return nil, err
	}
	inner, err := kafka.NewProducer(conf)
	if err != nil {
		return nil, errorOf(err)
	}
	p := &producer{
		kafka:   inner,
		config:  config,
		logs:    logs,
		settled: make(chan struct{}, 1),
		drained: make(chan struct{}),
	}
	logs.start()
	go p.drain()
	return p, nil
}

func (p *producer) Produce(m *client.Message, tag any) error {
	if err := checkMessage(m); err != nil {
		return err
	}
	if !p.gate.enter() {
		return wrongState("produce after close")
	}
	defer p.gate.leave()
	topic := m.Topic
	out := kafka.Message{
		TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: m.Partition},
		Key:            m.Key,
		Value:          m.Value,
		Headers:        headersOut(m.Headers),
		Opaque:         tag,
	}
	if m.Timestamp != 0 {
		out.Timestamp = time.UnixMilli(m.Timestamp)
	}
	p.outstanding.Add(1)
	if err := p.enqueue(&out); err != nil {
		p.settle(1)
		return p.refusal(err)
	}
	return nil
}

// enqueue survives the binding's panic: it has no other way to say that the
// library refuses a topic, be it for its name or for settings that contradict
// each other and are only looked at then, as linger.ms and message.timeout.ms.
func (p *producer) enqueue(m *kafka.Message) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			text, ok := cause.(string)
			if !ok {
				panic(cause)
			}
			err = invalid(text)
		}
	}()
	return p.kafka.Produce(m, nil) //nolint:wrapcheck // refusal translates it
}

// refusal looks behind the bare "fatal" of a producer that has failed, for the
// error that made it so.
func (p *producer) refusal(err error) error {
	out := errorOf(err)
	if client.CodeOf(out) == client.FatalError {
		if cause := p.kafka.GetFatalError(); cause != nil {
			return errorOf(cause)
		}
	}
	return out
}

func checkMessage(m *client.Message) *client.Error {
	switch {
	case m.Topic == "" || len(m.Topic) > maxTopicName || strings.IndexByte(m.Topic, 0) >= 0:
		return invalid(fmt.Sprintf("topic name of %d bytes: want 1 to %d without NUL", len(m.Topic), maxTopicName))
	case m.Partition < 0:
		return invalid(fmt.Sprintf("produce to %s: no partition given", m.Topic))
	case m.Timestamp < 0:
		return invalid(fmt.Sprintf("produce to %s/%d: timestamp %d before 1970", m.Topic, m.Partition, m.Timestamp))
	}
	for i := range m.Headers {
		// The library takes a header's name as a C string.
		if strings.IndexByte(m.Headers[i].Key, 0) >= 0 {
			return invalid(fmt.Sprintf("produce to %s/%d: header %d has NUL in its name", m.Topic, m.Partition, i))
		}
	}
	return nil
}

func (p *producer) Outstanding() int { return int(p.outstanding.Load()) }

func (p *producer) Flush(ctx context.Context) error {
	for p.Outstanding() > 0 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("flush with %d messages outstanding: %w", p.Outstanding(), context.Cause(ctx))
		}
		if !p.gate.enter() {
			return wrongState("flush after close")
		}
		left := p.kafka.Flush(milliseconds(flushStep))
		p.gate.leave()
		if left == 0 {
			p.awaitReports(ctx)
		}
	}
	return nil
}

// awaitReports waits for the draining goroutine to hand over what the library
// has already let go of.
func (p *producer) awaitReports(ctx context.Context) {
	timer := time.NewTimer(flushStep)
	defer timer.Stop()
	select {
	case <-p.settled:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (p *producer) Close() error {
	if !p.gate.shut() {
		return nil
	}
	err := errorOf(p.kafka.Purge(kafka.PurgeQueue | kafka.PurgeInFlight))
	for p.Outstanding() > 0 {
		if p.kafka.Flush(milliseconds(flushStep)) == 0 {
			p.awaitReports(context.Background())
		}
	}
	p.kafka.Close()
	<-p.drained
	p.logs.stop()
	return err
}
