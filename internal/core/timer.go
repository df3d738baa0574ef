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

// timerHeap has the earliest timer on top.
type timerHeap []timer

func (h *timerHeap) push(t timer) {
	*h = append(*h, t)
	s := *h
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if s[up].at <= s[i].at {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (h *timerHeap) pop() timer {
	s := *h
	top := s[0]
	last := len(s) - 1
	s[0], s[last] = s[last], timer{}
	s = s[:last]
	*h = s
	for i := 0; ; {
		low := 2*i + 1
		if low >= last {
			return top
		}
		if right := low + 1; right < last && s[right].at < s[low].at {
			low = right
		}
		if s[i].at <= s[low].at {
			return top
		}
		s[i], s[low] = s[low], s[i]
		i = low
	}
}

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
