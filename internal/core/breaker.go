package core

import "slices"

// breakerState is a breaker as the core knows it.
type breakerState struct {
	state   BreakerState
	until   Instant
	tickets int
	probes  int // records in flight that may probe
}

// breaker returns the state of a breaker, closed if it was never heard of.
func (c *Core) breaker(id int) *breakerState {
	for len(c.brks) <= id {
		c.brks = append(c.brks, &breakerState{tickets: 1})
	}
	return c.brks[id]
}

// room is how many records may go to this breaker's downstream now.
func (b *breakerState) room() int {
	if b.state == BreakerClosed {
		return MaxRun
	}
	if b.state == BreakerOpen {
		return 0
	}
	return max(0, b.tickets-b.probes)
}

// breakerChanged follows a breaker. An open one gates what depends on it
// until it would let probes in.
func (c *Core) breakerChanged(e *BreakerChanged) {
	b := c.breaker(e.Breaker)
	b.state, b.until, b.tickets = e.State, e.Until, max(1, e.Tickets)
	if b.state == BreakerOpen {
		c.timers.push(timer{at: b.until, kind: timerBreaker, brk: b})
		return
	}
	c.wakeDependants(b)
}

// probe lets records through to a breaker whose open time is over. It moves to
// half-open itself when the first of them calls it.
func (c *Core) probe(b *breakerState) {
	if b.state != BreakerOpen || b.until > c.now {
		return
	}
	b.state = BreakerHalfOpen
	c.wakeDependants(b)
}

func (c *Core) wakeDependants(b *breakerState) {
	for _, cl := range c.clients {
		for _, p := range cl.parts {
			if c.dependsOn(p.Route, b) {
				c.wake(p)
			}
		}
	}
}

func (c *Core) dependsOn(route int, b *breakerState) bool {
	return slices.Contains(c.routes[route].breakers, b)
}

// learn notes that a route depends on a breaker it did not declare.
func (c *Core) learn(p *Part, id int) *breakerState {
	b := c.breaker(id)
	if !c.dependsOn(p.Route, b) {
		route := c.routes[p.Route]
		route.breakers = append(route.breakers, b)
	}
	return b
}

// returnTickets frees the probes of a record that is back, whether it called
// the breaker or not.
func (c *Core) returnTickets(r *Rec) {
	if r.more == nil || len(r.more.probing) == 0 {
		return
	}
	probing := r.more.probing
	r.more.probing = nil
	for _, b := range probing {
		b.probes--
		if b.state == BreakerHalfOpen {
			c.wakeDependants(b)
		}
	}
}
