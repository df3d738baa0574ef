package core_test

import (
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

// takeBack follows what a core must conclude from a run that is back.
func (w *world) takeBack(j *job) {
	t := j.tenure
	if j.gen == t.gen {
		t.out--
	}
	t.outRecs -= len(j.recs)
	touched := map[*series]bool{}
	for i, d := range j.recs {
		for _, b := range d.probing {
			b.probes--
		}
		d.probing = nil
		if d.series != nil && !d.stale() && !touched[d.series] {
			touched[d.series] = true
			d.series.out--
		}
		if d.stale() {
			if t.status != over {
				w.hold(d, -1)
			}
			d.state = gone
			continue
		}
		d.state = waiting
		d.excuse, d.ready = w.now, w.now
		if i < j.run.Attempted {
			w.conclude(d)
		}
		if d.state == waiting && (t.status != owned || w.stopping) {
			d.leaves()
			d.state = gone
			w.hold(d, -1)
		}
	}
	w.letIn(t)
}

func (w *world) conclude(d *delivery) {
	r := &d.rec.Result
	switch r.Outcome {
	case core.OutcomeDone, core.OutcomeDrop:
		w.finishes(d)
	case core.OutcomeFailed:
		w.fails(d)
	case core.OutcomeHold:
		d.excuse = w.now.Add(max(r.Verdict.After, time.Millisecond))
		if r.Breaker == core.NoBreaker {
			d.notBefore = d.excuse
		}
		if r.Breaker != core.NoBreaker && d.tenure.status == owned {
			w.learned[d.entry.log.topic.route][int(r.Breaker)] = true
		}
	case core.OutcomeAbandoned:
	}
}

// finishes follows a record whose outcome is durable.
func (w *world) finishes(d *delivery) {
	d.leaves()
	d.state = finished
	w.hold(d, -1)
}

// fails follows a charged failure: in place, to a lane, or dead.
func (w *world) fails(d *delivery) {
	route := &w.cfg.Routes[d.entry.log.topic.route]
	verdict := d.rec.Result.Verdict
	wait := max(route.Policy.Delay(d.attempts+1, 0), verdict.After)
	var elapsed time.Duration
	if d.failed {
		elapsed = max(0, w.now.Sub(d.first)-d.held)
	}
	expired := route.Policy.MaxElapsed > 0 && elapsed > route.Policy.MaxElapsed-wait
	dead := verdict.Class == retry.ClassPoison || d.attempts+1 >= route.Policy.MaxAttempts || expired
	if dead && route.DeadLetters == core.DeadBlock {
		d.excuse = w.now.Add(route.Policy.Max)
		d.notBefore = d.excuse
		return
	}
	if dead && route.DeadLetters == core.DeadDrop {
		w.end(d.entry, &w.origins[d.entry.origin].dropped)
		w.finishes(d)
		return
	}
	d.attempts++
	if !d.failed {
		d.failed, d.first = true, w.now
	}
	switch {
	case dead:
		w.wants(d, wantedCopy{target: core.ToDeadLetters})
	case route.InPlace:
		d.notBefore, d.ready = w.now.Add(wait), w.now.Add(wait)
		d.excuse = w.now.Add(wait + max(time.Millisecond, time.Duration(float64(wait)*route.Policy.Jitter)))
	default:
		w.wants(d, wantedCopy{target: core.ToLane, wait: wait})
	}
}

func (w *world) wants(d *delivery, c wantedCopy) {
	d.leaves()
	d.state = publishing
	d.want = &c
	w.wanted = append(w.wanted, d)
}

// letIn advances past what is finished. Records passed by are finished, and
// foreign ones forgotten, as soon as they are within the bound of uncommitted
// records.
func (w *world) letIn(t *tenure) {
	for {
		for t.head < len(t.line) && t.line[t.head].state == finished {
			t.head++
		}
		if len(t.passing) == 0 || t.status != owned || t.passing[0].seq >= t.head+w.cfg.MaxUncommitted {
			break
		}
		d := t.passing[0]
		t.passing = t.passing[1:]
		w.hold(d, -1)
		if d.entry.mark == core.Foreign {
			d.state = gone // for good: the position never passes it
			continue
		}
		d.state = finished
		if !d.entry.durable {
			w.end(d.entry, &w.origins[d.entry.origin].passed)
		}
	}
}

// position is what may be committed of a tenure, if there is anything.
func (t *tenure) position() (int64, bool) {
	if t.head < len(t.line) {
		return t.line[t.head].entry.offset, t.head > 0
	}
	return t.last + 1, t.head > 0
}

// dispatched checks a run that goes to a worker, and hands it over.
func (w *world) dispatched(run *core.Run) {
	t := tenureOf(run.Part)
	j := &job{run: run, tenure: t, gen: t.gen, begun: w.chance(0.8), since: w.now}
	if w.has(stuck) && w.chance(0.04) {
		j.stuck, j.begun, j.deaf = true, true, w.chance(0.3)
	}
	w.jobs = append(w.jobs, j)
	w.checkTenureOpen(t, run)
	if len(w.jobs) > w.cfg.Slots {
		w.violatef("%d runs are out, there are %d slots", len(w.jobs), w.cfg.Slots)
	}
	if len(run.Recs) == 0 || len(run.Recs) > core.MaxRun {
		w.violatef("a run of %d records", len(run.Recs))
	}
	if w.cfg.Routes[t.part.Route].InPlace && !run.StopOnFailure {
		w.violatef("%v: in place, but a failure does not end the run", t)
	}
	began := map[*series]int{}
	for _, r := range run.Recs {
		d := deliveryOf(r)
		w.checkDispatch(d, began)
		if d.failed {
			d.held += max(0, w.now.Sub(d.ready))
		}
		d.state = inHand
		j.recs = append(j.recs, d)
		w.probe(d)
	}
	for s := range began {
		s.out++
	}
	t.out++
	t.outRecs += len(run.Recs)
}

// checkTenureOpen checks that nothing keeps a whole partition from being
// dispatched.
func (w *world) checkTenureOpen(t *tenure, run *core.Run) {
	switch {
	case t.status != owned:
		w.violatef("%v: dispatched although it is given up", t)
	case t.barred:
		w.violatef("%v: dispatched after Bar", t)
	case w.stopping:
		w.violatef("%v: dispatched after StopAsked", t)
	case t.log.operator:
		w.violatef("%v: dispatched although the operator paused it", t)
	case t.unwritten > 0:
		w.violatef("%v: dispatched while a copy cannot be written", t)
	case t.foreignShut:
		w.violatef("%v: dispatched although a foreign record stands in it", t)
	}
	for _, m := range w.members {
		if m.commit != nil && m.commit.covers(t) {
			w.violatef("%v: dispatched while client %d's commit of an older epoch is unanswered", t, m.id)
		}
	}
	if run.Part != t.part {
		w.violatef("%v: run of another partition", t)
	}
}

func (w *world) checkDispatch(d *delivery, began map[*series]int) {
	t := d.tenure
	switch {
	case d.state != waiting || d.gen != t.gen:
		w.violatef("%v@%d: dispatched in state %d, gen %d of %d", t, d.entry.offset, d.state, d.gen, t.gen)
	case d.entry.mark != core.Plain:
		w.violatef("%v@%d: dispatched, but its mark is %d", t, d.entry.offset, d.entry.mark)
	case d.rec.Due > w.now || d.entry.due > w.now:
		w.violatef("%v@%d: early by %v", t, d.entry.offset, max(d.rec.Due, d.entry.due).Sub(w.now))
	case d.rec.Rest > 0:
		w.violatef("%v@%d: dispatched, but %v are missing of its wait", t, d.entry.offset, d.rec.Rest)
	case d.seq-t.head >= w.cfg.MaxUncommitted:
		w.violatef("%v@%d: %d past the oldest unfinished record", t, d.entry.offset, d.seq-t.head)
	case d.notBefore > w.now:
		w.violatef("%v@%d: waits in place until %v", t, d.entry.offset, time.Duration(d.notBefore))
	case int(d.rec.Attempts) != d.attempts:
		w.violatef("%v@%d: attempts %d, charged %d", t, d.entry.offset, d.rec.Attempts, d.attempts)
	}
	s := d.series
	if s == nil {
		return
	}
	n, here := began[s]
	if !here && s.out > 0 {
		w.violatef("%v@%d: two of its order are out at once", t, d.entry.offset)
	}
	if s.line[n] != d {
		w.violatef("%v@%d: dispatched before %d of its order", t, d.entry.offset, s.line[n].entry.offset)
	}
	began[s] = n + 1
}

// probe checks the breakers a record depends on.
func (w *world) probe(d *delivery) {
	for b := range w.downs {
		down := w.downs[b]
		if !w.learned[d.entry.log.topic.route][b] || down.state == core.BreakerClosed {
			continue
		}
		if down.state == core.BreakerOpen && w.now < down.until {
			w.violatef("%v@%d: dispatched while breaker %d is open", d.tenure, d.entry.offset, b)
		}
		down.probes++
		d.probing = append(d.probing, down)
		if down.probes > down.tickets {
			w.violatef("%v@%d: %d probes of breaker %d, tickets %d", d.tenure, d.entry.offset, down.probes, b, down.tickets)
		}
	}
}
