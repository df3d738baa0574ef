package core

// arrived takes polled records in. Memory is counted from here until the
// record is finished or its epoch ends.
func (c *Core) arrived(e *Arrived) {
	var p *Part
	for _, r := range e.Recs {
		if r.Part != p {
			c.settle(p)
			p = r.Part
		}
		c.arrive(p, r)
	}
	c.settle(p)
}

// settle does once for a series of arrivals what need not be done for each.
func (c *Core) settle(p *Part) {
	if p != nil && p.status == partOwned {
		c.weighPause(p)
		c.relieve(c.clients[p.Client])
		c.wake(p)
		c.armCommit(c.clients[p.Client], p)
	}
}

func (c *Core) arrive(p *Part, r *Rec) {
	if p.status != partOwned || c.stop.phase != running {
		return // dropped: never admitted, never committed
	}
	if p.seen && r.Offset <= p.last {
		c.rewind(p, r.Offset)
	}
	p.seen, p.last = true, r.Offset
	cl := c.clients[p.Client]
	p.records++
	p.bytes += int(r.Size)
	cl.records++
	cl.bytes += int(r.Size)
	r.gen, r.from = p.gen, max(c.now, r.Due)
	if p.backlog.head != nil || p.tracker.span() >= c.cfg.MaxUncommitted {
		p.backlog.push(r)
		c.close(p, GateWindow)
		return
	}
	c.admit(p, r)
}

// admit lets a record into its unit. From here the position waits for it.
func (c *Core) admit(p *Part, r *Rec) {
	r.seq = p.tracker.add(r.Offset, r.LeaderEpoch)
	switch {
	case r.Mark == Foreign:
		c.notice(Notice{Kind: NoticeForeign, Part: p, Rec: r, Offset: r.Offset})
		if !p.gates.has(GateForeign) {
			p.foreignFrom = r.Offset
		}
		c.close(p, GateForeign)
		c.release(p, r) // only its place is kept
	case r.Mark == Passed:
		c.stats.Passed++
		c.notice(Notice{Kind: NoticePassed, Part: p, Rec: r, Offset: r.Offset})
		c.finish(p, r)
	case r.Due > c.now:
		c.await(p, r)
	default:
		c.enqueue(p, r)
	}
}

// enqueue puts a record behind its unit's others.
func (c *Core) enqueue(p *Part, r *Rec) {
	u := c.unitOf(r)
	r.unit = u
	if u == nil {
		c.runLoose(p, r)
		return
	}
	u.queue.push(r)
	p.rouse(u)
}

// runLoose readies a record without a unit, unless its lane was shorter than
// its wait: then it moves on.
func (c *Core) runLoose(p *Part, r *Rec) {
	if rest := r.Rest; rest > 0 {
		if !c.routes[p.Route].InPlace {
			c.park(p, r, rest)
			return
		}
		r.Due, r.Rest = c.now.Add(rest), 0 // of an earlier policy: there are no lanes now
		c.await(p, r)
		return
	}
	if first := p.loose.head; p.Role == Source && first != nil && r.seq < first.seq {
		p.loose.pushFront(r) // it was held
		return
	}
	p.loose.push(r)
}

// await keeps a record without a unit until it is due.
func (c *Core) await(p *Part, r *Rec) {
	p.waiting.push(r)
	c.armDue(p)
}

func (c *Core) armDue(p *Part) {
	if len(p.waiting) == 0 {
		return
	}
	if at := p.waiting[0].Due; p.waitingAt == 0 || at < p.waitingAt {
		p.waitingAt = at
		c.timers.push(timer{at: at, kind: timerDue, part: p})
	}
}

// releaseDue readies the waiting records whose time has come.
func (c *Core) releaseDue(p *Part, at Instant) {
	if p.waitingAt == at {
		p.waitingAt = 0
	}
	if p.status != partOwned {
		return
	}
	for len(p.waiting) > 0 && p.waiting[0].Due <= c.now {
		c.runLoose(p, p.waiting.pop())
	}
	c.armDue(p)
	c.wake(p)
}

// finish ends a record whose outcome is durable.
func (c *Core) finish(p *Part, r *Rec) {
	c.release(p, r)
	p.tracker.done(r.seq)
	c.clients[p.Client].finished++
}

// release gives back the memory a record counted for.
func (c *Core) release(p *Part, r *Rec) {
	cl := c.clients[p.Client]
	p.records--
	p.bytes -= int(r.Size)
	cl.records--
	cl.bytes -= int(r.Size)
}

// progressed does once for a series of finished records what need not be done
// for each: let the backlog in, resume, commit, go on with a drain.
func (c *Core) progressed(p *Part) {
	if p.status == partOwned {
		for p.backlog.head != nil && p.tracker.span() < c.cfg.MaxUncommitted {
			c.admit(p, p.backlog.pop())
		}
		if p.backlog.head == nil {
			c.open(p, GateWindow)
		}
		c.weighPause(p)
		c.wake(p)
	}
	cl := c.clients[p.Client]
	c.relieve(cl)
	c.armCommit(cl, p)
	if cl.revoke != nil {
		c.advanceRevoke(cl)
	}
}

// discard drops everything of a partition that nobody has in hand.
func (c *Core) discard(p *Part) {
	for r := p.backlog.pop(); r != nil; r = p.backlog.pop() {
		c.release(p, r)
	}
	for r := p.loose.pop(); r != nil; r = p.loose.pop() {
		c.release(p, r)
	}
	for _, r := range p.waiting {
		c.release(p, r)
	}
	p.waiting, p.waitingAt = nil, 0
	c.empty(p, p.main)
	for _, u := range p.keys {
		c.empty(p, u)
		u.detached = true
	}
	p.ready, p.keys = nil, nil
}

func (c *Core) empty(p *Part, u *unit) {
	for r := u.queue.pop(); r != nil; r = u.queue.pop() {
		c.release(p, r)
	}
	u.inReady, u.blocked = false, 0 // its timer must not take it for the unit that follows
}
