package core

import "slices"

// armCommit sees to it that a partition's progress is committed within the
// interval, or earlier when much was finished.
func (c *Core) armCommit(cl *clientState, p *Part) {
	if !c.hasProgress(p) {
		return
	}
	if cl.finished >= c.cfg.CommitCount {
		c.commit(cl)
	}
	c.armInterval(cl)
}

func (c *Core) armInterval(cl *clientState) {
	if cl.armed || cl.broken {
		return
	}
	cl.armed = true
	cl.commitAt = c.now.Add(c.cfg.CommitInterval)
	c.timers.push(timer{at: cl.commitAt, kind: timerCommit, client: cl})
}

func (c *Core) hasProgress(p *Part) bool {
	if !p.tracker.begun || p.status == partDead || p.status == partNew {
		return false
	}
	at, _ := p.tracker.position()
	return at > p.committed && p.tracker.head > 0
}

// commitDue is the interval's end. While the last commit is unanswered nothing
// happens: its answer arms the next interval.
func (c *Core) commitDue(cl *clientState) {
	cl.armed = false
	c.commit(cl)
}

// commit stores and commits what moved. Nothing moved: nothing happens.
func (c *Core) commit(cl *clientState) {
	if cl.inCommit || cl.broken || cl.closed || c.stop.phase >= closing {
		return
	}
	cl.committing = cl.committing[:0]
	for _, p := range cl.parts {
		if c.hasProgress(p) {
			at, epoch := p.tracker.position()
			cl.committing = append(cl.committing, Position{Part: p, Offset: at, LeaderEpoch: epoch, gen: p.gen})
		}
	}
	if len(cl.committing) == 0 {
		return
	}
	cl.inCommit, cl.finished = true, 0
	positions := make([]Position, len(cl.committing))
	copy(positions, cl.committing)
	c.do(&Store{Client: cl.id, Positions: positions})
}

// commitAnswered notes what the group now has. After an error the positions
// are committed again with the next interval, if they are still ours.
func (c *Core) commitAnswered(e *CommitAnswered) {
	cl := c.clients[e.Client]
	cl.inCommit = false
	c.stats.Commits++
	if e.Err != nil {
		c.stats.CommitErrors++
	} else {
		for _, at := range cl.committing {
			if at.gen == at.Part.gen {
				at.Part.committed = max(at.Part.committed, at.Offset)
			}
		}
	}
	cl.committing = cl.committing[:0]
	if c.stop.phase == committing && e.Err == nil {
		c.commit(cl) // what was finished since
	}
	c.releaseBehind(cl.id)
	if slices.ContainsFunc(cl.parts, c.hasProgress) {
		c.armInterval(cl)
	}
	if cl.revoke != nil {
		c.advanceRevoke(cl)
	}
	if c.stop.phase == closing && !cl.closed {
		c.closeClient(cl) // it could not be closed before
	}
}

// releaseBehind opens the partitions that waited for a client's commit from
// before their epoch.
func (c *Core) releaseBehind(client int) {
	for _, cl := range c.clients {
		for _, p := range cl.parts {
			for i, id := range p.behind {
				if id == client {
					p.behind = append(p.behind[:i], p.behind[i+1:]...)
					break
				}
			}
			if len(p.behind) == 0 && p.status == partOwned {
				c.open(p, GateDrain)
			}
		}
	}
}
