package consumer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-kafka/holdfast/retry"
)

// attempt is the context of one call of a handler. It lives inside the
// record's own allocation and costs nothing more until somebody asks for its
// Done channel: only then is a real context made and a timer armed.
//
// A handler reads it from any goroutine; the runtime cancels it from its own.
type attempt struct {
	base     context.Context //nolint:containedctx // it is a context: this is its parent, for values
	deadline time.Time       // zero: none

	mu     sync.Mutex // guards what follows
	cause  error      // why it ended; nil while it has not
	inner  context.Context
	cancel context.CancelCauseFunc
	free   context.CancelFunc // of the deadline's timer
}

var _ context.Context = (*attempt)(nil)

// begin readies the context for a call. Not concurrent with anything.
func (a *attempt) begin(base context.Context, deadline time.Time) {
	a.base, a.deadline = base, deadline
	a.cause, a.inner, a.cancel, a.free = nil, nil, nil, nil
}

// end ends the context with a cause, the first one counts.
func (a *attempt) end(cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endLocked(cause)
}

func (a *attempt) endLocked(cause error) {
	if a.cause != nil {
		return
	}
	a.cause = cause
	if a.cancel != nil {
		a.cancel(cause)
	}
}

// ended returns why the context ended, nil while it has not.
func (a *attempt) ended(now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expireLocked(now)
	return a.cause
}

// expireLocked notices a deadline that passed while nobody watched Done.
func (a *attempt) expireLocked(now time.Time) {
	if a.cause == nil && !a.deadline.IsZero() && !now.Before(a.deadline) {
		a.endLocked(retry.ErrAttemptTimeout)
	}
}

// Deadline implements [context.Context].
func (a *attempt) Deadline() (time.Time, bool) { return a.deadline, !a.deadline.IsZero() }

// Done implements [context.Context].
func (a *attempt) Done() <-chan struct{} { return a.real().Done() }

// real makes the context that carries the channel, the cause and the values.
func (a *attempt) real() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inner != nil {
		return a.inner
	}
	parent := a.base
	if !a.deadline.IsZero() {
		parent, a.free = context.WithDeadlineCause(parent, a.deadline, retry.ErrAttemptTimeout)
	}
	a.inner, a.cancel = context.WithCancelCause(parent)
	if a.cause != nil {
		a.cancel(a.cause)
	}
	return a.inner
}

// Err implements [context.Context].
func (a *attempt) Err() error {
	switch cause := a.ended(time.Now()); {
	case cause == nil:
		return nil
	case errors.Is(cause, retry.ErrAttemptTimeout):
		return context.DeadlineExceeded
	default:
		return context.Canceled
	}
}

// Value implements [context.Context]. It goes through the real context, so
// that [context.Cause] finds the cause and contexts derived from this one
// need no goroutine of their own.
func (a *attempt) Value(key any) any { return a.real().Value(key) }

// close frees what the call left: after it the context has ended.
func (a *attempt) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inner != nil {
		a.endLocked(context.Canceled)
	}
	if a.free != nil {
		a.free()
	}
}
