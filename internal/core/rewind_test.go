package core_test

import (
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// TestRewindAboveUnfinished: offsets go back to one above a record that is
// still with its handler. The position must go on waiting for that record, or
// a failure of it would be lost.
func TestRewindAboveUnfinished(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) { c.Routes[0].Ordering = core.Unordered })
	r.slow = true
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1, 2, 3)
	r.expect("dispatch 1", "dispatch 2", "dispatch 3")
	first := r.runs[0]
	r.runs = r.runs[1:]
	r.finish("d")
	r.finish("d")
	r.arrive(p, 3) // once more, of another log
	r.expect("dispatch 3")
	r.finish("d")
	r.after(2 * time.Second)
	r.expect() // 1 is unfinished: nothing to store
	r.runs = append(r.runs, first)
	r.finish("p")
	r.expect("publish 1 to 1 alone=false omit=false")
	r.after(2 * time.Second)
	r.expect()
	r.ack(core.PublishAcked)
	r.after(2 * time.Second)
	r.expect("store 4")
}

// TestRewindDropsWhatIsGone: of what waits, only the records from the jump's
// target on are dropped, and what their handlers bring is late.
func TestRewindDropsWhatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.slow = true
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1)
	r.expect("dispatch 1")
	r.arrive(p, 2, 3, 4)
	r.arrive(p, 3)
	r.finish("d")
	r.finish("d") // 2
	r.expect("dispatch 3")
	r.finish("d") // the new one
	r.expect()
	r.after(2 * time.Second)
	r.expect("store 4")
}

// TestRewindKeepsOneOfAUnit: the handler of a record whose log is gone still
// runs, so no other of its partition runs beside it.
func TestRewindKeepsOneOfAUnit(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) { c.Routes[0].Ordering = core.ByKey })
	r.slow = true
	p := r.assign(0, core.Source, 0)
	arrive := func(offset int64, key string) {
		r.step(&core.Arrived{Recs: []*core.Rec{{Part: p, Offset: offset, Size: 10, Key: []byte(key)}}})
	}
	arrive(1, "a")
	arrive(2, "b")
	r.runs[0], r.runs[1] = r.runs[1], r.runs[0]
	arrive(2, "b") // of another log
	r.expect()
	r.finish("d") // the old one: late
	r.expect("dispatch 2")
	r.after(2 * time.Second)
	r.expect() // 1 is unfinished
	r.finish("d")
	r.finish("d")
	r.after(2 * time.Second)
	r.expect("store 3")
}

// TestTooLargeDoesNotSlowOthers: a copy that failed plainly is tried again in
// its own time although a refused one waits for somebody to raise a limit.
func TestTooLargeDoesNotSlowOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1, 2)
	r.finish("pp")
	r.ack(core.PublishTooLarge) // 1: tried alone
	r.ack(core.PublishFailed)   // 2
	r.ack(core.PublishTooLarge) // 1: waits
	r.after(200 * time.Millisecond)
	r.expect("publish 2 to 1 alone=false omit=false", "publish 1 to 1 alone=true omit=false")
}

// TestCommitAnsweredWhileClosing: a client whose commit was answered too late
// for its step is closed all the same.
func TestCommitAnsweredWhileClosing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1)
	r.finish("d")
	r.after(time.Second)
	r.expect("store 2")
	r.step(&core.StopAsked{})
	r.after(4 * time.Second) // the committing step is over
	r.step(&core.CommitAnswered{Client: 0})
	closed := false
	for _, a := range r.acts {
		if c, ok := a.(*core.CloseClient); ok && c.Client == 0 {
			closed = true
		}
	}
	if !closed {
		t.Errorf("got %v, want the client closed", r.acts)
	}
}
