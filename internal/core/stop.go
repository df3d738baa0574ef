package core

import "time"

// stopPhase is a step of the shutdown. They are taken in order, each ends when
// its work is done or its time is over.
type stopPhase uint8

const (
	running    stopPhase = iota
	draining             // what runs may finish, nothing begins
	cancelling           // what still runs was cancelled
	flushing             // copies wait for their acknowledgement
	committing           // the last positions are committed
	closing              // the clients leave the group
	stopped
)

type stopState struct {
	phase  stopPhase
	until  Instant
	report StopReport
}

// Step names a step of the shutdown.
type Step string

// Steps of the shutdown, as named when they do not end in time.
const (
	StepDrain  Step = "drain"
	StepCancel Step = "cancel"
	StepFlush  Step = "flush"
	StepCommit Step = "commit"
	StepClose  Step = "close"
)

// StopReport says what a shutdown left behind.
type StopReport struct {
	// Overran are the steps that did not end in their time.
	Overran []Step
	// Running, Publishing and Uncommitted count, at the end, the records in
	// handlers, the copies without acknowledgement and the partitions whose
	// last position may not be committed.
	Running, Publishing, Uncommitted int
	// Unclosed are the clients that did not close.
	Unclosed []int
	// Cause is the error that stopped the runtime, nil when it was asked to.
	Cause error
}

// Clean reports that nothing was left behind.
func (r *StopReport) Clean() bool {
	return r.Running == 0 && r.Publishing == 0 && r.Uncommitted == 0 && len(r.Unclosed) == 0 && r.Cause == nil
}

func (c *Core) beginStop() {
	if c.stop.phase != running {
		return
	}
	c.stop.phase = draining
	c.endBy(c.cfg.StopTimeout)
	for _, cl := range c.clients {
		for _, p := range cl.parts {
			c.discard(p)
			c.do(&Bar{Part: p})
			if p.status == partOwned && !p.paused {
				c.setPaused(p, true)
			}
		}
	}
}

func (c *Core) endBy(d time.Duration) {
	c.stop.until = c.now.Add(d)
	c.timers.push(timer{at: c.stop.until, kind: timerStop})
}

// broke takes a client out of service and stops the runtime with its error.
func (c *Core) broke(e *Broke) {
	cl := c.clients[e.Client]
	cl.broken, cl.closed = true, true
	if c.stop.report.Cause == nil {
		c.stop.report.Cause = e.Err
	}
	cl.revoke = nil
	c.bury(cl, cl.parts, CauseLost)
	c.beginStop()
}

// advanceStop takes the steps of the shutdown that are due.
func (c *Core) advanceStop() {
	for c.stop.phase > running && c.stop.phase < stopped && c.stepOver() {
		c.nextStep()
	}
}

// stepOver reports that the current step's work is done or its time over.
func (c *Core) stepOver() bool {
	if c.now >= c.stop.until {
		return true
	}
	inHandlers, copies := c.inHand()
	switch c.stop.phase {
	case draining:
		return inHandlers == 0 && copies == 0
	case cancelling:
		return inHandlers == 0
	case flushing:
		return copies == 0
	case committing:
		for _, cl := range c.clients {
			if cl.inCommit && !cl.broken {
				return false
			}
		}
		return true
	case closing:
		return len(c.unclosed()) == 0
	case running, stopped:
	}
	return false
}

//nolint:cyclop // one case for each step, in their order
func (c *Core) nextStep() {
	inHandlers, copies := c.inHand()
	late := c.now >= c.stop.until
	c.stop.phase++
	switch c.stop.phase {
	case cancelling:
		c.overran(late && inHandlers+copies > 0, StepDrain)
		c.endBy(cancelGrace)
		for _, cl := range c.clients {
			c.abandon(cl.parts, inHandlers, CauseShutdown)
		}
	case flushing:
		c.overran(late && inHandlers > 0, StepCancel)
		c.endBy(flushGrace)
	case committing:
		c.overran(late && copies > 0, StepFlush)
		c.endBy(commitGrace)
		for _, cl := range c.clients {
			c.commit(cl)
		}
	case closing:
		c.stop.report.Publishing = copies // closing forgets the partitions
		c.closeClients(late)
	case stopped:
		c.overran(late && len(c.unclosed()) > 0, StepClose)
		c.finishStop(inHandlers)
	case running, draining:
	}
}

// closeClients lets every client leave whose commit is answered. One with an
// outstanding commit must not be closed: it would not return.
func (c *Core) closeClients(late bool) {
	c.endBy(closeGrace)
	for _, cl := range c.clients {
		for _, p := range cl.parts {
			if c.hasProgress(p) {
				c.stop.report.Uncommitted++
			}
		}
		switch {
		case cl.closed:
		case cl.inCommit:
			c.overran(late, StepCommit)
		default:
			c.closeClient(cl)
		}
	}
}

// closeClient lets a client leave, out of its rebalance callback if it is in one.
func (c *Core) closeClient(cl *clientState) {
	if cl.revoke != nil {
		parts := cl.revoke.parts
		cl.revoke = nil
		c.bury(cl, parts, CauseShutdown)
		c.do(&FinishRevoke{Client: cl.id, Parts: parts})
	}
	c.do(&CloseClient{Client: cl.id})
}

func (c *Core) finishStop(inHandlers int) {
	r := &c.stop.report
	r.Running = inHandlers
	r.Unclosed = c.unclosed()
	c.do(&Stopped{Report: *r})
}

func (c *Core) overran(really bool, step Step) {
	if really {
		c.stop.report.Overran = append(c.stop.report.Overran, step)
	}
}

// clientClosed notes that a client is gone, and its partitions with it.
func (c *Core) clientClosed(e *ClientClosed) {
	cl := c.clients[e.Client]
	cl.closed = true
	c.bury(cl, cl.parts, CauseShutdown)
}

func (c *Core) unclosed() []int {
	var left []int
	for _, cl := range c.clients {
		if !cl.closed {
			left = append(left, cl.id)
		}
	}
	return left
}

// inHand counts the records in handlers, whoever owns them now, and the copies
// without acknowledgement.
func (c *Core) inHand() (inHandlers, copies int) {
	for _, cl := range c.clients {
		for _, p := range cl.parts {
			copies += p.publishing + p.failedPublishes.n
		}
	}
	return c.handling, copies
}
