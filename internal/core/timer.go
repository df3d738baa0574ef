package core

// timerKind says what to look at when a timer fires. A timer is only a
// reminder: whoever is reminded looks at its own state and may find that
// nothing is to be done any more.
type timerKind uint8

const (
	timerUnit    timerKind = iota // a blocked unit may run
	timerDue                      // a partition's first waiting record is due
	timerPause                    // a partition's dwell is over
	timerPublish                  // failed copies are tried again
	timerCommit                   // a client commits
	timerRevoke                   // a drain's deadline
	timerBreaker                  // a breaker lets probes in
	timerStop                     // a step of the shutdown is over
)

type timer struct {
	at     Instant
	kind   timerKind
	part   *Part
	unit   *unit
	client *clientState
	brk    *breakerState
}

// before orders timers by their time.
func (t timer) before(other timer) bool { return t.at < other.at }

// fire serves the timers that are due.
func (c *Core) fire() {
	for len(c.timers) > 0 && c.timers[0].at <= c.now {
		t := c.timers.pop()
		switch t.kind {
		case timerUnit:
			c.unblock(t.unit)
		case timerDue:
			c.releaseDue(t.part, t.at)
		case timerPause:
			t.part.dwelling = false
			c.weighPause(t.part)
		case timerPublish:
			c.retryPublishes(t.part)
		case timerCommit:
			c.commitDue(t.client)
		case timerRevoke:
			c.advanceRevoke(t.client)
		case timerBreaker:
			c.probe(t.brk)
		case timerStop:
			// advanceStop looks at the time after every event.
		}
	}
}
