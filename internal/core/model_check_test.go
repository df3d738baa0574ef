package core_test

import (
	"github.com/holdfast-kafka/holdfast/internal/core"
)

// checkStep checks what must hold after every step.
func (w *world) checkStep() {
	if len(w.wanted) > 0 {
		d := w.wanted[0]
		w.violatef("%v@%d: failed, but no copy was asked for", d.tenure, d.entry.offset)
	}
	if w.stopping && !w.stopped && w.now >= w.stopBy {
		w.violatef("not stopped in its time")
	}
	for _, m := range w.members {
		if m.revoke != nil && !w.stopped && w.now >= m.revoke.by {
			w.violatef("client %d: a revoke is not answered in its time", m.id)
		}
		if m.revoke != nil && !w.stopped && w.now >= m.revoke.drainBy {
			w.checkCancelled(m.revoke)
		}
		for _, t := range m.tenures {
			w.checkMemory(t)
			t.foreignShut = t.foreign >= 0 && t.status == owned && t.foreign < t.head+w.cfg.MaxUncommitted
		}
	}
}

func (w *world) checkCancelled(rv *revoking) {
	for _, p := range rv.parts {
		if t := tenureOf(p); t.outRecs > 0 && !t.cancelled {
			w.violatef("%v: its drain is over, its handlers run and are not cancelled", t)
		}
	}
}

// overfull says whether a partition's buffer is over its marks: the high ones,
// or those at which it resumes.
func (m *member) overfull(t *tenure, resuming, alone bool) bool {
	l := m.limits
	if resuming {
		l.PartRecords, l.PartBytes, l.Floor = l.PartRecords/2, l.PartBytes/2, l.Floor/2
		l.MaxRecords, l.MaxBytes = l.MaxRecords/2, l.MaxBytes/2
	}
	if t.held > l.PartRecords || t.bytes > l.PartBytes {
		return true
	}
	return !alone && t.held > l.Floor && (m.held > l.MaxRecords || m.bytes > l.MaxBytes)
}

// checkMemory checks that a partition is fetched if and only if there is room.
func (w *world) checkMemory(t *tenure) {
	m := t.member
	if t.status != owned || w.stopping {
		return
	}
	if !t.paused && m.overfull(t, false, w.arrivals != t) {
		w.violatef("%v: not paused with %d records, %d bytes, its client's %d, %d; limits %+v",
			t, t.held, t.bytes, m.held, m.bytes, m.limits)
	}
	if t.paused && !t.log.operator && w.now >= t.pausedAt.Add(pauseDwell) && !m.overfull(t, true, false) {
		w.violatef("%v: still paused with %d records, %d bytes, its client's %d, %d; limits %+v",
			t, t.held, t.bytes, m.held, m.bytes, m.limits)
	}
	if t.held < 0 || t.bytes < 0 {
		w.violatef("%v: holds %d records, %d bytes", t, t.held, t.bytes)
	}
}

// setPaused checks that a pause has a cause, and that it is not flapping.
func (w *world) setPaused(a *core.SetPaused) {
	t := tenureOf(a.Part)
	m := w.members[a.Client]
	switch {
	case t.member != m || t.status == over:
		w.violatef("%v: paused by client %d", t, a.Client)
	case t.paused == a.Paused:
		w.violatef("%v: paused is %v already", t, a.Paused)
	case a.Paused && !w.stopping && !t.log.operator && !w.fleeting && !m.overfull(t, false, false):
		w.violatef("%v: paused without cause: %d records, %d bytes, its client's %d, %d; limits %+v",
			t, t.held, t.bytes, m.held, m.bytes, m.limits)
	case !a.Paused && t.log.operator:
		w.violatef("%v: resumed against the operator", t)
	case !a.Paused && w.arrivals == nil && m.overfull(t, true, m.revoke != nil):
		w.violatef("%v: resumed with %d records, %d bytes, its client's %d, %d; limits %+v",
			t, t.held, t.bytes, m.held, m.bytes, m.limits)
	case !a.Paused && w.now < t.pausedAt.Add(pauseDwell):
		w.violatef("%v: resumed %v after its pause", t, w.now.Sub(t.pausedAt))
	}
	t.paused, t.pausedAt = a.Paused, w.now
	t.slack = a.Paused && w.has(lateShell) && w.chance(0.3)
}

// noticed checks the accounts that only notices tell.
func (w *world) noticed(n *core.Notice) {
	if n.Kind == core.NoticeHeld && deliveryOf(n.Rec).rec.Result.Outcome != core.OutcomeHold {
		w.violatef("%v: held without a hold", tenureOf(n.Part))
	}
}

// look compares the core's view with the model.
func (w *world) look() {
	var v core.View
	w.step(nil) // whose timers are not what is asked for
	w.step(&core.Asked{Reply: func(got core.View) { v = got }})
	if want := w.cfg.Slots - len(w.jobs); v.FreeSlots != want {
		w.violatef("%d free slots, want %d", v.FreeSlots, want)
	}
	n := 0
	for _, m := range w.members {
		n += len(m.tenures)
	}
	if len(v.Partitions) != n {
		w.violatef("the view has %d partitions, want %d", len(v.Partitions), n)
	}
	for _, p := range v.Partitions {
		w.lookAt(&p)
	}
}

func (w *world) lookAt(p *core.PartView) {
	t := w.tenure(p)
	if t == nil {
		w.violatef("the view has %s/%d in epoch %d", p.Topic, p.Partition, p.Epoch)
	}
	if t.gen > 0 || w.stopping && t.status == owned {
		return // what belongs to a log that is gone leaves without a word
	}
	if p.Records != t.held || p.Bytes != t.bytes || p.Running != t.outRecs || p.Publishing != t.publishing+t.unwritten {
		w.violatef("%v: the view has %d records, %d bytes, %d running, %d publishing; want %d, %d, %d, %d",
			t, p.Records, p.Bytes, p.Running, p.Publishing, t.held, t.bytes, t.outRecs, t.publishing+t.unwritten)
	}
	if at, moved := t.position(); moved && (p.Position > at || p.Position <= t.line[t.head-1].entry.offset) {
		w.violatef("%v: the view has position %d, want %d", t, p.Position, at)
	}
	if p.Paused != t.paused {
		w.violatef("%v: the view has paused %v, want %v", t, p.Paused, t.paused)
	}
}

func (w *world) tenure(p *core.PartView) *tenure {
	for _, t := range w.members[p.Client].tenures {
		if t.part.Epoch == p.Epoch {
			return t
		}
	}
	return nil
}
