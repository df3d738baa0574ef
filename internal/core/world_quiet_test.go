package core_test

import (
	"fmt"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// settle ends the faults and waits until everything is handled.
func (w *world) settle() {
	w.notef("world: the faults end")
	w.quiet = true
	w.healAll()
	for idle, rounds := 0, 0; ; rounds++ {
		if rounds > 100_000 {
			w.violatef("it does not end")
		}
		before := w.steps
		w.quietRound()
		if w.steps != before {
			idle = 0
			continue
		}
		if w.settled() {
			return
		}
		w.checkRoused()
		if idle++; w.core.Next() == core.Never || idle > 10_000 {
			w.violatef("stuck: %s", w.remains())
		}
		w.pass(max(1, w.core.Next().Sub(w.now)))
	}
}

// healAll mends what the world broke.
func (w *world) healAll() {
	for b := range w.downs {
		// One that lets through a record at a time must do, now or soon.
		state := core.BreakerState(w.rng.IntN(3))
		w.tellBreaker(b, core.BreakerChanged{Breaker: b, State: state, Until: w.now.Add(w.upTo(time.Second)), Tickets: 1})
	}
	for _, t := range w.topics {
		w.tellOperator(&core.OperatorPause{Topic: t.name, Partition: -1})
	}
	for _, l := range w.logs {
		for _, e := range l.entries {
			if e.mark == core.Foreign {
				e.mark = core.Plain
			}
		}
	}
}

// unblock takes the partitions from a client in which a foreign record stood.
func (w *world) unblock(m *member) {
	ev := &core.RevokedFrom{Client: m.id}
	for _, t := range m.tenures {
		if t.foreign >= 0 && m.revoke == nil {
			ev.Parts = append(ev.Parts, t.part)
		}
	}
	if len(ev.Parts) > 0 {
		w.revoke(m, ev)
	}
}

// quietRound lets everything happen that can without time.
func (w *world) quietRound() {
	for _, m := range w.members {
		w.unblock(m)
		var free []*log
		for _, l := range w.logs {
			if l.owner == nil && (l.topic.role != core.Source) == m.lanes {
				free = append(free, l)
			}
		}
		if m.revoke == nil && len(free) > 0 {
			w.assign(m, free)
		}
	}
	for _, m := range w.members {
		w.pollOf(m)
		w.answer(m)
	}
	for range len(w.jobs) {
		w.finishAny()
	}
	for len(w.copies) > 0 {
		w.resolveCopies()
	}
}

// settled reports that every record of every log is handled and committed.
func (w *world) settled() bool { return w.remains() == "" }

// remains says what is not yet handled and committed, "" when everything is.
func (w *world) remains() string {
	for _, l := range w.logs {
		if len(l.entries) == 0 {
			continue
		}
		end := l.entries[len(l.entries)-1].offset + 1
		if at := l.settled(); at < end {
			return fmt.Sprintf("%v is handled below %d, its end is %d", l, at, end)
		}
		if t := l.owner; t != nil && t.pos == len(l.entries) && len(t.line) == 0 {
			continue // it began at the end: nothing to do, nothing to commit
		}
		if l.committed != end {
			return fmt.Sprintf("%v is committed at %d, its end is %d", l, l.committed, end)
		}
	}
	for _, m := range w.members {
		if m.held > 0 || m.commit != nil {
			return fmt.Sprintf("client %d holds %d records, commit %v", m.id, m.held, m.commit)
		}
	}
	return ""
}

// checkRoused checks, when nothing can happen without time, that whatever
// waits has a reason and a timer.
func (w *world) checkRoused() {
	next := w.core.Next()
	for _, m := range w.members {
		for _, t := range m.tenures {
			if t.status != owned || t.unwritten > 0 || t.foreign >= 0 || w.shut(t.log.topic.route) {
				continue
			}
			for _, d := range t.line[t.head:] {
				first := d.series == nil || d.series.line[0] == d
				if d.state != waiting || d.entry.mark != core.Plain || !first || d.seq-t.head >= w.cfg.MaxUncommitted {
					continue
				}
				if until := max(d.rec.Due, d.excuse); until > w.now && next > until || until < w.now {
					w.violatef("%v@%d: forgotten: due at %d, may wait until %d, the next timer is at %d",
						t, d.entry.offset, d.rec.Due, d.excuse, next)
				}
			}
		}
	}
}

// shut reports that a breaker the route depends on is open.
func (w *world) shut(route int) bool {
	for b, d := range w.downs {
		if w.learned[route][b] && d.state == core.BreakerOpen && w.now < d.until {
			return true
		}
	}
	return false
}

// stopInPeace shuts down without faults: it must be clean, and everything
// finished must be committed.
func (w *world) stopInPeace() {
	w.produce(w.rng.IntN(8))
	w.quietRound()
	if w.chance(0.5) {
		w.quietRound()
	}
	w.stop()
	for !w.stopped {
		before := w.steps
		for len(w.jobs) > 0 {
			w.finishAny()
		}
		for len(w.copies) > 0 {
			w.resolveCopies()
		}
		for _, m := range w.members {
			w.answer(m)
		}
		w.closeMembers()
		if w.steps == before && w.core.Next() == core.Never {
			w.violatef("the shutdown is stuck")
		}
		if w.steps == before {
			w.pass(max(1, w.core.Next().Sub(w.now)))
		}
	}
	if w.now >= w.stopBy {
		w.violatef("a shutdown in peace took its whole time")
	}
}

// account checks that every record came to exactly one end, unless a fault
// explains more.
func (w *world) account() {
	for id, o := range w.origins {
		ends := o.handled + o.dead + o.dropped + o.passed
		if o.again && ends > 1 || o.gone || ends == 1 {
			continue
		}
		if ends == 0 && w.stillThere(id) {
			continue
		}
		w.violatef("record %d came to %d ends: %+v", id, ends, o)
	}
}

// stillThere reports that a record was produced too late to be handled before
// the last shutdown: it waits past the committed position.
func (w *world) stillThere(id int) bool {
	for _, l := range w.logs {
		for _, e := range l.entries {
			if e.origin == id && !e.durable && e.offset >= l.committed {
				return true
			}
		}
	}
	return false
}
