package dlq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

const (
	// transactionTimeout is how long a transaction of a run that died can
	// hold up the readers of its targets.
	transactionTimeout = 10 * time.Second
	// finishTimeout bounds what is still done after the context has ended.
	finishTimeout = transactionTimeout + 5*time.Second
	// settlePoll is how often the ledger is asked whether open transactions
	// in it have ended.
	settlePoll = 50 * time.Millisecond
)

// run carries out one plan. One goroutine owns it; another reads the records and
// hands them over, and touches only what does not change while it does.
type run struct {
	cluster  *Cluster
	plan     *Plan
	options  ReplayOptions
	name     string
	dlq      client.TopicInfo
	ledger   client.TopicInfo // the ledger's topic
	decided  *Ledger          // its content after every earlier run was fenced
	tx       *transaction
	limiter  *rate.Limiter
	beaten   time.Time // the last lease that was committed
	sequence int       // transactions with records so far
	result   RunResult
}

func newRun(c *Cluster, plan *Plan, options ReplayOptions, name string) *run {
	r := &run{
		cluster: c, plan: plan, options: options, name: name,
		limiter: rate.NewLimiter(rate.Inf, 0),
		result:  RunResult{Run: name, Planned: int64(len(plan.Items)), Skips: Skips{}},
	}
	if options.Rate > 0 {
		// At most a second's worth at once, so that a batch is no burst.
		r.options.Batch = min(options.Batch, max(1, int(options.Rate)))
		r.limiter = rate.NewLimiter(rate.Limit(options.Rate), r.options.Batch)
	}
	return r
}

// run takes the DLQ over, sends and lets go.
func (r *run) run(ctx context.Context) (err error) {
	if err := r.check(ctx); err != nil {
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close(ctx, err)) }()
	if err := r.acquire(ctx); err != nil {
		return err
	}
	return r.send(ctx)
}

// check compares the plan with the cluster and refuses a DLQ that another run
// works on.
func (r *run) check(ctx context.Context) error {
	id, err := r.cluster.ID(ctx)
	if err != nil {
		return err
	}
	if id != r.plan.Cluster {
		return &StalePlanError{DLQ: r.plan.DLQ, Reason: fmt.Sprintf("it was made on cluster %s, this is %s", r.plan.Cluster, id)}
	}
	if r.dlq, err = r.cluster.topic(ctx, r.plan.DLQ); err != nil {
		return err
	}
	if r.dlq.ID != r.plan.TopicID {
		return &StalePlanError{DLQ: r.plan.DLQ, Reason: "the topic was deleted and made again"}
	}
	before, err := r.cluster.readLedger(ctx, r.dlq)
	if err != nil {
		return err
	}
	if before.lease.live(r.cluster.config.Now()) && !r.options.Takeover {
		return before.lease.refusal(r.plan.DLQ)
	}
	r.ledger, err = r.cluster.ensureLedger(ctx, r.dlq)
	return err
}

// acquire fences every earlier run, and then reads what they have done: after
// the fence nothing can be added to it behind our back.
func (r *run) acquire(ctx context.Context) error {
	if err := r.tx.init(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return fmt.Errorf("wait for open transactions in %s: %w", r.ledger.Topic, err)
	}
	var err error
	if r.decided, err = r.cluster.readLedger(ctx, r.dlq); err != nil {
		return err
	}
	if r.decided.Unreadable > 0 {
		return fmt.Errorf("ledger of %s: %d entries cannot be read: %w", r.plan.DLQ, r.decided.Unreadable, r.decided.problem)
	}
	return r.beat(ctx)
}

// settle waits until everything that was in the ledger when it was called is
// either committed or aborted.
func (r *run) settle(ctx context.Context) error {
	ends, err := r.cluster.offsets(ctx, r.ledger.Topic, r.ledger.Partitions, client.OffsetLatest, client.ReadUncommitted)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.cluster.config.RequestTimeout)
	defer cancel()
	for {
		stable, err := r.cluster.offsets(ctx, r.ledger.Topic, r.ledger.Partitions, client.OffsetLatest, client.ReadCommitted)
		if err != nil {
			return err
		}
		if reached(stable, ends) {
			return nil
		}
		if err := pause(ctx, settlePoll); err != nil {
			return err
		}
	}
}

func reached(stable, ends []int64) bool {
	for i := range ends {
		if stable[i] < ends[i] {
			return false
		}
	}
	return true
}

// pause waits, or returns why the context ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// beat says that the run lives. Once begun it is finished.
func (r *run) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	m, err := r.leaseMessage(false)
	if err != nil {
		return err
	}
	if err := r.tx.write(ctx, []client.Message{m}); err != nil {
		return err
	}
	r.beaten = time.Now()
	return nil
}

func (r *run) leaseMessage(over bool) (client.Message, error) {
	l := lease{Run: r.name, By: r.options.By, At: r.cluster.config.Now(), Over: over}
	return l.message(r.ledger.Topic, r.plan.TopicID)
}

func (r *run) beatDue() bool { return time.Since(r.beaten) >= leaseBeat }

// close gives the lease back, unless another run has it, and frees the client.
func (r *run) close(ctx context.Context, failed error) error {
	interrupted := ctx.Err() != nil && errors.Is(failed, context.Cause(ctx))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	var err error
	if r.decided != nil && (failed == nil || interrupted) {
		var m client.Message
		if m, err = r.leaseMessage(true); err == nil {
			err = r.tx.write(ctx, []client.Message{m})
		}
	}
	return errors.Join(err, r.tx.close())
}

// open makes the transactional producer.
func (r *run) open() error {
	tx, err := openTransaction(r.cluster, retry.LedgerTopic(r.plan.DLQ), transactionalID(r.plan.DLQ), r.batchBytes())
	if err != nil {
		return err
	}
	r.tx = tx
	return nil
}

// transactionalID is the same for all runs on a DLQ, so that a new one fences
// the one before it.
func transactionalID(dlq string) string { return "holdfast-dlqctl-" + dlq }

// batchBytes keeps the producer's batches within the smallest limit of the
// targets: a limit holds for the batch, and the client does not split one.
func (r *run) batchBytes() int {
	const largest, margin = 1_000_000, 1024
	size := largest
	for _, t := range r.plan.Targets {
		if t.MaxBytes > 0 {
			size = min(size, max(t.MaxBytes-margin, 1))
		}
	}
	return size
}
