package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/holdfast-kafka/holdfast/dlq"
	"github.com/holdfast-kafka/holdfast/internal/client"
)

func TestCodeOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want Code
	}{
		{nil, OK},
		{errors.New("x"), Failure},
		{&dlq.NotFoundError{Topic: "t"}, Failure},
		{Fail(Declined, "no"), Declined},
		{&client.Error{Code: client.TopicAuthorization}, Denied},
		{&client.Error{Code: client.Authentication}, Denied},
		{&client.Error{Code: client.Transport}, Unreachable},
		{context.DeadlineExceeded, Unreachable},
		{&dlq.LeaseError{}, Refused},
		{dlq.ErrFenced, Refused},
		{&dlq.StalePlanError{}, Stale},
		{context.Canceled, Interrupted},
		{&SignalError{Signal: syscall.SIGINT}, Interrupted},
		{&SignalError{Signal: syscall.SIGTERM}, Terminated},
	} {
		if got := CodeOf(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
		if tt.err != nil {
			if got := CodeOf(fmt.Errorf("inspect: %w", tt.err)); got != tt.want {
				t.Errorf("wrapped %v: %d, want %d", tt.err, got, tt.want)
			}
		}
	}
}

func TestEveryCodeIsExplainedOnce(t *testing.T) {
	t.Parallel()
	seen := map[Code]bool{}
	for _, c := range Codes() {
		if seen[c.Code] || c.Meaning == "" {
			t.Errorf("code %d", c.Code)
		}
		seen[c.Code] = true
	}
}
