package core

import "time"

// publish asks for a copy of a record. Its unit goes on meanwhile; its
// position does not move before the copy is acknowledged.
func (c *Core) publish(p *Part, r *Rec, what Publish) {
	what.Rec = r
	t := r.trouble()
	t.publish = what
	p.publishing++
	c.do(&t.publish)
}

// published takes the fates of copies.
func (c *Core) published(e *Published) {
	var p *Part
	for _, ack := range e.Acks {
		if ack.Rec.Part != p {
			if p != nil {
				c.progressed(p)
			}
			p = ack.Rec.Part
		}
		c.acked(p, ack)
	}
	if p != nil {
		c.progressed(p)
	}
}

func (c *Core) acked(p *Part, ack Ack) {
	r := ack.Rec
	p.publishing--
	if c.stale(p, r) {
		c.late(p, r, true)
		return
	}
	switch ack.Result {
	case PublishAcked:
		p.publishDelay = 0
		if p.failedPublishes.head == nil {
			c.open(p, GatePublish)
		}
		c.finish(p, r)
	case PublishTooLarge:
		c.tooLarge(p, r)
	case PublishFailed:
		p.publishDelay = min(max(publishRetry, 2*p.publishDelay), maxPublishRetry)
		c.publishLater(p, r, p.publishDelay)
	}
}

// tooLarge tries a refused copy once alone, since the limit is on a batch,
// then without its payload if the user allowed that, and otherwise holds it.
func (c *Core) tooLarge(p *Part, r *Rec) {
	what := r.more.publish
	switch {
	case !what.Alone:
		what.Alone = true
		c.publish(p, r, what)
	case !what.Omit && c.routes[p.Route].TooLarge == TooLargeOmit:
		what.Omit = true
		c.publish(p, r, what)
	default:
		c.publishLater(p, r, tooLargeRetry)
	}
}

// publishLater keeps a record whose copy could not be written, for ever if
// need be, and gates its partition so that no more of the kind pile up.
func (c *Core) publishLater(p *Part, r *Rec, delay time.Duration) {
	c.stats.PublishRetries++
	c.close(p, GatePublish)
	p.failedPublishes.push(r)
	c.notice(Notice{Kind: NoticePublishRetry, Part: p, Rec: r, Offset: r.Offset, Wait: delay})
	if at := c.now.Add(delay); p.publishAt == 0 || at < p.publishAt {
		p.publishAt = at
		c.timers.push(timer{at: at, kind: timerPublish, part: p})
	}
}

// retryPublishes tries the failed copies of a partition again, in order.
func (c *Core) retryPublishes(p *Part) {
	if p.publishAt == 0 || p.publishAt > c.now {
		return // an earlier timer did it, or a later one will
	}
	p.publishAt = 0
	if p.status == partDead {
		return
	}
	for n := p.failedPublishes.n; n > 0; n-- {
		r := p.failedPublishes.pop()
		if c.stale(p, r) {
			c.late(p, r, false)
			continue
		}
		c.publish(p, r, r.more.publish)
	}
}
