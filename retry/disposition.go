package retry

import (
	"context"
	"encoding/json"
	"errors"
)

// Disposition says why a record is dead. Its text is what dead letters carry.
type Disposition string

// The dispositions.
const (
	// DispositionPoison: the handler or the classifier said it can never succeed.
	DispositionPoison Disposition = "poison"
	// DispositionExhausted: the last allowed attempt failed.
	DispositionExhausted Disposition = "exhausted"
	// DispositionDecode: the record's bytes could not be decoded.
	DispositionDecode Disposition = "decode"
	// DispositionPanic: the handler panicked.
	DispositionPanic Disposition = "panic"
	// DispositionTimeout: the last allowed attempt took too long.
	DispositionTimeout Disposition = "timeout"
	// DispositionExpired: the next attempt would come after [Policy.MaxElapsed].
	DispositionExpired Disposition = "expired"
	// DispositionUnreadable: the log holds bytes no client can read.
	DispositionUnreadable Disposition = "unreadable"
)

// Valid reports whether d is one of the dispositions.
func (d Disposition) Valid() bool {
	switch d {
	case DispositionPoison, DispositionExhausted, DispositionDecode, DispositionPanic,
		DispositionTimeout, DispositionExpired, DispositionUnreadable:
		return true
	}
	return false
}

// CauseOf returns what kind of failure err is, for [State.Cause]: what an
// error in its tree says with a method Disposition() [Disposition], decode for
// the errors of encoding/json, timeout where the attempt's context ended with
// [ErrAttemptTimeout], and "" for anything else.
func CauseOf(ctx context.Context, err error) Disposition {
	if said, ok := errors.AsType[interface {
		error
		Disposition() Disposition
	}](err); ok {
		return said.Disposition()
	}
	switch {
	case errors.Is(context.Cause(ctx), ErrAttemptTimeout):
		return DispositionTimeout
	case anywhere(err, isJSON):
		return DispositionDecode
	}
	return ""
}

// isJSON reports whether err itself is encoding/json's word for bytes that do
// not decode.
func isJSON(err error) bool {
	switch err.(type) { //nolint:errorlint // the caller walks the tree
	case *json.SyntaxError, *json.UnmarshalTypeError:
		return true
	}
	return false
}
