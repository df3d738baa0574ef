package dlq

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// leaderlessLibrary is a library whose admin finds partitions without a leader
// for the first few questions, as those of a topic that was just created are.
type leaderlessLibrary struct {
	client.Library

	questions atomic.Int32
}

func (l *leaderlessLibrary) Admin(config client.Config) (client.Admin, error) {
	admin, err := l.Library.Admin(config)
	return &leaderlessAdmin{Admin: admin, library: l}, err
}

type leaderlessAdmin struct {
	client.Admin

	library *leaderlessLibrary
}

func (a *leaderlessAdmin) ListOffsets(ctx context.Context, parts []client.TopicPartition, at int64, isolation client.Isolation) ([]client.Offset, error) {
	offsets, err := a.Admin.ListOffsets(ctx, parts, at, isolation)
	if n := a.library.questions.Add(1); n <= 2 && err == nil && len(offsets) > 0 {
		code := client.NotLeader
		if n == 2 {
			code = client.LeaderNotAvailable
		}
		offsets[len(offsets)-1].Err = &client.Error{Code: code, Text: "no leader"}
	}
	return offsets, err
}

// A topic that was just created has partitions without a leader for a moment:
// the first replay of a DLQ must not fail for that.
func TestPartitionsWithoutALeaderAreAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	c := b.open(&leaderlessLibrary{Library: quiet()})
	offsets, err := c.offsets(t.Context(), b.dlq, 2, client.OffsetLatest, client.ReadCommitted)
	if err != nil || len(offsets) != 2 {
		t.Fatalf("got %v, %v, want the offsets of two partitions", offsets, err)
	}
}
