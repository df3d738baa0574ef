package core

import (
	"math"
	"time"
)

// wake lists a partition as ready if it could be dispatched.
func (c *Core) wake(p *Part) {
	if p.inReady || p.status != partOwned || p.gates&stopping != 0 || !p.hasWork() {
		return
	}
	p.inReady = true
	c.queues[c.queueOf(p)].push(p)
}

func (c *Core) queueOf(p *Part) int {
	if p.Role == Replay {
		return len(c.queues) - 1
	}
	return p.Route
}

// dispatch fills the free slots, routes in turn, and within a route its
// partitions in turn.
func (c *Core) dispatch() {
	if c.stop.phase != running {
		return
	}
	for c.freeSlots > 0 {
		p := c.nextReady()
		if p == nil {
			return
		}
		if p.status != partOwned || p.gates&stopping != 0 || !p.hasWork() {
			continue
		}
		limit := c.runLimit(p)
		if limit == 0 {
			c.close(p, GateBreaker) // the breaker wakes it
			continue
		}
		c.open(p, GateBreaker)
		run := c.take(p, limit)
		c.freeSlots--
		p.running += len(run.Recs)
		c.handling += len(run.Recs)
		if p.Role == Replay {
			c.replayRunning++
		}
		c.do(&Dispatch{Run: run})
		c.wake(p)
	}
}

// nextReady takes the partition whose turn it is. Replay lanes get at most a
// quarter of the slots while others wait.
func (c *Core) nextReady() *Part {
	n := len(c.queues)
	for i := range n {
		q := (c.turn + i) % n
		if c.queues[q].head == nil {
			continue
		}
		if q == n-1 && c.replayRunning >= max(1, (c.cfg.Slots-c.cfg.Ahead)/4) && c.othersReady() {
			continue
		}
		c.turn = (q + 1) % n
		p := c.queues[q].pop()
		p.inReady = false
		return p
	}
	return nil
}

func (c *Core) othersReady() bool {
	for i := range c.queues[:len(c.queues)-1] {
		if c.queues[i].head != nil {
			return true
		}
	}
	return false
}

// runLimit is how many records the next run may hold. A run of quick records
// is long, so that handing over costs little; a run of slow ones is one, so
// that a slot comes free soon and no key waits behind another.
func (c *Core) runLimit(p *Part) int {
	r := c.routes[p.Route]
	limit := MaxRun
	for _, b := range r.breakers {
		limit = min(limit, b.room())
	}
	if limit < MaxRun || (r.measured && r.perRecord*2 > float64(runBudget)) {
		return min(limit, 1)
	}
	if !r.measured {
		if r.Ordering == ByPartition && p.Role == Source {
			return limit
		}
		return min(limit, 1)
	}
	return max(1, min(limit, int(float64(runBudget)/max(r.perRecord, 1))))
}

// take makes a run from the partition's ready units and loose records, the
// oldest first.
func (c *Core) take(p *Part, limit int) *Run {
	run := c.newRun(p)
	for len(run.Recs) < limit && p.hasWork() {
		if len(p.ready) == 0 || (p.loose.head != nil && p.loose.head.seq < p.ready[0].oldest()) {
			c.load(run, p.loose.pop())
			continue
		}
		u := p.ready.pop()
		u.inReady = false
		for more := true; more; more = len(run.Recs) < limit && u.queue.head != nil && u.oldest() < p.oldestReady() {
			u.out++
			c.load(run, u.queue.pop())
		}
	}
	return run
}

// oldestReady is the sequence of the oldest record that may be dispatched.
func (p *Part) oldestReady() uint64 {
	oldest := uint64(math.MaxUint64)
	if len(p.ready) > 0 {
		oldest = p.ready[0].oldest()
	}
	if p.loose.head != nil {
		oldest = min(oldest, p.loose.head.seq)
	}
	return oldest
}

func (c *Core) load(run *Run, r *Rec) {
	run.Recs = append(run.Recs, r)
	if r.Failed {
		r.Held += max(0, c.now.Sub(r.from))
	}
	r.Result = Result{Breaker: NoBreaker}
	for _, b := range c.routes[run.Part.Route].breakers {
		if b.state != BreakerClosed {
			run.Probe = true
			b.probes++
			t := r.trouble()
			t.probing = append(t.probing, b)
		}
	}
}

func (c *Core) newRun(p *Part) *Run {
	var run *Run
	if n := len(c.freeRuns); n > 0 {
		run = c.freeRuns[n-1]
		c.freeRuns = c.freeRuns[:n-1]
	} else {
		run = new(Run)
	}
	run.Part, run.Recs, run.Probe, run.Attempted, run.Elapsed = p, run.buf[:0], false, 0, 0
	r := c.routes[p.Route]
	run.StopOnFailure = r.InPlace || r.DeadLetters == DeadBlock
	return run
}

func (c *Core) measure(r *routeState, run *Run) {
	if run.Attempted == 0 {
		return
	}
	each := float64(run.Elapsed) / float64(run.Attempted)
	if !r.measured {
		r.measured, r.perRecord = true, each
		return
	}
	r.perRecord += (each - r.perRecord) / 8
}

// unblock lets a unit run after its wait.
func (c *Core) unblock(u *unit) {
	if u.blocked == 0 || u.blocked > c.now {
		return
	}
	u.blocked = 0
	p := u.part
	if p.status != partOwned {
		return
	}
	c.open(p, GateBackoff)
	p.rouse(u)
	c.wake(p)
}

// block keeps a unit from running for d.
func (c *Core) block(u *unit, d time.Duration) {
	u.blocked = c.now.Add(max(d, time.Millisecond))
	c.timers.push(timer{at: u.blocked, kind: timerUnit, unit: u})
	if u == u.part.main {
		c.close(u.part, GateBackoff)
	}
}
