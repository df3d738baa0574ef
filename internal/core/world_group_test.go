package core_test

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// commitGrace is what a revoke waits for its commit after the drain, and
// stopGrace what a shutdown may take after its drain.
const (
	commitGrace = 3 * time.Second
	stopGrace   = 10 * time.Second
	pauseDwell  = 50 * time.Millisecond
)

var errCommit = errors.New("commit failed")

// member is one client of the group.
type member struct {
	id      int
	lanes   bool
	limits  core.Client
	tenures []*tenure
	revoke  *revoking
	commit  *committing

	closing, closed, broken, hangs bool

	held, bytes int
}

// revoking is a rebalance callback that waits for its answer.
type revoking struct {
	parts       []*core.Part
	drainBy, by core.Instant
	disturbed   bool // a commit failed meanwhile
}

// committing is a commit on its way.
type committing struct {
	positions []position
	applied   bool
}

type position struct {
	core.Position

	tenure       *tenure
	gen, version int
}

func (c *committing) covers(t *tenure) bool {
	return slices.ContainsFunc(c.positions, func(p position) bool {
		return p.tenure.log == t.log && p.tenure != t
	})
}

// assignAny gives a client some of the partitions that nobody has.
func (w *world) assignAny() {
	m := w.members[w.rng.IntN(len(w.members))]
	var free []*log
	for _, l := range w.logs {
		if l.owner == nil && (l.topic.role != core.Source) == m.lanes && w.chance(0.7) {
			free = append(free, l)
		}
	}
	if m.revoke != nil || m.closing || m.broken || m.closed {
		return
	}
	w.assign(m, free)
}

func (w *world) assign(m *member, logs []*log) {
	ev := &core.AssignedTo{Client: m.id}
	for _, l := range logs {
		w.epochs++
		t := &tenure{log: l, member: m, last: -1, foreign: -1, answered: -1, units: map[string]*series{}}
		t.part = core.NewPart(l.topic.name, l.partition, m.id, l.topic.role, l.topic.route, w.epochs)
		t.part.Handle = t
		t.pos = l.index(l.committed)
		t.pausedAt, t.version = w.now, l.version
		l.owner = t
		m.tenures = append(m.tenures, t)
		ev.Parts = append(ev.Parts, t.part)
	}
	w.assigning = ev
	w.step(ev)
	if w.assigning != nil {
		w.violatef("client %d: an assignment is not answered at once", m.id)
	}
}

func (w *world) assigned(a *core.FinishAssign) {
	if w.assigning == nil || a.Client != w.assigning.Client || !slices.Equal(a.Parts, w.assigning.Parts) {
		w.violatef("client %d: FinishAssign without an assignment like it", a.Client)
	}
	w.assigning = nil
	for i, p := range a.Parts {
		t := tenureOf(p)
		if a.Paused[i] != t.log.operator {
			w.violatef("%v: assigned with pause %v, the operator wants %v", t, a.Paused[i], t.log.operator)
		}
		t.paused = a.Paused[i]
	}
}

// revokeAny takes some partitions from a client.
func (w *world) revokeAny() {
	if m := w.members[w.rng.IntN(len(w.members))]; w.has(rebalances) {
		w.take(m, false)
	}
}

// lose takes some partitions from a client without asking.
func (w *world) lose() {
	if m := w.members[w.rng.IntN(len(w.members))]; w.has(losses) {
		w.take(m, true)
	}
}

func (w *world) take(m *member, lost bool) {
	if m.revoke != nil || m.broken || m.closed || m.closing {
		return
	}
	ev := &core.RevokedFrom{Client: m.id, Lost: lost}
	for _, t := range m.tenures {
		if w.chance(0.6) {
			ev.Parts = append(ev.Parts, t.part)
		}
	}
	w.revoke(m, ev)
	if lost && m.revoke != nil {
		w.violatef("client %d: a loss is not answered at once", m.id)
	}
}

func (w *world) revoke(m *member, ev *core.RevokedFrom) {
	if w.step(nil); w.stopped { // what was due before is not of the revoke
		return
	}
	for _, p := range ev.Parts {
		t := tenureOf(p)
		w.release(t)
		t.status = draining
		if ev.Lost {
			w.over(t)
		}
	}
	drainBy := w.now.Add(w.cfg.DrainTimeout)
	m.revoke = &revoking{parts: ev.Parts, drainBy: drainBy, by: drainBy.Add(commitGrace)}
	if ev.Lost {
		m.revoke.by = w.now
	}
	w.step(ev)
}

// revoked checks the answer to a revoke and gives the partitions up.
func (w *world) revoked(a *core.FinishRevoke) {
	m := w.members[a.Client]
	if m.revoke == nil || !slices.Equal(a.Parts, m.revoke.parts) {
		w.violatef("client %d: FinishRevoke without a revoke like it", a.Client)
	}
	for _, p := range a.Parts {
		t := tenureOf(p)
		if t.status != over && !m.closing && !w.stopping {
			w.checkDrained(m, t)
		}
		if t.outRecs > 0 && !t.cancelled {
			w.violatef("%v: given up, its handlers run and are not cancelled", t)
		}
		w.over(t)
	}
	m.revoke = nil
}

// checkDrained checks that a partition was given up in peace: drained and
// committed, or its time was over.
func (w *world) checkDrained(m *member, t *tenure) {
	rv := m.revoke
	if w.now >= rv.drainBy {
		return
	}
	if t.outRecs+t.publishing+t.unwritten > 0 {
		w.violatef("%v: given up before it was drained", t)
	}
	if !rv.disturbed && t.uncommitted() {
		w.violatef("%v: %d is finished, but given up with only %d committed", t, t.line[t.head-1].entry.offset, t.answered)
	}
}

// uncommitted reports that something is finished and not known to be committed.
func (t *tenure) uncommitted() bool {
	return t.head > 0 && t.answered <= t.line[t.head-1].entry.offset && !t.log.tainted
}

// over ends a tenure.
func (w *world) over(t *tenure) {
	if t.status == over {
		return
	}
	t.status = over
	t.member.held -= t.held
	t.member.bytes -= t.bytes
	t.held, t.bytes = 0, 0
	t.member.tenures = slices.DeleteFunc(t.member.tenures, func(other *tenure) bool { return other == t })
	if t.log.owner == t {
		t.log.owner = nil
	}
	t.log.untaint()
}

// untaint is what the brokers do with a position beyond a truncated log.
func (l *log) untaint() {
	if l.tainted {
		l.committed, l.tainted = min(l.committed, l.truncated), false
	}
}

// stored checks positions and begins their commit.
func (w *world) stored(s *core.Store) {
	m := w.members[s.Client]
	switch {
	case m.commit != nil:
		w.violatef("client %d: two commits at once", m.id)
	case m.closing || m.closed || m.broken:
		w.violatef("client %d: a commit after its end", m.id)
	case len(s.Positions) == 0:
		w.violatef("client %d: a commit of nothing", m.id)
	}
	m.commit = &committing{}
	for _, p := range s.Positions {
		t := tenureOf(p.Part)
		w.checkPosition(m, t, p)
		m.commit.positions = append(m.commit.positions, position{Position: p, tenure: t, gen: t.gen, version: t.version})
	}
}

// checkPosition checks what would be committed of a partition.
func (w *world) checkPosition(m *member, t *tenure, p core.Position) {
	if t.status == over || t.member != m {
		w.violatef("%v: committed at %d after it was given up", t, p.Offset)
	}
	at, moved := t.position()
	if !moved || p.Offset > at {
		w.violatef("%v: commit of %d, finished below %d (%v)", t, p.Offset, at, moved)
	}
	if !t.log.tainted && p.Offset > t.log.settled() {
		w.violatef("%v: commit of %d, durable below %d", t, p.Offset, t.log.settled())
	}
	if p.Offset <= t.answered {
		w.violatef("%v: commit of %d, %d is committed", t, p.Offset, t.answered)
	}
	w.checkBoundary(t, p)
}

// checkBoundary checks that a position stands at or right after a delivered
// record, and that its epoch is that of the record before.
func (w *world) checkBoundary(t *tenure, p core.Position) {
	for i := t.head; i >= 0; i-- {
		at := i < len(t.line) && t.line[i].entry.offset == p.Offset
		after := i > 0 && t.line[i-1].entry.offset+1 == p.Offset
		if !at && !after {
			continue
		}
		if i > 0 && t.line[i-1].entry.epoch != p.LeaderEpoch {
			w.violatef("%v: commit of %d with leader epoch %d, want %d", t, p.Offset, p.LeaderEpoch, t.line[i-1].entry.epoch)
		}
		return
	}
	w.violatef("%v: commit of %d, no record stands there", t, p.Offset)
}

// apply lets the brokers take a commit.
func (w *world) apply(c *committing) {
	if c.applied {
		return
	}
	c.applied = true
	for _, p := range c.positions {
		l := p.tenure.log
		if p.version != l.version && (l.owner != p.tenure || !l.tainted) {
			continue // fenced: of a log that is gone
		}
		// A later epoch may begin lower: its position was read before an older
		// epoch's last commit arrived. The other way round is what must not be.
		epoch := p.tenure.part.Epoch
		if p.Offset < l.committed && p.gen == 0 && !l.tainted && epoch <= l.committer {
			w.violatef("%v: committed position goes back from %d to %d", p.tenure, l.committed, p.Offset)
		}
		l.committed, l.committer = p.Offset, epoch
		if p.version == l.version && p.gen == p.tenure.gen && p.gen > 0 {
			l.tainted = false
		}
	}
}

// answerCommit answers one commit, well or not, or lets it be taken without
// an answer.
func (w *world) answerCommit() {
	w.answer(w.members[w.rng.IntN(len(w.members))])
}

func (w *world) answer(m *member) {
	c := m.commit
	if c == nil {
		return
	}
	if w.has(badCommits) && w.chance(0.2) {
		w.apply(c)
		return
	}
	ev := &core.CommitAnswered{Client: m.id}
	if w.has(badCommits) && w.chance(0.25) {
		ev.Err = errCommit
		if m.revoke != nil {
			m.revoke.disturbed = true
		}
	} else {
		w.apply(c)
		for _, p := range c.positions {
			if p.gen == p.tenure.gen {
				p.tenure.answered = max(p.tenure.answered, p.Offset)
			}
		}
	}
	m.commit = nil
	w.step(ev)
}

// otherMember lets another process handle and commit what nobody here owns.
func (w *world) otherMember() {
	l := w.logs[w.rng.IntN(len(w.logs))]
	if !w.has(rebalances) || l.owner != nil {
		return
	}
	for _, m := range w.members {
		if m.commit != nil && m.commit.covers(&tenure{log: l}) {
			return
		}
	}
	i := l.index(l.committed)
	for n := w.rng.IntN(4); n > 0 && i < len(l.entries) && l.entries[i].mark == core.Plain; n-- {
		if e := l.entries[i]; !e.durable {
			w.end(e, &w.origins[e.origin].handled)
			w.origins[e.origin].again = w.origins[e.origin].again || e.delivered
		} else {
			w.origins[e.origin].again = true
		}
		l.committed = l.entries[i].offset + 1
		i++
	}
}
