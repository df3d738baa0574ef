package core

import "slices"

// revokeState is a revoke being answered. The rebalance callback waits for it.
type revokeState struct {
	parts      []*Part
	drainBy    Instant
	commitBy   Instant
	drained    bool // nothing runs any more, or the deadline passed
	committing bool
}

// assigned takes partitions over. One that comes back while a commit from
// before its revoke is unanswered is not dispatched until it is.
func (c *Core) assigned(e *AssignedTo) {
	cl := c.clients[e.Client]
	answer := &FinishAssign{Client: e.Client, Parts: e.Parts}
	for _, p := range e.Parts {
		p.status = partOwned
		p.behind = c.unansweredFor(p)
		cl.parts = append(cl.parts, p)
		if len(p.behind) > 0 {
			c.close(p, GateDrain)
		}
		c.applyOperator(p)
		p.paused = p.operatorPaused
		p.pausedAt = c.now
		answer.Paused = append(answer.Paused, p.paused)
	}
	c.do(answer)
}

// unansweredFor returns the clients with an outstanding commit that covers the
// same partition in an older epoch.
func (c *Core) unansweredFor(p *Part) []int {
	var clients []int
	for _, cl := range c.clients {
		if cl.inCommit && slices.ContainsFunc(cl.committing, func(at Position) bool {
			return at.Part.Topic == p.Topic && at.Part.Partition == p.Partition
		}) {
			clients = append(clients, cl.id)
		}
	}
	return clients
}

// revoked gives partitions up: in peace after a drain and a commit, at once
// when they are lost.
func (c *Core) revoked(e *RevokedFrom) {
	cl := c.clients[e.Client]
	for _, p := range e.Parts {
		p.status = partDraining
		c.discard(p)
		c.do(&Bar{Part: p})
	}
	c.relieve(cl)
	if e.Lost || cl.broken || c.stop.phase >= closing {
		cause := CauseLost
		if !e.Lost {
			cause = CauseShutdown
		}
		c.bury(cl, e.Parts, cause)
		c.do(&FinishRevoke{Client: e.Client, Parts: e.Parts})
		return
	}
	drainBy := c.now.Add(c.cfg.DrainTimeout)
	cl.revoke = &revokeState{parts: e.Parts, drainBy: drainBy, commitBy: drainBy.Add(commitGrace)}
	c.timers.push(timer{at: drainBy, kind: timerRevoke, client: cl})
	c.timers.push(timer{at: cl.revoke.commitBy, kind: timerRevoke, client: cl})
	c.advanceRevoke(cl)
}

// advanceRevoke takes the next step of a revoke whose time has come: drain,
// commit, give up.
func (c *Core) advanceRevoke(cl *clientState) {
	rv := cl.revoke
	if rv == nil {
		return
	}
	if !rv.drained {
		left := 0
		for _, p := range rv.parts {
			left += p.running + p.publishing + p.failedPublishes.n
		}
		if left > 0 && c.now < rv.drainBy {
			return
		}
		rv.drained = true
		c.abandon(rv.parts, left, CauseRevoked)
	}
	if cl.inCommit && c.now < rv.commitBy {
		return // its answer brings us back
	}
	if !rv.committing && c.now < rv.commitBy {
		rv.committing = true
		c.commit(cl)
		if cl.inCommit {
			return
		}
	}
	cl.revoke = nil
	c.bury(cl, rv.parts, CauseRevoked)
	c.do(&FinishRevoke{Client: cl.id, Parts: rv.parts})
}

// abandon cancels what still runs at the end of a drain.
func (c *Core) abandon(parts []*Part, left int, cause CancelCause) {
	if left == 0 {
		return
	}
	for _, p := range parts {
		if n := p.running + p.publishing + p.failedPublishes.n; n > 0 {
			c.notice(Notice{Kind: NoticeDrainTimeout, Part: p, Count: n})
			c.do(&Cancel{Part: p, Cause: cause})
		}
	}
}

// bury ends epochs. Whatever still comes of them is late.
func (c *Core) bury(cl *clientState, parts []*Part, cause CancelCause) {
	for _, p := range parts {
		if p.running > 0 && cause != CauseRevoked {
			c.do(&Cancel{Part: p, Cause: cause})
		}
		c.discard(p)
		cl.records -= p.records
		cl.bytes -= p.bytes
		p.records, p.bytes = 0, 0
		p.failedPublishes = recQueue{}
		p.status = partDead
	}
	cl.parts = slices.DeleteFunc(cl.parts, func(p *Part) bool { return p.status == partDead })
	c.relieve(cl)
}
