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
// Done channel, its deadline or its error: only then does the time begin to
// count, and is a real context made or a timer armed.
//
// A handler reads it from any goroutine; the runtime cancels it from its own.
type attempt struct {
	base    *attemptBase
	timeout time.Duration // NoTimeout: none

	mu       sync.Mutex    // guards what follows
	deadline time.Duration // since the base's start, by the monotonic clock; zero: not set yet
	cause    error         // why it ended; nil while it has not
	real     *realContext
}

// attemptBase is what all attempts of a runtime share.
type attemptBase struct {
	//nolint:containedctx // the parent of contexts, for values
	ctx   context.Context
	start time.Time
}

// realContext is what an attempt becomes when somebody asks for more than
// whether it ended.
type realContext struct {
	context.Context //nolint:containedctx // it is one

	cancel context.CancelCauseFunc
	free   context.CancelFunc // of the deadline's timer
}

var _ context.Context = (*attempt)(nil)

// begin readies the context for a call. Not concurrent with anything.
func (a *attempt) begin(base *attemptBase, timeout time.Duration) {
	a.base, a.timeout, a.deadline, a.cause, a.real = base, timeout, 0, nil, nil
}

// end ends the context with a cause; the first one counts.
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
	if a.real != nil {
		a.real.cancel(cause)
	}
}

// ended returns why the context ended, nil while it has not. It notices a
// deadline that passed while nobody watched.
func (a *attempt) ended() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cause == nil && a.deadline != 0 && time.Since(a.base.start) >= a.deadline {
		a.endLocked(retry.ErrAttemptTimeout)
	}
	return a.cause
}

// Deadline implements [context.Context].
func (a *attempt) Deadline() (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.deadlineLocked()
}

// deadlineLocked sets the deadline when it is first asked for.
func (a *attempt) deadlineLocked() (time.Time, bool) {
	if a.timeout == NoTimeout {
		return time.Time{}, false
	}
	if a.deadline == 0 {
		a.deadline = time.Since(a.base.start) + a.timeout
	}
	return a.base.start.Add(a.deadline), true
}

// Done implements [context.Context].
func (a *attempt) Done() <-chan struct{} { return a.realize().Done() }

// Value implements [context.Context]. It goes through the real context, so
// that [context.Cause] finds the cause, and contexts derived from this one
// need no goroutine of their own.
func (a *attempt) Value(key any) any { return a.realize().Value(key) }

// realize makes the context that carries the channel, the cause and the values.
func (a *attempt) realize() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.real != nil {
		return a.real
	}
	parent := a.base.ctx
	made := &realContext{free: func() {}}
	if at, ok := a.deadlineLocked(); ok {
		parent, made.free = context.WithDeadlineCause(parent, at, retry.ErrAttemptTimeout)
	}
	made.Context, made.cancel = context.WithCancelCause(parent)
	if a.cause != nil {
		made.cancel(a.cause)
	}
	a.real = made
	return made
}

// Err implements [context.Context].
func (a *attempt) Err() error {
	a.Deadline()
	switch cause := a.ended(); {
	case cause == nil:
		return nil
	case errors.Is(cause, retry.ErrAttemptTimeout):
		return context.DeadlineExceeded
	default:
		return context.Canceled
	}
}

// close ends the context after its call and frees what it holds. Whoever kept
// it finds it cancelled.
func (a *attempt) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endLocked(context.Canceled)
	if a.real != nil {
		a.real.free()
	}
}
