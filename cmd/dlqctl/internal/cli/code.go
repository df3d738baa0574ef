package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/holdfast-kafka/holdfast/dlq"
)

// Code is an exit code. The numbers are a promise: scripts branch on them.
type Code int

// The exit codes.
const (
	OK          Code = 0   // success, or a dry run with nothing blocked
	Failure     Code = 1   // any other failure
	Usage       Code = 2   // wrong arguments or configuration
	NoMatch     Code = 3   // nothing matched, with --fail-empty
	Denied      Code = 4   // authentication or authorisation
	Unreachable Code = 5   // the cluster cannot be reached, or too slowly
	Refused     Code = 6   // refused by a guard
	Partial     Code = 7   // some records were not sent
	Stale       Code = 9   // the plan no longer fits
	Declined    Code = 10  // not confirmed
	Interrupted Code = 130 // interrupted, what was begun is finished
	Terminated  Code = 143 // terminated, what was begun is finished
)

// Codes lists the exit codes with their meaning, for the help.
func Codes() []struct {
	Code    Code
	Meaning string
} {
	return []struct {
		Code    Code
		Meaning string
	}{
		{OK, "success, or a dry run with nothing blocked"},
		{Failure, "any other failure"},
		{Usage, "wrong usage, a bad expression or a bad configuration"},
		{NoMatch, "nothing matched (only with --fail-empty)"},
		{Denied, "authentication or authorisation failed"},
		{Unreachable, "the cluster cannot be reached, or did not answer in time"},
		{Refused, "refused by a guard: another run at work, a loop, a missing target, tombstones"},
		{Partial, "partial: some of the selected records were not sent"},
		{Stale, "the plan no longer fits the DLQ"},
		{Declined, "not confirmed"},
		{Interrupted, "interrupted; what was begun is finished and noted"},
		{Terminated, "terminated; what was begun is finished and noted"},
	}
}

// Error is a failure that has an exit code.
type Error struct {
	Code Code
	Err  error
	// Quiet: everything was said already.
	Quiet bool
}

// Error returns the text of the failure.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the failure.
func (e *Error) Unwrap() error { return e.Err }

// Fail makes a failure with an exit code.
func Fail(code Code, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Exit ends a command with a code and nothing more to say.
func Exit(code Code) error { return &Error{Code: code, Quiet: true} }

// CodeOf returns the exit code for what a command returned.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if s, ok := errors.AsType[*SignalError](err); ok {
		return s.Code()
	}
	_, leased := errors.AsType[*dlq.LeaseError](err)
	_, stale := errors.AsType[*dlq.StalePlanError](err)
	switch {
	case leased || errors.Is(err, dlq.ErrFenced):
		return Refused
	case stale:
		return Stale
	case dlq.IsDenied(err):
		return Denied
	case dlq.IsUnreachable(err):
		return Unreachable
	case errors.Is(err, context.Canceled):
		return Interrupted
	default:
		return Failure
	}
}

// SignalError is why a context ended: the process was told to stop.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return "stopped by signal: " + e.Signal.String() }

// Code is 128 plus the signal's number, as shells have it.
func (e *SignalError) Code() Code {
	if e.Signal == syscall.SIGTERM {
		return Terminated
	}
	return Interrupted
}
