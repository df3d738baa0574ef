package dlq

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

const (
	// DefaultBatch is how many records one transaction holds: enough that
	// its round trips do not count, few enough that a reader waits little.
	DefaultBatch = 200
	// MaxBatch keeps the ledger entry of a transaction well under a
	// megabyte even if no two records are neighbours.
	MaxBatch = 10_000
	// runNameBytes bounds the id of a ledger entry, <run>.<transaction>.
	runNameBytes = 40
)

// ReplayOptions says how to carry out a plan.
type ReplayOptions struct {
	// By and Reason stand in the ledger: who decided, and why.
	By     string
	Reason string
	// Rate bounds the records sent per second. Zero: as fast as it goes.
	Rate float64
	// Batch is how many records one transaction holds at most. Zero:
	// [DefaultBatch].
	Batch int
	// Takeover stops a run that works on the DLQ. Without it a live run is a
	// [LeaseError].
	Takeover bool
	// Progress is told after each transaction. Nil: not.
	Progress func(RunProgress)
}

// Validate reports every mistake at once.
func (o *ReplayOptions) Validate() error {
	var problems []error
	if o.Rate < 0 {
		problems = append(problems, fmt.Errorf("rate %v is negative", o.Rate))
	}
	if o.Batch < 0 || o.Batch > MaxBatch {
		problems = append(problems, fmt.Errorf("batch %d: want 1 to %d, or 0 for %d", o.Batch, MaxBatch, DefaultBatch))
	}
	return errors.Join(problems...)
}

// RunProgress tells how far a run is. Everything in it is committed.
type RunProgress struct {
	Planned int64
	Sent    int64
	Settled int64 // duplicates settled with what was sent
	Skipped int64
}

// RunResult tells what a run did: Planned = Sent + Skips.Total() + Left.
type RunResult struct {
	Run     string
	Planned int64
	// Sent is how many records were appended, each in a committed
	// transaction; Settled how many of their duplicates were settled.
	Sent    int64
	Settled int64
	// Skips holds what the plan did not foresee: decided meanwhile, expired.
	Skips Skips
	// Left is how many records the run did not come to. The same replay,
	// started again, sends them.
	Left int64
	// Interrupted: the context ended. What was open was finished.
	Interrupted bool
}

// Replay carries out a plan: it appends each of its records to its target
// exactly once, for readers that read only what is committed, and notes it in
// the ledger in the same transaction.
//
// One run at a time works on a DLQ. A run fences whatever wrote before it,
// reads the ledger and only then starts to write, so that a run that crashed,
// or hangs, cannot send anything after another has taken over. Run again after
// a crash: what was sent is skipped.
//
// When ctx ends, the open transaction is finished and the rest is left; that is
// no error. With any other error the result still tells what was committed.
// Errors: [*StalePlanError], [*LeaseError], [ErrFenced], or the cluster's.
func (c *Cluster) Replay(ctx context.Context, plan *Plan, options ReplayOptions) (RunResult, error) {
	if err := options.Validate(); err != nil {
		return RunResult{}, fmt.Errorf("replay %s: %w", plan.DLQ, err)
	}
	if options.Batch == 0 {
		options.Batch = DefaultBatch
	}
	name, err := newRunName(c.config.Now())
	if err != nil {
		return RunResult{}, fmt.Errorf("replay %s: %w", plan.DLQ, err)
	}
	r := newRun(c, plan, options, name)
	if len(plan.Items) == 0 {
		return r.result, nil
	}
	err = r.run(ctx)
	r.result.Left = r.result.Planned - r.result.Sent - r.result.Skips.Total()
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Cause(ctx))) {
		r.result.Interrupted, err = true, nil
	}
	if err != nil {
		return r.result, fmt.Errorf("replay %s, run %s: %w", plan.DLQ, name, err)
	}
	return r.result, nil
}

// newRunName returns a name that sorts by time and that no other run has.
func newRunName(now time.Time) (string, error) {
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("run name: %w", err)
	}
	return now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(random[:]), nil
}
