package dlq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// transactionTries is how often a transaction is written that the cluster
// aborted, for instance because a leader moved.
const transactionTries = 3

// transaction writes sets of messages, each in one transaction.
type transaction struct {
	client client.Transactor
	// settled is signalled when the last report of a transaction is in, or
	// the first refusal.
	settled chan struct{} // capacity 1: a second signal says nothing new

	mu sync.Mutex
	// Guarded by mu: the number of the transaction, how many of its messages
	// have no report yet, and the most telling refusal.
	number  int
	waiting int
	failed  error
}

func openTransaction(c *Cluster, ledger, id string, batchBytes int) (*transaction, error) {
	t := &transaction{settled: make(chan struct{}, 1)}
	var err error
	t.client, err = c.config.Library.Transactor(client.ProducerConfig{
		Config: c.config.client(client.Config{
			"transactional.id":       id,
			"transaction.timeout.ms": strconv.FormatInt(transactionTimeout.Milliseconds(), 10),
			"batch.size":             strconv.Itoa(batchBytes),
			"linger.ms":              "1",
			// The limit that counts is the target's.
			"message.max.bytes": "1000000000",
			// A frozen leader holds up acknowledgements for a minute.
			"socket.timeout.ms": "10000",
		}),
		OnReports: t.report,
	})
	if err != nil {
		return nil, fmt.Errorf("writer for %s: %w", ledger, err)
	}
	return t, nil
}

// report runs on a goroutine of the client. Reports of a transaction that was
// given up can come late.
func (t *transaction) report(reports []client.Report) {
	t.mu.Lock()
	last := false
	for _, r := range reports {
		if r.Tag != t.number {
			continue
		}
		t.waiting--
		last = last || t.waiting == 0
		if r.Err != nil {
			// The client sends nothing more in a transaction that failed,
			// so there is nothing more to wait for.
			last = true
			if t.failed == nil || purged(t.failed) {
				t.failed = r.Err
			}
		}
	}
	t.mu.Unlock()
	if last {
		select {
		case t.settled <- struct{}{}:
		default:
		}
	}
}

// purged reports whether a message was refused only because the transaction
// had failed: another message tells why.
func purged(err error) bool {
	code := client.CodeOf(err)
	return code == client.PurgeQueue || code == client.PurgeInflight
}

// refusal returns the most telling refusal that was reported.
func (t *transaction) refusal() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// expect begins to wait for the reports of the next transaction and returns
// its number.
func (t *transaction) expect(messages int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.settled: // of a transaction that nobody waited for
	default:
	}
	t.number++
	t.waiting, t.failed = messages, nil
	return t.number
}

// await waits for all reports or the first refusal, and returns it. It does not
// use the client's Flush, which returns up to 100 ms late.
func (t *transaction) await(ctx context.Context) error {
	select {
	case <-t.settled:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return t.refusal()
}

func (t *transaction) init(ctx context.Context) error { return fenced(t.client.Init(ctx)) }

// write appends all messages or none. With an error nothing was appended for a
// reader of committed records, but for the end of the context during the
// commit: then it is not known, and the ledger tells.
func (t *transaction) write(ctx context.Context, messages []client.Message) error {
	for try := 1; ; try++ {
		err := t.try(ctx, messages)
		if err == nil {
			return nil
		}
		undone, err := t.abort(ctx, err)
		if !undone || !abortable(err) || try == transactionTries {
			return err
		}
	}
}

// try is one transaction.
func (t *transaction) try(ctx context.Context, messages []client.Message) error {
	if err := t.client.Begin(); err != nil {
		return err
	}
	number := t.expect(len(messages))
	for i := range messages {
		if err := t.client.Produce(&messages[i], number); err != nil {
			return fmt.Errorf("write to %s/%d: %w", messages[i].Topic, messages[i].Partition, err)
		}
	}
	if err := t.await(ctx); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return t.client.CommitTransaction(ctx)
}

// abort undoes a transaction that failed with cause, and returns the reason:
// the fence, where that is behind it. It is not undone where the client is of
// no more use, or a commit is not over and only the same call may follow.
func (t *transaction) abort(ctx context.Context, cause error) (undone bool, reason error) {
	if client.IsFatal(cause) || unfinished(cause) {
		return false, fenced(cause)
	}
	if err := t.client.AbortTransaction(ctx); err != nil {
		return false, errors.Join(cause, fenced(err))
	}
	if told := t.refusal(); purged(cause) && told != nil {
		cause = fmt.Errorf("write: %w", told) // reported while it was undone
	}
	return true, cause
}

func unfinished(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Retry
}

// abortable reports whether the same messages can be written again in a new
// transaction. The client also purges, now and then, the first message to a
// partition that an earlier transaction failed on.
func abortable(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && (e.Abort || purged(e))
}

// fenced turns the client's word for it into [ErrFenced].
func fenced(err error) error {
	switch client.CodeOf(err) {
	case client.Fenced, client.InvalidProducerEpoch, producerFenced:
		return errors.Join(ErrFenced, err)
	default:
		return err
	}
}

// producerFenced is the broker's own code for it (PRODUCER_FENCED).
const producerFenced client.Code = 90

func (t *transaction) close() error { return t.client.Close() }
