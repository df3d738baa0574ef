package retry

import "errors"

// ErrAttemptTimeout is the cause ([context.Cause]) of an attempt's context
// that ended because the attempt took too long. The failure is transient and
// charged.
var ErrAttemptTimeout = errors.New("attempt timed out")

// ErrDelay is wrapped by every error about a delay that cannot be, or is not,
// part of a lane's name.
var ErrDelay = errors.New("not a lane delay")

// DecodeError says that a record's bytes could not be decoded. It is
// poisonous: the same bytes fail again. Its dead letter has
// [DispositionDecode].
type DecodeError struct {
	// Err is what the decoder said.
	Err error
}

// Error returns the decoder's text.
func (e *DecodeError) Error() string {
	if e.Err == nil {
		return "decode"
	}
	return "decode: " + e.Err.Error()
}

// Unwrap returns the decoder's error.
func (e *DecodeError) Unwrap() error { return e.Err }

// Poison reports that trying again cannot help.
func (*DecodeError) Poison() bool { return true }

// Disposition returns [DispositionDecode].
func (*DecodeError) Disposition() Disposition { return DispositionDecode }
