package core_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// TestHoldGivesBackInOrder: what a hold left unattempted stands behind the
// held record, in order, and nothing of it is charged.
func TestHoldGivesBackInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1, 2, 3, 4)
	r.expect("dispatch 1 2 3 4")
	held := r.runs[0].Recs[1]
	r.finish("dh")
	r.expect()
	r.after(time.Second - 1)
	r.expect()
	r.after(1)
	r.expect("store 2", "dispatch 2 3 4")
	if held.Attempts != 0 {
		t.Fatalf("a hold was charged: attempts %d", held.Attempts)
	}
}

// TestInPlaceKeepsOrder: a record that fails in place is tried again before
// what came after it, and is charged one attempt.
func TestInPlaceKeepsOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) { c.Routes[0].InPlace = true })
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1, 2, 3)
	failed := r.runs[0].Recs[0]
	r.finish("f")
	r.expect()
	r.after(time.Second)
	r.expect("dispatch 1 2 3")
	if failed.Attempts != 1 {
		t.Fatalf("attempts %d, want 1", failed.Attempts)
	}
}

// TestBlockedDeadKeepOrder: records that are dead and kept stand in order.
func TestBlockedDeadKeepOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) { c.Routes[0].DeadLetters = core.DeadBlock })
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1, 2, 3)
	if !r.runs[0].StopOnFailure {
		t.Fatal("a kept record does not end the run")
	}
	r.finish("p")
	r.after(time.Hour)
	r.expect("dispatch 1 2 3")
}

// TestWindow: records past MaxUncommitted wait for the oldest unfinished one.
func TestWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) {
		c.MaxUncommitted = 2
		c.Routes[0].Ordering = core.Unordered
	})
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1, 2, 3)
	r.expect("dispatch 1", "dispatch 2")
	r.runs[0], r.runs[1] = r.runs[1], r.runs[0]
	r.finish("d") // 2: the oldest is still unfinished
	r.expect()
	r.finish("d")
	r.expect("dispatch 3")
}

// TestPause: over the high mark the partition is paused, at half of it
// resumed, but not before it was paused for the dwell.
func TestPause(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) { c.Clients[0].PartRecords = 4 })
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1, 2, 3, 4)
	r.expect("dispatch 1 2 3 4")
	r.arrive(p, 5)
	r.expect("paused=true")
	r.finish("ddd")
	r.expect("dispatch 4 5")
	r.after(50*time.Millisecond - 1)
	r.expect()
	r.after(1)
	r.expect("paused=false")
}

// TestSqueezedResumes: a partition that paused because its client was full
// resumes when another partition makes the room.
func TestSqueezedResumes(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) {
		c.Clients[1].MaxRecords, c.Clients[1].Floor = 10, 2
	})
	waits, goes := r.assign(1, core.Lane, 0), r.assign(1, core.Lane, 1)
	r.arrive(goes, 1, 2, 3, 4, 5, 6)
	var later []*core.Rec
	for o := range int64(5) {
		later = append(later, &core.Rec{Part: waits, Offset: o, Size: 10, Due: r.now.Add(time.Hour)})
	}
	r.step(&core.Arrived{Recs: later})
	r.expect("paused=true")
	r.after(time.Second)
	for range 6 {
		r.finish("d")
		if len(r.said()) > 0 && r.said()[0] == "paused=false" {
			return
		}
	}
	t.Fatal("the partition is not resumed")
}

// TestReplayCap: replays get all slots while nobody else waits, and a quarter
// of them while others do.
func TestReplayCap(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) {
		c.Slots = 8
		c.Routes[0].Ordering = core.Unordered
	})
	r.slow = true
	source, replay := r.assign(0, core.Source, 0), r.assign(1, core.Replay, 0)
	r.step(&core.OperatorPause{Topic: source.Topic, Partition: -1, Paused: true})
	r.arrive(source, ascending(40)...)
	r.arrive(replay, ascending(40)...)
	if got := r.replays(); got != 8 {
		t.Fatalf("%d replays out of 8 slots although nobody else may run", got)
	}
	r.step(&core.OperatorPause{Topic: source.Topic, Partition: -1})
	for range 8 { // the replays of before
		r.finish("d")
	}
	most := 0
	for range 8 {
		r.finish("d")
		most = max(most, r.replays())
	}
	if most != 2 || len(r.runs) != 8 {
		t.Fatalf("%d replays of %d runs, want 2 of 8 while others wait", most, len(r.runs))
	}
}

func ascending(n int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

// replays counts the replay runs that are out.
func (r *rig) replays() (n int) {
	for _, run := range r.runs {
		if run.Part.Role == core.Replay {
			n++
		}
	}
	return n
}

var errRefused = errors.New("refused")

// TestCommitRepeats: a commit that failed is repeated with the next interval,
// and one that was answered is not.
func TestCommitRepeats(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 7, 9)
	r.finish("dd")
	r.after(time.Second)
	r.expect("store 10")
	r.after(time.Minute)
	r.expect() // one at a time, however long it takes
	r.step(&core.CommitAnswered{Client: 0, Err: errRefused})
	r.expect()
	r.after(time.Second)
	r.expect("store 10")
	r.step(&core.CommitAnswered{Client: 0})
	r.after(time.Minute)
	r.expect()
}

// TestBehindOlderCommit: a partition that comes back waits for the commit that
// covers its older epoch.
func TestBehindOlderCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1)
	r.finish("d")
	r.after(time.Second)
	r.expect("store 2")
	r.step(&core.RevokedFrom{Client: 0, Parts: []*core.Part{p}, Lost: true})
	r.expect("bar", "finishrevoke")
	again := r.assign(0, core.Source, 0)
	r.arrive(again, 1)
	r.expect()
	r.step(&core.CommitAnswered{Client: 0})
	r.expect("dispatch 1")
}

// TestDrainTimeout: at the end of the drain what runs is cancelled, what is
// finished is committed, and without an answer the partition is given up.
func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) { c.Routes[0].Ordering = core.Unordered })
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1, 2)
	r.step(&core.RevokedFrom{Client: 0, Parts: []*core.Part{p}})
	r.expect("bar")
	r.finish("d")
	r.expect()
	r.after(5*time.Second - 1)
	r.expect("store 2")
	r.after(1)
	r.expect("cancel")
	r.after(3*time.Second - 1)
	r.expect()
	r.after(1)
	r.expect("finishrevoke")
	r.finish("d") // late: it counts for nothing
	r.expect()
}

// TestBroke: a broken client is left alone and everything stops.
func TestBroke(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1)
	r.finish("d")
	r.step(&core.Broke{Client: 0, Err: errRefused})
	r.expect("closeclient") // the lane client's
	r.after(time.Second)
	r.expect()
	r.step(&core.ClientClosed{Client: 1})
	r.expect("stopped {Overran:[] Running:0 Publishing:0 Uncommitted:0 Unclosed:[] Cause:refused}")
}

// TestStopTwice: a second StopAsked changes nothing, not even the time.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1)
	r.step(&core.StopAsked{})
	r.expect("bar", "paused=true")
	r.after(4 * time.Second)
	r.step(&core.StopAsked{})
	r.expect()
	r.after(time.Second)
	r.expect("cancel")
	r.after(2 * time.Second)
	r.expect("closeclient", "closeclient")
	r.after(2 * time.Second)
	r.expect("stopped {Overran:[drain cancel close] Running:1 Publishing:0 Uncommitted:0 Unclosed:[0 1] Cause:<nil>}")
}

// TestStopCommitsTheLast: a commit on its way when the shutdown comes to
// committing is followed by the last one.
func TestStopCommitsTheLast(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1)
	r.finish("d")
	r.after(time.Second)
	r.expect("store 2")
	r.arrive(p, 2)
	r.finish("d")
	r.step(&core.StopAsked{})
	r.expect("bar", "paused=true")
	r.step(&core.CommitAnswered{Client: 0})
	r.expect("store 3")
	r.step(&core.CommitAnswered{Client: 0})
	r.expect("closeclient", "closeclient")
}

// TestNoCommitWhileClosing: a client that was told to close is not committed
// with: the commit would not return.
func TestNoCommitWhileClosing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1)
	r.finish("d")
	r.step(&core.StopAsked{})
	r.expect("bar", "paused=true", "store 2")
	r.step(&core.CommitAnswered{Client: 0, Err: errRefused})
	r.expect("closeclient", "closeclient")
	r.after(1500 * time.Millisecond)
	r.expect()
}

// TestHandlersOfLostPartitions: the shutdown waits for handlers whose
// partition was lost, and tells of those that stay.
func TestHandlersOfLostPartitions(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.assign(0, core.Source, 0)
	r.arrive(p, 1)
	r.step(&core.RevokedFrom{Client: 0, Parts: []*core.Part{p}, Lost: true})
	r.step(&core.StopAsked{})
	r.expect()
	r.finish("a")
	r.expect("closeclient", "closeclient")
}
