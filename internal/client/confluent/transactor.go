//go:build cgo

package confluent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

const transactionalID = "transactional.id"

const (
	// resumeStep bounds one call into the library, which only a deadline
	// can end, so that a context that is cancelled is noticed.
	resumeStep = 500 * time.Millisecond
	// resumePause keeps a call that fails at once from spinning.
	resumePause = 20 * time.Millisecond
)

// transactor is a [client.Transactor] on librdkafka.
type transactor struct{ *producer }

// Transactor makes a transactional producer; the configuration must have a
// transactional.id. Init must come first.
func (l Library) Transactor(config client.ProducerConfig) (client.Transactor, error) {
	if config.Config[transactionalID] == "" {
		return nil, fmt.Errorf("new transactor: %w", invalid(transactionalID+" is not set"))
	}
	p, err := l.newProducer(config)
	if err != nil {
		return nil, fmt.Errorf("new transactor: %w", err)
	}
	return &transactor{producer: p}, nil
}

func (t *transactor) Init(ctx context.Context) error {
	return t.resume(ctx, "init transactions", t.kafka.InitTransactions)
}

func (t *transactor) Begin() error {
	if !t.gate.enter() {
		return wrongState("begin transaction after close")
	}
	defer t.gate.leave()
	if err := errorOf(t.kafka.BeginTransaction()); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	return nil
}

func (t *transactor) CommitTransaction(ctx context.Context) error {
	return t.resume(ctx, "commit transaction", t.kafka.CommitTransaction)
}

func (t *transactor) AbortTransaction(ctx context.Context) error {
	return t.resume(ctx, "abort transaction", t.kafka.AbortTransaction)
}

// resume makes a call again while the library says that the same call must be
// made again, until the context ends. The last error then says Retry: the call
// is not over and only the same one may follow.
func (t *transactor) resume(ctx context.Context, name string, call func(context.Context) error) error {
	var last error
	for {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", name, errors.Join(context.Cause(ctx), last))
		}
		last = t.step(ctx, call)
		if last == nil {
			return nil
		}
		e, ok := errors.AsType[*client.Error](last)
		if !ok || !e.Retry || e.Fatal || e.Abort {
			return fmt.Errorf("%s: %w", name, last)
		}
		wait(ctx, resumePause)
	}
}

func (t *transactor) step(ctx context.Context, call func(context.Context) error) error {
	if !t.gate.enter() {
		return wrongState("producer is closed")
	}
	defer t.gate.leave()
	ctx, cancel := context.WithTimeout(ctx, resumeStep)
	defer cancel()
	return errorOf(call(ctx))
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
