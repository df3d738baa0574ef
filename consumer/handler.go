package consumer

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/holdfast-kafka/holdfast/retry"
)

// Handler does the work for one record.
//
// It is called from several goroutines at once, as the route's ordering
// allows, and may run again for the same record from its start: after a
// failure, a rebalance or a crash. [Record.Origin] gives the key to make that
// harmless.
//
// What it returns decides what becomes of the record:
//
//   - nil: done. The record counts as handled even when ctx ended meanwhile.
//   - [retry.Transient], [retry.After] or any unknown error: tried again as
//     the policy says, then dead.
//   - [retry.Poison]: a dead letter at once.
//   - [retry.Drop]: done, without a trace.
//   - [retry.Hold]: not now; tried again, and not charged as an attempt.
//   - a breaker's [github.com/holdfast-kafka/holdfast/breaker.OpenError]: held
//     until the breaker lets calls through, not charged.
//
// The context ends when the attempt's time is over, when the partition is
// taken away or when the runtime stops; [context.Cause] tells which, see
// [ErrRevoked], [ErrStopping] and [retry.ErrAttemptTimeout].
type Handler interface {
	Handle(ctx context.Context, rec *Record) error
}

// HandlerFunc is a function as a [Handler].
type HandlerFunc func(ctx context.Context, rec *Record) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, rec *Record) error { return f(ctx, rec) }

// Middleware wraps a handler. The first of a list is the outermost.
type Middleware func(Handler) Handler

func chain(h Handler, use []Middleware) Handler {
	for _, wrap := range slices.Backward(use) {
		h = wrap(h)
	}
	return h
}

// JSON returns a handler that decodes the record's value as JSON before it
// calls handle. A value that does not decode is a dead letter with disposition
// decode. A tombstone does not decode: handle those in a [Handler] of your own.
// The JSON value null decodes to T's zero value, as encoding/json has it.
func JSON[T any](handle func(ctx context.Context, value T, rec *Record) error) Handler {
	return Decode(func(rec *Record) (T, error) {
		var value T
		err := json.Unmarshal(rec.Value, &value)
		return value, err
	}, handle)
}

// Decode returns a handler that decodes each record with decode before it
// calls handle. An error of decode, or a panic in it, makes the record a dead
// letter.
func Decode[T any](decode func(*Record) (T, error), handle func(ctx context.Context, value T, rec *Record) error) Handler {
	return HandlerFunc(func(ctx context.Context, rec *Record) error {
		value, err := decode(rec)
		if err != nil {
			return &retry.DecodeError{Err: err}
		}
		return handle(ctx, value, rec)
	})
}
