package dlq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// ErrFenced is returned by a run that another run has taken over from. Nothing
// of its open batch was written; what it wrote before is in the ledger. The run
// must not be tried again by itself.
var ErrFenced = errors.New("another run took over")

// ErrStop ends a scan early without an error, when its visitor returns it.
var ErrStop = errors.New("stop scanning")

// NotFoundError says that a topic does not exist. Trying again helps only after
// it was created.
type NotFoundError struct{ Topic string }

// Error names the topic.
func (e *NotFoundError) Error() string { return fmt.Sprintf("topic %s does not exist", e.Topic) }

// LeaseError says that another run works on the DLQ. Nothing was written.
// Waiting helps, or [ReplayOptions].Takeover.
type LeaseError struct {
	DLQ  string
	Run  string
	By   string
	Seen time.Time // the last sign of life
}

// Error names the run and who started it.
func (e *LeaseError) Error() string {
	return fmt.Sprintf("run %s by %s works on %s, last seen at %s",
		e.Run, e.By, e.DLQ, e.Seen.UTC().Format(time.RFC3339))
}

// StalePlanError says that a plan no longer fits the DLQ. Nothing was written.
// A new plan helps.
type StalePlanError struct {
	DLQ    string
	Reason string
}

// Error says what changed.
func (e *StalePlanError) Error() string {
	return fmt.Sprintf("the plan for %s is stale: %s", e.DLQ, e.Reason)
}

// IsDenied reports whether an error means that the cluster refused who we are
// or what we may do. Trying again does not help.
func IsDenied(err error) bool {
	switch client.CodeOf(err) {
	case client.Authentication, client.SSL, client.TopicAuthorization, client.GroupAuthorization,
		client.ClusterAuthorization, client.TransactionalIDAuth:
		return true
	default:
		return false
	}
}

// IsUnreachable reports whether an error means that the cluster did not answer
// in time. Trying again can help.
func IsUnreachable(err error) bool {
	switch client.CodeOf(err) {
	case client.Transport, client.TimedOut, client.AllBrokersDown, client.RequestTimedOut,
		client.MsgTimedOut, client.CoordinatorNotAvailable:
		return true
	default:
		return errors.Is(err, context.DeadlineExceeded)
	}
}
