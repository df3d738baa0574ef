package consumer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-kafka/holdfast/retry"
)

// Causes of an attempt's context, found with [context.Cause]. An attempt that
// ended for the first two is not charged. The third cause, the attempt's own
// deadline, is [retry.ErrAttemptTimeout].
var (
	// ErrRevoked: the partition went to another member, or is about to.
	ErrRevoked = errors.New("partition revoked")
	// ErrStopping: the runtime is shutting down.
	ErrStopping = errors.New("consumer stopping")
)

// ErrAlreadyRun is returned by a second call of [Consumer.Run].
var ErrAlreadyRun = errors.New("consumer already ran")

// PanicError is a panic of a handler, or its call of [runtime.Goexit]. The
// record is dead with disposition panic, unless the classifier says otherwise.
type PanicError struct {
	// Value is what was passed to panic; nil after runtime.Goexit.
	Value any
	// Stack is the handler's stack when it panicked.
	Stack []byte
}

// Error tells the panic's value without the stack.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return "handler called runtime.Goexit"
	}
	return fmt.Sprintf("handler panicked: %v", e.Value)
}

// Poison tells the default classifier that trying again does not help: a panic
// is a bug, and it is there at the next attempt too.
func (*PanicError) Poison() bool { return true }

// Disposition is what a dead letter says of it.
func (*PanicError) Disposition() retry.Disposition { return retry.DispositionPanic }

// Unwrap returns the panic's value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// StopError tells that a shutdown left something behind, or that the runtime
// stopped by itself. Nothing is lost: what was not finished is not committed
// and comes again after a restart.
type StopError struct {
	// Steps are those that did not end in their time: drain, cancel, flush,
	// commit, close.
	Steps []string
	// Running are the records whose handlers had not returned.
	Running []Running
	// Publishing counts the retry copies and dead letters that were not
	// acknowledged.
	Publishing int
	// Uncommitted counts the partitions whose last position may not be
	// committed: their latest records are seen again.
	Uncommitted int
	// Unclosed names the Kafka clients that did not close.
	Unclosed []string
	// Cause is what made the runtime stop, nil when it was asked to.
	Cause error
}

// Running is a record whose handler had not returned at the shutdown.
type Running struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Error tells all of it in a line.
func (e *StopError) Error() string {
	var parts []string
	if e.Cause != nil {
		parts = append(parts, e.Cause.Error())
	}
	if len(e.Steps) > 0 {
		parts = append(parts, "not ended in time: "+strings.Join(e.Steps, ", "))
	}
	for _, r := range e.Running {
		parts = append(parts, fmt.Sprintf("handler still running for %s/%d/%d", r.Topic, r.Partition, r.Offset))
	}
	if e.Publishing > 0 {
		parts = append(parts, fmt.Sprintf("%d copies not acknowledged", e.Publishing))
	}
	if e.Uncommitted > 0 {
		parts = append(parts, fmt.Sprintf("last position of %d partitions perhaps not committed", e.Uncommitted))
	}
	if len(e.Unclosed) > 0 {
		parts = append(parts, "not closed: "+strings.Join(e.Unclosed, ", "))
	}
	return "consumer stopped: " + strings.Join(parts, "; ")
}

// Unwrap returns the cause.
func (e *StopError) Unwrap() error { return e.Cause }
