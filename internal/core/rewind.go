package core

// rewound is a jump back within an epoch: records of an older generation from
// this offset on belong to a log that is gone.
type rewound struct {
	gen uint32
	to  int64
}

// rewind goes back to an offset within an epoch: the log was truncated or the
// position reset. What was taken from there on belongs to the log that is gone
// and is dropped; what lies before it and is unfinished stays, and the position
// waits for it as before.
func (c *Core) rewind(p *Part, to int64) {
	c.stats.Rewound++
	c.notice(Notice{Kind: NoticeRewound, Part: p, Offset: to})
	p.gen++
	if oldest, ok := p.tracker.oldest(); !ok || oldest >= to {
		c.beginAnew(p)
		return
	}
	p.rewinds = append(p.rewinds, rewound{gen: p.gen, to: to})
	p.tracker.truncate(to)
	p.committed = min(p.committed, to)
	c.dropFrom(p, to)
	if p.backlog.head == nil {
		c.open(p, GateWindow)
	}
	if p.failedPublishes.head == nil {
		c.open(p, GatePublish)
	}
	if p.foreignFrom >= to {
		c.open(p, GateForeign)
	}
}

// beginAnew forgets all of the log before: nothing of it is owed.
func (c *Core) beginAnew(p *Part) {
	c.discard(p)
	p.main.detached = true
	p.main = &unit{part: p}
	p.tracker.reset()
	p.committed = 0
	p.rewinds = []rewound{{gen: p.gen}}
	for r := p.failedPublishes.pop(); r != nil; r = p.failedPublishes.pop() {
		c.release(p, r)
	}
	for _, g := range [...]Gate{GateWindow, GateBackoff, GatePublish, GateForeign} {
		c.open(p, g)
	}
}

// gone reports that a record's log was rewound past it.
func (p *Part) gone(r *Rec) bool {
	if r.gen == p.gen {
		return false
	}
	for _, w := range p.rewinds {
		if w.gen > r.gen && r.Offset >= w.to {
			return true
		}
	}
	return false
}

// dropFrom drops the records from an offset on that nobody has in hand. Units
// stay, with what they have out: a record's handler may still run, and no
// other of its unit may run beside it.
func (c *Core) dropFrom(p *Part, to int64) {
	for _, q := range []*recQueue{&p.backlog, &p.loose, &p.main.queue, &p.failedPublishes} {
		c.dropFromQueue(p, q, to)
	}
	for _, u := range p.keys {
		c.dropFromQueue(p, &u.queue, to)
	}
	waiting := p.waiting
	p.waiting = nil
	for _, r := range waiting {
		if r.Offset >= to {
			c.release(p, r)
			continue
		}
		p.waiting.push(r)
	}
	// A ready unit may have become empty: the list is made anew.
	ready := p.ready
	p.ready = nil
	for _, u := range ready {
		u.inReady = false
		p.rouse(u)
	}
}

func (c *Core) dropFromQueue(p *Part, q *recQueue, to int64) {
	for n := q.n; n > 0; n-- {
		r := q.pop()
		if r.Offset >= to {
			c.release(p, r)
			continue
		}
		q.push(r)
	}
}
