package core_test

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

var errBroke = errors.New("client broke")

// maybeCrash ends the process without a word.
func (w *world) maybeCrash() {
	if w.has(crashes) && w.chance(0.5) {
		w.notef("world: crash")
		w.restart()
	}
}

// restart leaves a process behind, which may have done more than it told, and
// begins a new one.
func (w *world) restart() {
	for _, j := range w.jobs {
		if !j.begun || w.chance(0.5) {
			continue
		}
		d := j.recs[0]
		if d.entry.truncated {
			continue
		}
		w.end(d.entry, &w.origins[d.entry.origin].handled)
		w.origins[d.entry.origin].again = true
	}
	for _, c := range w.copies {
		if w.chance(0.5) {
			w.write(c)
			w.origins[c.d.entry.origin].again = true
		}
	}
	w.jobs, w.copies, w.wanted = nil, nil, nil
	for _, m := range w.members {
		if m.commit != nil && w.chance(0.5) {
			w.apply(m.commit)
		}
		for len(m.tenures) > 0 {
			w.over(m.tenures[0])
		}
	}
	w.start()
}

// maybeStop asks for the shutdown, or breaks a client.
func (w *world) maybeStop() {
	switch {
	case w.has(breaks) && w.chance(0.15):
		w.breakClient(w.members[w.rng.IntN(len(w.members))])
	case w.has(stops) && w.chance(0.5):
		w.stop()
	}
}

func (w *world) stop() {
	if w.step(nil); w.stopped {
		return
	}
	w.beginStop()
	w.step(&core.StopAsked{})
	if w.has(stops) && w.chance(0.3) && !w.stopped {
		w.step(&core.StopAsked{})
	}
}

// beginStop follows what StopAsked does to the partitions.
func (w *world) beginStop() {
	if w.stopping {
		return
	}
	w.stopping, w.uncommitted = true, nil
	w.stopBy = w.now.Add(w.cfg.StopTimeout + stopGrace)
	for _, m := range w.members {
		for _, t := range m.tenures {
			w.release(t)
		}
	}
}

func (w *world) breakClient(m *member) {
	if m.broken || m.closed || m.closing {
		return
	}
	if w.step(nil); w.stopped {
		return
	}
	m.broken, m.revoke = true, nil
	for len(m.tenures) > 0 {
		t := m.tenures[0]
		w.release(t)
		w.over(t)
	}
	w.beginStop()
	w.step(&core.Broke{Client: m.id, Err: errBroke})
}

func (w *world) closing(a *core.CloseClient) {
	m := w.members[a.Client]
	if m.closing || m.closed || m.broken || m.commit != nil || m.revoke != nil {
		w.violatef("client %d closed: closing %v, broken %v, commit %v, revoke %v", m.id, m.closing, m.broken, m.commit, m.revoke)
	}
	for _, t := range m.tenures {
		if t.uncommitted() {
			w.uncommitted = append(w.uncommitted, t)
		}
	}
	m.closing = true
	m.hangs = w.has(stops) && w.chance(0.1)
}

// closeMembers lets closing clients leave the group: their partitions are
// revoked within Close.
func (w *world) closeMembers() {
	for _, m := range w.members {
		if !m.closing || m.closed || m.hangs || w.stopped || !w.quiet && w.chance(0.5) {
			continue
		}
		if len(m.tenures) > 0 {
			ev := &core.RevokedFrom{Client: m.id, Lost: w.chance(0.1)}
			for _, t := range m.tenures {
				ev.Parts = append(ev.Parts, t.part)
			}
			w.revoke(m, ev)
			if w.stopped {
				return
			}
			if m.revoke != nil {
				w.violatef("client %d: a revoke within Close is not answered at once", m.id)
			}
		}
		m.closed = true
		w.step(&core.ClientClosed{Client: m.id})
	}
}

// finishStopping lets a shutdown that was begun come to its end.
func (w *world) finishStopping() {
	for w.stopping && !w.stopped {
		if w.now >= w.stopBy {
			w.step(nil)
			continue
		}
		switch w.rng.IntN(4) {
		case 0:
			w.finishAny()
		case 1:
			w.resolveCopies()
		case 2:
			w.answerCommit()
		case 3:
			w.pass(w.upTo(time.Second))
		}
		w.closeMembers()
	}
	if w.stopped {
		w.restart()
	}
}

// ended checks the report of a shutdown.
func (w *world) ended(r core.StopReport) {
	w.stopped = true
	if w.quiet && !r.Clean() {
		w.violatef("a shutdown in peace left something behind: %+v", r)
	}
	records := 0
	for _, j := range w.jobs {
		records += len(j.recs)
		if !j.tenure.cancelled {
			w.violatef("%v: stopped, its handlers run and are not cancelled", j.tenure)
		}
	}
	if r.Running != records {
		w.violatef("stopped: report has %d running, there are %d", r.Running, records)
	}
	if r.Clean() && len(w.uncommitted) > 0 {
		w.violatef("stopped clean, but %v was not committed to its end", w.uncommitted[0])
	}
	for _, m := range w.members {
		if !m.closed && !m.broken != slices.Contains(r.Unclosed, m.id) {
			w.violatef("stopped: report has unclosed %v, client %d: closed %v", r.Unclosed, m.id, m.closed)
		}
	}
}
