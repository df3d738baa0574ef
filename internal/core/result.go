package core

import (
	"time"

	"github.com/holdfast-kafka/holdfast/retry"
)

// runFinished takes a run back from its worker.
func (c *Core) runFinished(run *Run) {
	c.freeSlots++
	p := run.Part
	p.running -= len(run.Recs)
	c.handling -= len(run.Recs)
	if p.Role == Replay {
		c.replayRunning--
	}
	c.measure(c.routes[p.Route], run)
	c.stats.Attempts += int64(run.Attempted)
	// What goes back to the front of its unit goes in reverse, so that it
	// stands there in order: the unattempted, then what is held, which is
	// only ever the last attempted.
	last := len(run.Recs)
	for last > 0 && (last > run.Attempted || c.keepsPlace(run.Recs[last-1])) {
		last--
		c.goBack(p, run.Recs[last], last >= run.Attempted)
	}
	for _, r := range run.Recs[:last] {
		c.conclude(p, r)
	}
	c.freeRun(run)
	c.progressed(p)
}

// stale reports that a record's epoch is over, or its log gone.
func (c *Core) stale(p *Part, r *Rec) bool {
	return p.status == partDead || p.gone(r)
}

// keepsPlace reports that an attempt leaves its record at the front.
func (c *Core) keepsPlace(r *Rec) bool {
	switch r.Result.Outcome {
	case OutcomeHold, OutcomeAbandoned:
		return true
	case OutcomeFailed:
		return r.Result.Verdict.Class == retry.ClassTransient && c.routes[r.Part.Route].InPlace
	case OutcomeDone, OutcomeDrop:
	}
	return false
}

// goBack returns a record to the front of its unit: never begun, held, or to
// be tried again in place.
func (c *Core) goBack(p *Part, r *Rec, unattempted bool) {
	c.returnTickets(r)
	if c.stale(p, r) {
		c.late(p, r, !unattempted)
		c.settleUnit(r)
		return
	}
	if !unattempted && r.Result.Outcome == OutcomeFailed {
		c.inPlace(p, r)
		return
	}
	c.requeue(p, r)
	if unattempted || r.Result.Outcome != OutcomeHold {
		c.settleUnit(r)
		return
	}
	c.hold(p, r)
	c.settleUnit(r)
}

// requeue puts a record back, unless its partition is being given up.
func (c *Core) requeue(p *Part, r *Rec) {
	r.from = c.now
	if p.status != partOwned || c.stop.phase != running {
		c.release(p, r)
		return
	}
	if r.unit == nil {
		p.loose.pushFront(r)
		return
	}
	r.unit.queue.pushFront(r)
}

// settleUnit notes that a record left its worker.
func (c *Core) settleUnit(r *Rec) {
	if u := r.unit; u != nil {
		u.out--
		r.Part.rouse(u)
	}
}

// hold lets a record wait in memory, uncharged.
func (c *Core) hold(p *Part, r *Rec) {
	c.stats.Held++
	c.notice(Notice{Kind: NoticeHeld, Part: p, Rec: r, Offset: r.Offset, Wait: r.Result.Verdict.After})
	if p.status != partOwned {
		return
	}
	if r.Result.Breaker != NoBreaker && c.learn(p, int(r.Result.Breaker)).state == BreakerOpen {
		return // the breaker's gate holds it
	}
	c.waitInPlace(p, r, r.Result.Verdict.After)
}

// waitInPlace keeps a record that was just requeued from running for d.
func (c *Core) waitInPlace(p *Part, r *Rec, d time.Duration) {
	if r.unit != nil {
		c.block(r.unit, d)
		return
	}
	if p.loose.head == r {
		p.loose.pop()
		r.Due = c.now.Add(max(d, time.Millisecond))
		c.await(p, r)
	}
}

// inPlace decides on a failed record that keeps its place.
func (c *Core) inPlace(p *Part, r *Rec) {
	decision := c.decide(p, r)
	if decision.Action == retry.ActionDead {
		c.die(p, r, decision.Disposition)
		c.settleUnit(r)
		return
	}
	c.retried(p, r, decision.Wait)
	c.requeue(p, r)
	if p.status == partOwned {
		c.waitInPlace(p, r, decision.Wait+decision.Jitter)
		r.from = c.now.Add(decision.Wait) // the wait is the policy's, not a hold
	}
	c.settleUnit(r)
}

// conclude ends an attempt whose record gives up its place.
func (c *Core) conclude(p *Part, r *Rec) {
	c.returnTickets(r)
	if c.stale(p, r) {
		c.late(p, r, true)
		c.settleUnit(r)
		return
	}
	switch r.Result.Outcome {
	case OutcomeDone:
		c.stats.Done++
		c.finish(p, r)
	case OutcomeDrop:
		c.stats.Dropped++
		c.notice(Notice{Kind: NoticeDropped, Part: p, Rec: r, Offset: r.Offset})
		c.finish(p, r)
	case OutcomeFailed:
		c.failed(p, r)
	case OutcomeHold, OutcomeAbandoned:
		c.requeue(p, r) // not reached: these keep their place
	}
	c.settleUnit(r)
}

// failed sends a failed record to a lane or to the dead letters.
func (c *Core) failed(p *Part, r *Rec) {
	decision := c.decide(p, r)
	if decision.Action == retry.ActionDead {
		c.die(p, r, decision.Disposition)
		return
	}
	c.retried(p, r, decision.Wait)
	c.toLane(p, r, decision.Wait, true)
}

// retried charges a failed attempt that another will follow.
func (c *Core) retried(p *Part, r *Rec, wait time.Duration) {
	c.charge(r)
	c.stats.Retried++
	c.notice(Notice{Kind: NoticeRetry, Part: p, Rec: r, Offset: r.Offset, Wait: wait})
}

// decide asks the policy what a failed attempt means.
func (c *Core) decide(p *Part, r *Rec) retry.Decision {
	var elapsed time.Duration
	if r.Failed {
		elapsed = max(0, c.now.Sub(r.FirstFailure)-r.Held)
	}
	return c.routes[p.Route].Policy.Next(retry.State{
		Attempts: int(r.Attempts) + 1,
		Elapsed:  elapsed,
		Verdict:  r.Result.Verdict,
		Cause:    r.Result.Disposition,
		Random:   c.random.Float64(),
	})
}

// charge counts a failed attempt.
func (c *Core) charge(r *Rec) {
	r.Attempts++
	if !r.Failed {
		r.Failed, r.FirstFailure = true, c.now
	}
}

// die gives a record up.
func (c *Core) die(p *Part, r *Rec, why Disposition) {
	switch c.routes[p.Route].DeadLetters {
	case DeadToTopic:
		c.charge(r)
		c.stats.Dead++
		c.notice(Notice{Kind: NoticeDead, Part: p, Rec: r, Offset: r.Offset, Disposition: why})
		c.publish(p, r, Publish{Target: ToDeadLetters, Charged: true, Disposition: why})
	case DeadDrop:
		c.stats.Dropped++
		c.notice(Notice{Kind: NoticeDropped, Part: p, Rec: r, Offset: r.Offset, Disposition: why})
		c.finish(p, r)
	case DeadBlock:
		c.notice(Notice{Kind: NoticeBlocked, Part: p, Rec: r, Offset: r.Offset, Disposition: why})
		c.requeue(p, r)
		if p.status == partOwned {
			c.waitInPlace(p, r, c.routes[p.Route].Policy.Max)
		}
	}
}

// toLane writes a copy to the lane for a wait.
func (c *Core) toLane(p *Part, r *Rec, wait time.Duration, charged bool) {
	at := c.routes[p.Route].Policy.Place(wait, c.random.Float64())
	c.publish(p, r, Publish{Target: ToLane, Lane: at.Index, Wait: at.Wait, Charged: charged})
}

// park moves a record to a lane without charging it.
func (c *Core) park(p *Part, r *Rec, wait time.Duration) {
	c.stats.Parked++
	c.notice(Notice{Kind: NoticeParked, Part: p, Rec: r, Offset: r.Offset, Wait: wait})
	c.toLane(p, r, wait, false)
}

// late drops what belongs to an epoch or a log that is over.
func (c *Core) late(p *Part, r *Rec, attempted bool) {
	if p.status != partDead {
		c.release(p, r)
	}
	if attempted {
		c.stats.Late++
		c.notice(Notice{Kind: NoticeLate, Part: p, Rec: r, Offset: r.Offset})
	}
}

func (c *Core) freeRun(run *Run) {
	clear(run.buf[:])
	run.Part, run.Recs = nil, nil
	c.freeRuns = append(c.freeRuns, run)
}
