package consumer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// slow takes d, or until its context ends.
func slow(d time.Duration) HandlerFunc {
	return func(ctx context.Context, _ *Record) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// deaf takes d whatever its context says.
func deaf(d time.Duration) HandlerFunc {
	return func(context.Context, *Record) error {
		pause(d)
		return nil
	}
}

// lost reports that no client of the group has the partition any more.
func (r *rig) lost(part client.TopicPartition) bool {
	for _, c := range r.cluster.Consumers(billing) {
		if slices.Contains(c.Assignment(), part) {
			return false
		}
	}
	return true
}

func TestRevokeWaitsForTheHandlerAndCommits(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		m := r.run(slow(5 * time.Second))
		m.owns(2)
		r.putN(0, 10)
		r.until("two done", time.Minute, func() bool { return len(r.of(0, 2)) == 1 })
		pass(time.Second)
		began := len(r.made())
		r.cluster.Take(billing, at("orders", 0))
		pass(3 * time.Second)
		if r.lost(at("orders", 0)) {
			t.Fatal("the partition went while its handler ran")
		}
		r.until("given up", 5*time.Second, func() bool { return r.lost(at("orders", 0)) })
		r.wantCommitted("orders", 0, 3)
		pass(time.Minute)
		if n := len(r.made()) - began; n != 0 {
			t.Errorf("%d handlers began after the revoke", n)
		}
		m.stop()
		if cause := r.of(0, 2)[0].cause; cause != nil {
			t.Errorf("the handler was cancelled with %v within the drain timeout", cause)
		}
		if n := r.count(EventDrainTimeout); n != 0 {
			t.Errorf("%d drain timeouts", n)
		}
	})
}

func TestTakeOverRepeatsNothing(t *testing.T) {
	bubble(t, orders(4), func(t *testing.T, r *rig) {
		first := r.run(slow(200 * time.Millisecond))
		first.owns(4)
		for p := range int32(4) {
			r.putN(p, 40)
		}
		pass(1500 * time.Millisecond)
		second := r.run(slow(200 * time.Millisecond))
		second.owns(2)
		pass(2 * time.Second)
		first.stop()
		second.owns(4)
		for p := range int32(4) {
			r.untilCommitted("orders", p, 40)
		}
		second.stop()
		for p := range int32(4) {
			for o := range int64(40) {
				if n := len(r.of(p, o)); n != 1 {
					t.Errorf("offset %d of partition %d was handled %d times", o, p, n)
				}
			}
		}
	})
}

func TestHandlerSlowerThanTheDrainIsCutOffUncharged(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		m := r.run(slow(30*time.Second), func(c *Config) { c.DrainTimeout = 2 * time.Second })
		m.owns(1)
		r.putN(0, 3)
		r.until("a call", time.Second, func() bool { return len(r.made()) == 1 })
		r.cluster.Take(billing, at("orders", 0))
		r.until("given up", 10*time.Second, func() bool { return r.lost(at("orders", 0)) })
		first := r.of(0, 0)[0]
		if !errors.Is(first.cause, ErrRevoked) || first.ended.IsZero() {
			t.Errorf("cause %v, ended %v; want %v", first.cause, first.ended, ErrRevoked)
		}
		if evs := r.seen(EventDrainTimeout); len(evs) != 1 || evs[0].Count == 0 {
			t.Errorf("drain timeouts %+v, want one with the records in hand", evs)
		}
		r.cluster.GiveBack(billing, at("orders", 0))
		r.until("all done", 2*time.Minute, func() bool { return r.committed("orders", 0) == 3 })
		m.stop()
		if second := r.of(0, 0); len(second) != 2 || second[1].attempt != 1 {
			t.Errorf("calls %+v, want a second one that is attempt 1", second)
		}
		if n := len(r.in(lane(time.Second))); n != 0 {
			t.Errorf("%d copies of a record that was cut off", n)
		}
	})
}

func TestLateResultOfAnOldEpochIsDropped(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		m := r.run(deaf(20*time.Second), func(c *Config) { c.DrainTimeout = 2 * time.Second })
		m.owns(1)
		r.putN(0, 1)
		r.until("a call", time.Second, func() bool { return len(r.made()) == 1 })
		r.cluster.Take(billing, at("orders", 0))
		r.until("given up", 10*time.Second, func() bool { return r.lost(at("orders", 0)) })
		r.cluster.GiveBack(billing, at("orders", 0))
		m.owns(1)
		r.until("the late result", time.Minute, func() bool { return r.count(EventLate) == 1 })
		pass(2 * time.Second)
		r.wantCommitted("orders", 0, client.OffsetStored)
		r.untilCommitted("orders", 0, 1)
		m.stop()
		if n := len(r.of(0, 0)); n != 2 {
			t.Errorf("%d calls, want 2", n)
		}
	})
}

func TestLostPartitionIsCancelledAndNotCommitted(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		took := 0
		m := r.run(func(ctx context.Context, rec *Record) error {
			if took++; took == 3 {
				return slow(time.Hour)(ctx, rec)
			}
			return nil
		}, func(c *Config) { c.CommitInterval = time.Minute })
		m.owns(1)
		r.putN(0, 3)
		r.until("the third call", time.Second, func() bool { return len(r.made()) == 3 })
		r.cluster.Take(billing, at("orders", 0)) // nobody else will do it again
		r.library.made()[0].Consumer.(interface{ Lose(code client.Code) }).Lose(client.MaxPollExceeded)
		r.until("cancelled", time.Second, func() bool { return !r.of(0, 2)[0].ended.IsZero() })
		if cause := r.of(0, 2)[0].cause; !errors.Is(cause, ErrRevoked) {
			t.Errorf("cause %v, want %v", cause, ErrRevoked)
		}
		pass(3 * time.Minute)
		r.wantCommitted("orders", 0, client.OffsetStored)
		r.cluster.GiveBack(billing, at("orders", 0))
		r.until("handled again", time.Minute, func() bool { return len(r.of(0, 2)) == 2 })
		if again := r.of(0, 2)[1]; again.attempt != 1 {
			t.Errorf("attempt %d after a loss, want 1", again.attempt)
		}
		m.stop()
	})
}

func TestReturnedPartitionWaitsForAnOlderCommit(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		m := r.run(done, func(c *Config) { c.DrainTimeout = time.Second })
		m.owns(1)
		release := r.cluster.HoldCommits()
		r.putN(0, 3)
		r.until("a commit", 5*time.Second, func() bool { return len(r.library.made()[0].committed()) == 1 })
		r.cluster.Take(billing, at("orders", 0))
		r.until("given up", 10*time.Second, func() bool { return r.lost(at("orders", 0)) })
		r.cluster.GiveBack(billing, at("orders", 0))
		m.owns(1)
		before := len(r.made())
		r.put(0, "later")
		pass(20 * time.Second)
		if n := len(r.made()) - before; n != 0 {
			t.Errorf("%d calls while a commit from before the revoke is unanswered", n)
		}
		if gates := m.gates("orders", 0); !slices.Contains(gates, "drain") {
			t.Errorf("gates %v, want drain", gates)
		}
		release()
		r.untilCommitted("orders", 0, 4)
		m.stop()
	})
}

func TestPauseThatSurvivedIsReset(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		stuck := make(chan struct{})
		m := r.run(func(ctx context.Context, _ *Record) error {
			select {
			case <-stuck:
			case <-ctx.Done():
			}
			return ctx.Err()
		}, func(c *Config) { c.MaxBuffered, c.DrainTimeout = 200, time.Second })
		m.owns(1)
		r.putN(0, 1000)
		r.until("paused", 10*time.Second, func() bool { return m.partition("orders", 0).Paused })
		r.cluster.Take(billing, at("orders", 0))
		r.until("given up", 10*time.Second, func() bool { return r.lost(at("orders", 0)) })
		close(stuck)
		r.cluster.GiveBack(billing, at("orders", 0))
		r.untilCommitted("orders", 0, 1000)
		m.stop()
	})
}

func TestOperatorPauseHoldsThroughRebalances(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		m := r.run(done)
		m.owns(2)
		m.Pause("orders", 0)
		r.cluster.Take(billing, at("orders", 0))
		r.until("given up", 10*time.Second, func() bool { return r.lost(at("orders", 0)) })
		r.cluster.GiveBack(billing, at("orders", 0))
		m.owns(2)
		r.putN(0, 5)
		r.putN(1, 5)
		r.untilCommitted("orders", 1, 5)
		pass(10 * time.Second)
		p := m.partition("orders", 0)
		if !p.Paused || p.Buffered != 0 || !slices.Contains(m.gates("orders", 0), "operator") || len(r.of(0, 0)) > 0 {
			t.Errorf("state %+v and %d calls of a partition an operator paused", p, len(r.of(0, 0)))
		}
		m.Resume("orders", 0)
		r.untilCommitted("orders", 0, 5)
		m.Pause("orders", AllPartitions)
		pass(time.Second)
		if !m.partition("orders", 0).Paused || !m.partition("orders", 1).Paused {
			t.Error("AllPartitions paused only some")
		}
		m.Resume("orders", AllPartitions)
		r.putN(0, 1)
		r.untilCommitted("orders", 0, 6)
		m.stop()
	})
}

func TestWaitingLaneRecordsMoveWithTheirPartition(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		policy := retry.Policy{MaxAttempts: 3, Initial: time.Minute, Multiplier: 1, DisableJitter: true}
		first := r.run(failing(errDown), func(c *Config) { c.Retry = policy })
		first.owns(2)
		r.putN(0, 3)
		r.putN(1, 3)
		r.untilCommitted("orders", 0, 3)
		r.untilCommitted("orders", 1, 3)
		second := r.run(failing(errDown), func(c *Config) { c.Retry = policy })
		second.owns(1)
		pass(10 * time.Second)
		first.stop()
		r.until("all handled", 2*time.Minute, func() bool { return second.state().Handled == 6 })
		second.stop()
		for p := range int32(2) {
			for o := range int64(3) {
				calls := r.of(p, o)
				if len(calls) != 2 {
					t.Fatalf("%d calls of %d/%d, want 2", len(calls), p, o)
				}
				if wait := calls[1].began.Sub(calls[0].ended); wait < time.Minute-time.Millisecond || wait > time.Minute+time.Second {
					t.Errorf("second attempt of %d/%d after %v, want a minute", p, o, wait)
				}
			}
		}
	})
}

func TestEagerGroupsWorkToo(t *testing.T) {
	bubble(t, orders(4), func(t *testing.T, r *rig) {
		eager := func(c *Config) { c.Kafka = map[string]string{"partition.assignment.strategy": "range"} }
		first := r.run(slow(50*time.Millisecond), eager)
		first.owns(4)
		for p := range int32(4) {
			r.putN(p, 40)
		}
		pass(time.Second)
		second := r.run(slow(50*time.Millisecond), eager)
		second.owns(2)
		for p := range int32(4) {
			r.untilCommitted("orders", p, 40)
		}
		first.stop()
		second.stop()
		if n := len(r.made()); n != 160 {
			t.Errorf("%d calls for 160 records", n)
		}
	})
}
