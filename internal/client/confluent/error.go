//go:build cgo

package confluent

import (
	"errors"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// errorOf turns the binding's error into ours. Anything else, such as the end
// of a context, passes unchanged; the binding's "no error" value becomes nil.
func errorOf(err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[kafka.Error](err)
	if !ok {
		return err
	}
	if e.Code() == kafka.ErrNoError {
		return nil
	}
	return clientError(e)
}

func clientError(e kafka.Error) *client.Error {
	code := client.Code(e.Code())
	return &client.Error{
		Code: code,
		Text: e.Error(),
		// The code says so where the binding built the error from a bare
		// code and lost the flag, as Produce does.
		Fatal: e.IsFatal() || code == client.FatalError,
		Abort: e.TxnRequiresAbort(),
		Retry: e.IsRetriable(),
	}
}

// noSuchGroup tells of a group that the coordinator does not have, which is
// a group without positions. Some brokers answer with this where others
// answer with nothing.
func noSuchGroup(err error) bool {
	e, ok := errors.AsType[kafka.Error](err)
	return ok && e.Code() == kafka.ErrGroupIDNotFound
}

func invalid(text string) *client.Error {
	return &client.Error{Code: client.InvalidArg, Text: text}
}

func wrongState(text string) *client.Error {
	return &client.Error{Code: client.State, Text: text}
}
