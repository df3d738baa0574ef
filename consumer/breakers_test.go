package consumer

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/breaker"
	"github.com/holdfast-kafka/holdfast/retry"
)

// gateway is a downstream behind a breaker.
type gateway struct {
	*breaker.Breaker

	down   atomic.Bool
	takes  time.Duration
	inside atomic.Int32 // calls under way
	most   atomic.Int32 // at once, since it was reset
	calls  atomic.Int32
}

func newGateway(t *testing.T, cfg breaker.Config) *gateway {
	t.Helper()
	cfg.Random = func() float64 { return 0 }
	b, err := breaker.New("gateway", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &gateway{Breaker: b}
}

// handle calls the downstream.
func (g *gateway) handle(ctx context.Context, _ *Record) error {
	err := g.Do(ctx, func(context.Context) error {
		g.calls.Add(1)
		if n := g.inside.Add(1); n > g.most.Load() {
			g.most.Store(n)
		}
		defer g.inside.Add(-1)
		if g.takes > 0 {
			pause(g.takes)
		}
		if g.down.Load() {
			return errDown
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("charge: %w", err)
	}
	return nil
}

// pause is what a handler does that takes its time.
func pause(d time.Duration) { <-time.NewTimer(d).C }

// patient never gives a record up within a test.
func patient() retry.Policy {
	return retry.Policy{MaxAttempts: 1000, Initial: time.Second, Multiplier: 1, DisableJitter: true}
}

func TestOpenBreakerHoldsItsRoute(t *testing.T) {
	t.Parallel()
	for name, declare := range map[string]bool{"declared": true, "learned": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, map[string]int{"orders": 4, "refunds": 1}, func(t *testing.T, r *rig) {
				g := newGateway(t, breaker.Config{ConsecutiveFailures: 3, OpenFor: 10 * time.Second, MaxOpenFor: 10 * time.Second})
				g.down.Store(true)
				m := r.run(g.handle, func(c *Config) {
					c.Retry, c.Concurrency = patient(), 4
					c.Routes = append(c.Routes, Route{Topics: []string{"refunds"}, Handler: HandlerFunc(done)})
					if declare {
						c.Routes[0].Breakers = []*breaker.Breaker{g.Breaker}
					}
				})
				m.owns(4)
				for p := range int32(4) {
					r.putN(p, 5)
				}
				r.until("open", 10*time.Second, func() bool { return g.State().State == breaker.Open })
				began := len(r.made())
				until := g.State().Until
				r.cluster.Append(at("refunds", 0), r.in("orders")[0])
				pass(9 * time.Second)
				if n := len(r.made()) - began; n != 1 || r.made()[began].topic != "refunds" {
					t.Errorf("%d calls while the breaker is open, want the other route's alone", n)
				}
				if gates := m.gates("orders", 0); !slices.Contains(gates, "breaker") {
					t.Errorf("gates %v, want breaker", gates)
				}
				charged := m.state().Retried
				if charged != 3 {
					t.Errorf("%d attempts charged, want the 3 that reached the downstream", charged)
				}
				g.down.Store(false)
				r.until("everything committed", 10*time.Second, func() bool {
					sum := int64(0)
					for p := range int32(4) {
						sum += r.committed("orders", p)
					}
					return sum == 20
				})
				if took := time.Since(until); took > 2*time.Second {
					t.Errorf("drained %v after the breaker let probes in, want within 2 s", took)
				}
				if s := m.state(); s.Retried != charged || s.Dead != 0 {
					t.Errorf("retried %d, dead %d; want %d, 0", s.Retried, s.Dead, charged)
				}
				pass(20 * time.Second) // the three in the lane
				m.stop()
				if n := g.calls.Load(); n != 23 {
					t.Errorf("the downstream was called %d times, want 23", n)
				}
			})
		})
	}
}

func TestHalfOpenLetsTheProbesInAndNoMore(t *testing.T) {
	bubble(t, orders(4), func(t *testing.T, r *rig) {
		g := newGateway(t, breaker.Config{
			ConsecutiveFailures: 1, OpenFor: 10 * time.Second, MaxOpenFor: 10 * time.Second, Probes: 2,
		})
		g.down.Store(true)
		m := r.run(g.handle, func(c *Config) {
			c.Retry = patient()
			c.Routes[0].Ordering, c.Routes[0].Breakers = Unordered, []*breaker.Breaker{g.Breaker}
		})
		m.owns(4)
		r.put(0, "first")
		r.until("open", 10*time.Second, func() bool { return g.State().State == breaker.Open })
		g.takes = 5 * time.Second
		for p := range int32(4) {
			r.putN(p, 10)
		}
		for round := range 3 {
			g.most.Store(0)
			before := len(r.made())
			r.until("probes", 20*time.Second, func() bool { return g.inside.Load() > 0 })
			pass(4 * time.Second)
			if calls, most := len(r.made())-before, g.most.Load(); calls != 2 || most != 2 {
				t.Errorf("round %d: %d handlers began and %d were in the downstream, want the 2 probes", round, calls, most)
			}
			r.until("open again", 10*time.Second, func() bool { return g.inside.Load() == 0 && g.State().State == breaker.Open })
		}
		g.down.Store(false)
		g.takes = 0
		r.until("drained", 15*time.Second, func() bool { return m.state().Handled >= 40 })
		pass(10 * time.Second)
		m.stop()
		for _, c := range r.made() {
			if c.err != nil && c.attempt > 8 {
				t.Errorf("offset %d of partition %d failed at attempt %d", c.offset, c.partition, c.attempt)
			}
		}
	})
}

func TestAProbeThatDoesNotCallGivesItsTicketBack(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		g := newGateway(t, breaker.Config{ConsecutiveFailures: 1, OpenFor: 10 * time.Second})
		g.down.Store(true)
		m := r.run(func(ctx context.Context, rec *Record) error {
			if string(rec.Value) == "skip" {
				return nil
			}
			return g.handle(ctx, rec)
		}, func(c *Config) { c.Retry, c.Routes[0].Breakers = patient(), []*breaker.Breaker{g.Breaker} })
		r.put(0, "call")
		r.until("open", 10*time.Second, func() bool { return g.State().State == breaker.Open })
		g.down.Store(false)
		r.put(0, "skip", "skip", "skip", "skip", "call", "call")
		r.untilCommitted("orders", 0, 7)
		m.stop()
		if g.State().State != breaker.Closed {
			t.Errorf("the breaker is %v", g.State().State)
		}
	})
}

func TestAnOpenBreakerOfALaneRecordChargesNothing(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		g := newGateway(t, breaker.Config{ConsecutiveFailures: 1, OpenFor: time.Minute, MaxOpenFor: time.Minute})
		g.down.Store(true)
		m := r.run(g.handle) // three attempts, then dead
		r.put(0, "a")
		r.until("open", 10*time.Second, func() bool { return g.State().State == breaker.Open })
		pass(50 * time.Second)
		if n := len(r.made()); n > 2 {
			t.Errorf("%d calls, want the first and at most one that learns the breaker is open", n)
		}
		g.down.Store(false)
		r.untilCommitted(lane(time.Second), 0, 1)
		m.stop()
		calls := r.of(0, 0)
		if last := calls[len(calls)-1]; last.attempt != 2 || last.err != nil {
			t.Errorf("last call %+v, want attempt 2 and done", last)
		}
	})
}
