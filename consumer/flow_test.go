package consumer

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// valve holds up the records of partition 0 until it is opened.
type valve struct{ open chan struct{} }

func newValve() *valve { return &valve{open: make(chan struct{})} }

func (v *valve) handle(ctx context.Context, rec *Record) error {
	if rec.Partition != 0 {
		return nil
	}
	select {
	case <-v.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slack is what can arrive while a pause is on its way: a few batches.
const slack = 1024

func TestBuffersAreBoundedBehindAStuckHandler(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		value  int
		change func(*Config)
		bound  int
	}{
		"records": {1, func(c *Config) { c.MaxBuffered = 1000 }, 1000},
		"bytes":   {1000, func(c *Config) { c.MaxBufferedBytes = 1 << 20 }, 1 << 20 / 1000},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				v := newValve()
				for range 4_000 {
					r.cluster.Append(at("orders", 0), client.Message{Value: make([]byte, test.value)})
				}
				m := r.run(v.handle, test.change, func(c *Config) { c.Routes[0].Timeout = NoTimeout })
				r.until("paused", 10*time.Second, func() bool {
					s, err := m.State(t.Context())
					return err == nil && slices.ContainsFunc(s.Partitions, func(p PartitionState) bool { return p.Paused })
				})
				for range 10 {
					pass(10 * time.Second)
					if p := m.partition("orders", 0); p.Buffered > test.bound+slack || !p.Paused {
						t.Fatalf("%d buffered, paused %v; want at most %d and paused", p.Buffered, p.Paused, test.bound+slack)
					}
				}
				close(v.open)
				r.until("all handled", time.Minute, func() bool { return m.state().Handled == 4_000 })
				m.end()
			})
		})
	}
}

func TestOneStuckPartitionDoesNotStopTheOthers(t *testing.T) {
	bubble(t, orders(3), func(t *testing.T, r *rig) {
		v := newValve()
		r.putN(0, 3000)
		m := r.run(v.handle, func(c *Config) { c.MaxBuffered = 500 })
		r.until("the first is stuck", time.Minute, func() bool { return len(r.made()) > 0 })
		pass(time.Second)
		for p := range int32(2) {
			r.putN(p+1, 2000)
		}
		r.untilCommitted("orders", 1, 2000)
		r.untilCommitted("orders", 2, 2000)
		close(v.open)
		r.untilCommitted("orders", 0, 3000)
		m.stop()
	})
}

func TestSlowHandlersKeepTheMembership(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		m := r.run(deaf(18*time.Second), func(c *Config) {
			c.Kafka = map[string]string{"max.poll.interval.ms": "6000"}
		})
		r.putN(0, 3)
		r.put(1, "a")
		r.untilCommitted("orders", 0, 3)
		r.untilCommitted("orders", 1, 1)
		if n := len(r.made()); n != 4 {
			t.Errorf("%d calls for 4 records", n)
		}
		if n := r.logged("kafka client reports an error"); n != 0 {
			t.Errorf("%d errors of the client", n)
		}
		m.stop()
	})
}

func TestWindowBoundsWhatRunsAheadOfTheOldest(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		v := newValve()
		m := r.run(func(ctx context.Context, rec *Record) error {
			if rec.Offset == 10 {
				return v.handle(ctx, rec)
			}
			return nil
		}, func(c *Config) { c.Routes[0].Ordering, c.MaxUncommitted = Unordered, 100 })
		r.putN(0, 500)
		r.untilCommitted("orders", 0, 10)
		pass(10 * time.Second)
		if n := len(r.made()); n != 110 {
			t.Errorf("%d calls, want 110: the ten before the stuck one, it and 99 after it", n)
		}
		if gates := m.gates("orders", 0); !slices.Contains(gates, "window") {
			t.Errorf("gates %v, want window", gates)
		}
		close(v.open)
		r.untilCommitted("orders", 0, 500)
		m.stop()
	})
}

func TestLaneWindowIsBoundedAndNothingIsLate(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		const n = 5200
		for range n {
			r.cluster.Append(at("orders", 0), client.Message{})
		}
		m := r.run(failing(errDown), func(c *Config) {
			c.Retry = retry.Policy{MaxAttempts: 2, Initial: time.Minute, DisableJitter: true}
		})
		r.untilCommitted("orders", 0, n)
		pass(30 * time.Second)
		if got := m.partition(lane(time.Minute), 0); got.Buffered > laneWindowRecords+slack || !got.Paused {
			t.Errorf("%d lane records buffered, paused %v; want at most %d", got.Buffered, got.Paused, laneWindowRecords+slack)
		}
		r.until("all handled", 40*time.Second, func() bool { return m.state().Handled == n })
		m.end()
	})
}
