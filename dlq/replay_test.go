package dlq

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplaySendsEachOnceToTheLaneOfItsGroup(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(10)
	result, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{By: "test", Batch: 3})
	if err != nil {
		t.Fatal(err)
	}
	if result.Sent != 10 || result.Left != 0 || result.Skips.Total() != 0 {
		t.Fatalf("result %+v, want 10 sent", result)
	}
	records := b.read(b.lane)
	if len(records) != 10 {
		t.Fatalf("%d records on the lane, want 10", len(records))
	}
	for _, r := range records {
		n := int(r.Stamp.Meta.Origin.Offset)
		want := b.letter(n)
		if !bytes.Equal(r.Key, want.Key) || !bytes.Equal(r.Value, want.Value) || !cmp.Equal(r.User, want.User) {
			t.Errorf("record %d came back as %q %q %v", n, r.Key, r.Value, r.User)
		}
		m := r.Stamp.Meta
		if r.Partition != int32(n%2) || r.Stamp.Count != 0 || m.ReplayCount() != 1 || m.Hop != 6 || m.Replay.Target != nil {
			t.Errorf("record %d: partition %d, stamp %+v", n, r.Partition, r.Stamp)
		}
	}
	again, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if again.Sent != 0 || len(b.read(b.lane)) != 10 {
		t.Errorf("the second replay sent %d", again.Sent)
	}
}
