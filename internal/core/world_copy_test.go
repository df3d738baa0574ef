package core_test

import (
	"slices"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// copying is a copy in the publisher's hands.
type copying struct {
	d    *delivery
	what core.Publish // a copy: the action is the core's
}

// asked checks that a copy is due and takes it on.
func (w *world) asked(p *core.Publish) {
	d := deliveryOf(p.Rec)
	t := d.tenure
	if d.stale() {
		w.violatef("%v@%d: copy of an epoch that is over", t, d.entry.offset)
	}
	switch {
	case d.want != nil:
		w.checkCopy(d, p)
		w.wanted = slices.DeleteFunc(w.wanted, func(other *delivery) bool { return other == d })
		d.want = nil
	case d.state == unwritten:
		if p.Target != d.copy.Target || p.Lane != d.copy.Lane || p.Charged != d.copy.Charged || p.Wait != d.copy.Wait {
			w.violatef("%v@%d: another copy than before: %+v, was %+v", t, d.entry.offset, *p, d.copy)
		}
	default:
		w.checkPark(d, p)
	}
	if d.state == unwritten {
		t.unwritten--
	}
	d.state = publishing
	d.copy = *p
	t.publishing++
	w.copies = append(w.copies, &copying{d: d, what: *p})
}

// checkCopy checks the copy that follows a charged failure.
func (w *world) checkCopy(d *delivery, p *core.Publish) {
	switch {
	case p.Target != d.want.target:
		w.violatef("%v@%d: copy to %d, want %d", d.tenure, d.entry.offset, p.Target, d.want.target)
	case !p.Charged:
		w.violatef("%v@%d: copy of a failure is not charged", d.tenure, d.entry.offset)
	case p.Target == core.ToLane && p.Wait < d.want.wait:
		w.violatef("%v@%d: copy waits %v, want %v", d.tenure, d.entry.offset, p.Wait, d.want.wait)
	case p.Target == core.ToDeadLetters && p.Disposition == "":
		w.violatef("%v@%d: dead without a disposition", d.tenure, d.entry.offset)
	}
	w.checkLane(p)
}

// checkPark checks a copy that nobody failed for: only a record whose lane was
// too short moves on.
func (w *world) checkPark(d *delivery, p *core.Publish) {
	t := d.tenure
	switch {
	case d.state != waiting || d.rec.Rest == 0 || t.status != owned || w.stopping:
		w.violatef("%v@%d: unwanted copy %+v in state %d", t, d.entry.offset, *p, d.state)
	case p.Charged || p.Target != core.ToLane:
		w.violatef("%v@%d: parked as %+v", t, d.entry.offset, *p)
	case d.rec.Due > w.now:
		w.violatef("%v@%d: parked early by %v", t, d.entry.offset, d.rec.Due.Sub(w.now))
	case w.now.Add(p.Wait) < d.entry.due:
		w.violatef("%v@%d: parked for %v, it is due at %v", t, d.entry.offset, p.Wait, d.entry.due)
	}
	w.checkLane(p)
}

func (w *world) checkLane(p *core.Publish) {
	d := deliveryOf(p.Rec)
	if lanes := w.cfg.Routes[d.entry.log.topic.route].Policy.Lanes; p.Target == core.ToLane && p.Lane >= len(lanes) {
		w.violatef("lane %d of %d", p.Lane, len(lanes))
	}
	if int(p.Rec.Attempts) != d.attempts {
		w.violatef("%v@%d: copy says %d attempts, charged %d", d.tenure, d.entry.offset, p.Rec.Attempts, d.attempts)
	}
}

// resolveCopies brings the fates of some copies.
func (w *world) resolveCopies() {
	if len(w.copies) == 0 {
		w.finishAny()
		return
	}
	if w.deadlines(); w.stopped {
		return
	}
	n := 1 + w.rng.IntN(min(len(w.copies), 4))
	ev := &core.Published{}
	var written []*delivery
	for range n {
		i := w.rng.IntN(len(w.copies))
		c := w.copies[i]
		w.copies = slices.Delete(w.copies, i, i+1)
		ack := core.Ack{Rec: &c.d.rec, Result: w.fate(c)}
		ev.Acks = append(ev.Acks, ack)
		written = append(written, c.d)
		w.acknowledged(c.d, ack.Result)
	}
	for _, d := range written {
		w.letIn(d.tenure)
	}
	w.fleeting = n > 1
	w.step(ev)
	w.fleeting = false
}

// fate decides how the writing of a copy ends, and writes it.
func (w *world) fate(c *copying) core.PublishResult {
	if !c.what.Omit && w.has(badCopies) {
		if c.d.entry.large == largeAlways || c.d.entry.large == largeInBatch && !c.what.Alone {
			return core.PublishTooLarge
		}
	}
	if w.has(badCopies) && w.chance(0.2) {
		if w.chance(0.3) {
			w.write(c) // and yet it is there
			w.origins[c.d.entry.origin].again = true
		}
		return core.PublishFailed
	}
	w.write(c)
	return core.PublishAcked
}

// write appends a copy to its target, durably.
func (w *world) write(c *copying) {
	d := c.d
	if d.entry.truncated {
		return
	}
	d.entry.durable = true
	if c.what.Target == core.ToDeadLetters {
		w.origins[d.entry.origin].dead++
		return
	}
	source := d.entry.log
	target := w.lane(source.topic.route, c.what.Lane)
	e := &entry{
		origin: d.entry.origin, key: d.entry.key, size: d.entry.size, large: d.entry.large,
		attempts: d.attempts, failed: d.failed, first: d.first, held: d.held, written: w.now, due: w.now.Add(c.what.Wait),
	}
	if !c.what.Charged {
		e.held += c.what.Wait
	}
	if w.has(foreigners) && w.chance(0.01) {
		e.mark = core.Foreign
	}
	target.logs[int(source.partition)%len(target.logs)].append(e, w.gap())
}

func (w *world) lane(route, lane int) *topic {
	i := slices.IndexFunc(w.topics, func(t *topic) bool {
		return t.role == core.Lane && t.route == route && t.lane == lane
	})
	return w.topics[i]
}

// acknowledged follows the fate of a copy.
func (w *world) acknowledged(d *delivery, result core.PublishResult) {
	t := d.tenure
	t.publishing--
	if d.stale() {
		if t.status != over {
			w.hold(d, -1)
		}
		d.state = gone
		return
	}
	if result == core.PublishAcked {
		w.finishes(d)
		return
	}
	d.state = unwritten
	t.unwritten++
}
