package core_test

import (
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// TestPublishBackoff: a copy that cannot be written is tried again, each time
// later up to a bound, for ever; its partition waits and its position too.
func TestPublishBackoff(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1, 2)
	r.finish("pd")
	r.expect("publish 1 to 1 alone=false omit=false")
	wait := 100 * time.Millisecond
	for range 10 {
		r.ack(core.PublishFailed)
		r.arrive(p, r.next())
		r.expect() // gated
		r.after(wait - 1)
		if len(r.copies) > 0 {
			t.Fatalf("tried again before %v", wait)
		}
		r.after(1)
		if len(r.copies) != 1 {
			t.Fatalf("not tried again after %v", wait)
		}
		wait = min(2*wait, 5*time.Second)
	}
	r.ack(core.PublishAcked)
	if got := r.said(); len(got) == 0 || got[0] != "dispatch 1001 1002 1003 1004 1005 1006 1007 1008 1009 1010" {
		t.Fatalf("after recovery: %q", got)
	}
	r.after(time.Second)
	r.expect("store 1001")
}

// next returns offsets that grow.
func (r *rig) next() int64 {
	r.offset++
	return 1000 + r.offset
}

// TestTooLarge: a refused copy is tried alone, then without its payload where
// that is allowed, and otherwise held.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	for _, omit := range []bool{true, false} {
		r := newRig(t, func(c *core.Config) {
			if omit {
				c.Routes[0].TooLarge = core.TooLargeOmit
			}
		})
		r.arrive(r.assign(0, core.Source, 0), 1)
		r.finish("p")
		r.expect("publish 1 to 1 alone=false omit=false")
		r.ack(core.PublishTooLarge)
		r.expect("publish 1 to 1 alone=true omit=false")
		r.ack(core.PublishTooLarge)
		if omit {
			r.expect("publish 1 to 1 alone=true omit=true")
			continue
		}
		r.expect()
		r.after(30*time.Second - 1)
		r.expect()
		r.after(1)
		r.expect("publish 1 to 1 alone=true omit=false")
		r.ack(core.PublishAcked)
		r.after(time.Second)
		r.expect("store 2")
	}
}

// TestDueEdge: a waiting record runs when it is due, not a nanosecond before.
func TestDueEdge(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(1, core.Lane, 0)
	due := r.now.Add(time.Second)
	r.step(&core.Arrived{Recs: []*core.Rec{{Part: p, Offset: 1, Size: 10, Due: due + 1}, {Part: p, Offset: 2, Size: 10, Due: due}}})
	if r.core.Next() != due {
		t.Fatalf("next at %v, want %v", r.core.Next(), due)
	}
	r.after(time.Second - 1)
	r.expect()
	r.after(1)
	r.expect("dispatch 2")
	r.after(1)
	r.expect("dispatch 1")
}

// TestRestMovesOn: a record whose lane was shorter than its wait moves on when
// due, uncharged.
func TestRestMovesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(1, core.Lane, 0)
	rec := &core.Rec{Part: p, Offset: 1, Size: 10, Attempts: 2, Due: r.now.Add(time.Second), Rest: 5 * time.Second}
	r.step(&core.Arrived{Recs: []*core.Rec{rec}})
	r.after(time.Second)
	r.expect("publish 1 to 0 alone=false omit=false")
	if c := r.copies[0]; c.Charged || rec.Attempts != 2 || c.Wait < 5*time.Second || c.Lane != 1 {
		t.Fatalf("copy %+v with %d attempts", c, rec.Attempts)
	}
}

// TestForeign: a partition with a foreign record is neither handled nor
// committed past it.
func TestForeign(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(1, core.Lane, 0)
	r.arrive(p, 1)
	r.step(&core.Arrived{Recs: []*core.Rec{{Part: p, Offset: 2, Size: 10, Mark: core.Foreign}, {Part: p, Offset: 3, Size: 10}}})
	r.finish("d")
	r.expect()
	r.after(time.Hour)
	r.expect("store 2")
}

// TestForeignHoldsNoMemory: of a foreign record only the place is kept, so it
// does not count against the limits.
func TestForeignHoldsNoMemory(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(1, core.Lane, 0)
	r.step(&core.Arrived{Recs: []*core.Rec{{Part: p, Offset: 2, Size: 10, Mark: core.Foreign}}})
	r.step(&core.Asked{Reply: func(v core.View) {
		if got := v.Partitions[0]; got.Records != 0 || got.Bytes != 0 || got.Position != 2 {
			t.Errorf("view %+v", got)
		}
	}})
}

// TestRewindKeepsKeysApart: the timer of a key that waited before its
// partition went back does not touch the same key of after.
func TestRewindKeepsKeysApart(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) { c.Routes[0].Ordering = core.ByKey })
	p := r.assign(0, core.Source, 0)
	arrive := func(offset int64) {
		r.step(&core.Arrived{Recs: []*core.Rec{{Part: p, Offset: offset, Size: 10, Key: []byte("a")}}})
	}
	arrive(5)
	r.finish("h")
	arrive(5)
	r.expect("dispatch 5")
	r.after(time.Second)
	arrive(6)
	r.expect()
	r.finish("d")
	r.expect("dispatch 6")
}

// TestRewind: offsets that go back begin the partition anew, and what was in
// hand or could not be written counts for nothing.
func TestRewind(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 5, 6)
	r.finish("pd")
	r.ack(core.PublishFailed)
	r.expect()
	r.arrive(p, 5, 6)
	r.expect("dispatch 5 6")
	r.after(time.Hour)
	r.expect()
	r.finish("dd")
	r.after(time.Second)
	r.expect("store 7")
	r.arrive(p, 5)
	r.finish("d")
	r.step(&core.CommitAnswered{Client: 0}) // of 7, from before
	r.after(time.Second)
	r.expect("store 6")
}
