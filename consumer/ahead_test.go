package consumer

import (
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/breaker"
)

func TestRevokeDoesNotWaitForARunThatNobodyBegan(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		m := r.run(slow(8*time.Second), func(c *Config) { c.Concurrency = 1 })
		m.owns(2)
		r.put(0, "a")
		r.until("a call", time.Second, func() bool { return len(r.made()) == 1 })
		r.put(1, "a")
		pass(time.Second)
		r.cluster.Take(billing, at("orders", 1))
		pass(2 * time.Second)
		if !r.lost(at("orders", 1)) {
			t.Error("a partition without a running handler is still not given up after 2 s")
		}
		m.stop()
	})
}

func TestARunThatWaitedDoesNotBeginAtAnOpenBreaker(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		g := newGateway(t, breaker.Config{ConsecutiveFailures: 1, OpenFor: time.Minute})
		g.takes = time.Second
		g.down.Store(true)
		m := r.run(g.handle, func(c *Config) {
			c.Retry, c.Concurrency, c.Routes[0].Breakers = patient(), 1, []*breaker.Breaker{g.Breaker}
		})
		m.owns(2)
		r.put(0, "a")
		r.until("a call", time.Second, func() bool { return len(r.made()) == 1 })
		r.put(1, "a")
		pass(30 * time.Second)
		if n := len(r.made()); n != 1 {
			t.Errorf("%d handler calls, want 1: the breaker is open since the first", n)
		}
		m.stop()
	})
}
