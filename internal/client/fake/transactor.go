package fake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// Transactor is a [client.Transactor] of a [Cluster].
type Transactor struct {
	*Producer

	id      string
	timeout time.Duration

	// All below: guarded by the cluster's lock.
	ready   bool // Init was called
	fenced  bool
	current *transaction
	failed  *client.Error // why the open transaction cannot be committed
	timer   *time.Timer   // ends what its producer abandons
}

// Transactor makes a transactional producer. Besides the keys of
// [Cluster.Producer] it reads transactional.id and transaction.timeout.ms.
func (c *Cluster) Transactor(config client.ProducerConfig) (client.Transactor, error) {
	id := config.Config["transactional.id"]
	if id == "" {
		return nil, fmt.Errorf("new transactor: %w", fail(client.InvalidArg, "transactional.id is not set"))
	}
	t := &Transactor{
		Producer: c.newProducer(config),
		id:       id,
		timeout:  millis(config.Config, "transaction.timeout.ms", 60_000),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.transactor = t
	return t, nil
}

// Init fences older producers of the id and aborts what they left open.
func (t *Transactor) Init(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("init transactions: %w", context.Cause(ctx))
	}
	t.cluster.mu.Lock()
	defer t.cluster.mu.Unlock()
	if err := t.usable(); err != nil {
		return fmt.Errorf("init transactions: %w", err)
	}
	if older := t.cluster.ids[t.id]; older != nil && older != t {
		older.fenced = true
		older.finish(transactionAborted)
	}
	t.cluster.ids[t.id] = t
	t.ready = true
	return nil
}

// Begin opens a transaction.
func (t *Transactor) Begin() error {
	t.cluster.mu.Lock()
	defer t.cluster.mu.Unlock()
	if err := t.usable(); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	if !t.ready || t.current != nil {
		return fmt.Errorf("begin transaction: %w", fail(client.State, "not initialized, or open already"))
	}
	in := &transaction{touched: make(map[*partition]bool)}
	t.current, t.failed = in, nil
	t.timer = time.AfterFunc(t.timeout, func() { t.expire(in) })
	return nil
}

// expire is the coordinator's timeout: it aborts, and the producer is of no
// more use.
func (t *Transactor) expire(in *transaction) {
	t.cluster.mu.Lock()
	defer t.cluster.mu.Unlock()
	if t.current == in {
		t.fenced = true
		t.finish(transactionAborted)
	}
}

// CommitTransaction flushes and commits.
func (t *Transactor) CommitTransaction(ctx context.Context) error {
	if err := t.faulted(); err != nil {
		return fmt.Errorf("commit transaction: %w", err)
	}
	if err := t.Flush(ctx); err != nil {
		again := &client.Error{Code: client.TimedOut, Text: "not flushed", Retry: true}
		return fmt.Errorf("commit transaction: %w", errors.Join(err, again))
	}
	t.cluster.mu.Lock()
	defer t.cluster.mu.Unlock()
	if err := t.usable(); err != nil {
		return fmt.Errorf("commit transaction: %w", err)
	}
	if t.current == nil {
		return fmt.Errorf("commit transaction: %w", fail(client.State, "none is open"))
	}
	if t.failed != nil {
		return fmt.Errorf("commit transaction: %w", &client.Error{Code: t.failed.Code, Text: t.failed.Text, Abort: true})
	}
	t.finish(transactionCommitted)
	return nil
}

func (t *Transactor) faulted() error {
	t.cluster.mu.Lock()
	defer t.cluster.mu.Unlock()
	faults := &t.cluster.faults.transactions
	if len(*faults) == 0 {
		return nil
	}
	err := (*faults)[0]
	*faults = (*faults)[1:]
	return &err
}

// AbortTransaction purges what is queued and aborts.
func (t *Transactor) AbortTransaction(ctx context.Context) error {
	t.discard()
	if err := t.Flush(ctx); err != nil {
		again := &client.Error{Code: client.TimedOut, Text: "not purged", Retry: true}
		return fmt.Errorf("abort transaction: %w", errors.Join(err, again))
	}
	t.cluster.mu.Lock()
	defer t.cluster.mu.Unlock()
	if err := t.usable(); err != nil {
		return fmt.Errorf("abort transaction: %w", err)
	}
	if t.current == nil {
		return fmt.Errorf("abort transaction: %w", fail(client.State, "none is open"))
	}
	t.finish(transactionAborted)
	return nil
}

// discard turns what is outstanding into batches that fail at once.
func (t *Transactor) discard() {
	t.cluster.mu.Lock()
	defer t.cluster.mu.Unlock()
	for _, at := range sortedKeys(t.flying) {
		failed(t.flying[at].reports, fail(client.PurgeInflight, "given up"))
		t.flying[at].purged = true
	}
	for _, at := range sortedKeys(t.waiting) {
		b := t.flying[at]
		if b == nil {
			b = &batch{}
			t.flying[at] = b
		}
		b.purged = true
		b.reports = append(b.reports, failed(reportsOf(at, t.waiting[at]), fail(client.PurgeQueue, "given up"))...)
	}
	clear(t.waiting)
	signal(t.wake)
}

// usable tells what makes every call fail. The lock is held.
func (t *Transactor) usable() error {
	switch {
	case t.closed:
		return fail(client.State, "producer is closed")
	case t.fenced:
		return &client.Error{Code: client.Fenced, Text: "a newer producer has this transactional id, or the transaction timed out", Fatal: true}
	case t.fatal != nil:
		return &client.Error{Code: t.fatal.Code, Text: t.fatal.Text, Fatal: true}
	}
	return nil
}

// finish ends the open transaction, if there is one. The lock is held.
func (t *Transactor) finish(state transactionState) {
	if t.current == nil {
		return
	}
	t.timer.Stop()
	t.current.end(state)
	t.current = nil
	t.cluster.notify()
}
