package main

import (
	"log/slog"
	"time"

	"github.com/holdfast-kafka/holdfast/breaker"
	"github.com/holdfast-kafka/holdfast/consumer"
	"github.com/holdfast-kafka/holdfast/retry"
)

// concurrency is how many payments are handled at once.
const concurrency = 16

// newBreaker returns the breaker in front of the gateway. Its times are short
// so that the story is; the defaults are for production.
func newBreaker() (*breaker.Breaker, error) {
	return breaker.New("gateway", breaker.Config{
		OpenFor:    300 * time.Millisecond,
		MaxOpenFor: time.Second,
		IsFailure:  speaksAgainstGateway,
	})
}

// policy waits 200 ms after the first failed attempt, then 1 s, then 3 s, each
// in a lane of its own. After the fourth attempt a payment is a dead letter.
func policy() retry.Policy {
	return retry.Policy{
		MaxAttempts: 4,
		Lanes:       retry.Lanes{200 * time.Millisecond, time.Second, 3 * time.Second},
	}
}

// newConsumer puts the payment processor together.
func newConsumer(brokers, topic, group string, p *processor, log *slog.Logger) (*consumer.Consumer, error) {
	return consumer.New(consumer.Config{
		Brokers: brokers,
		Group:   group,
		Routes: []consumer.Route{{
			Topics:   []string{topic},
			Handler:  p.handler(),
			Ordering: consumer.ByKey, // a payment and its cancellation have the same key
			Timeout:  time.Second,
			Breakers: []*breaker.Breaker{p.gateway},
		}},
		Retry:          policy(),
		Concurrency:    concurrency,
		CommitInterval: 200 * time.Millisecond,
		Provision:      consumer.Create,
		Kafka: map[string]string{ // so that the group forms, and notices a death, quickly
			"session.timeout.ms":    "6000",
			"heartbeat.interval.ms": "500",
		},
		Logger: log,
	})
}
