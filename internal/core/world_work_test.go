package core_test

import (
	"slices"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

// delivery is one record as a core was given it, and what the model knows.
type delivery struct {
	rec    core.Rec
	entry  *entry
	tenure *tenure
	gen    int
	seq    int // within the gen
	state  deliveryState
	series *series

	attempts int
	failed   bool
	first    core.Instant
	ready    core.Instant // since when it could be handled
	held     time.Duration
	// notBefore and excuse bound when it may and must be handled again after a
	// hold or a failure in place.
	notBefore, excuse core.Instant
	want              *wantedCopy
	probing           []*downstream
	copy              core.Publish // as last asked for
}

type deliveryState uint8

const (
	waiting    deliveryState = iota // in the core's memory
	inHand                          // in a worker's
	publishing                      // its copy is being written
	unwritten                       // its copy failed and will be tried again
	finished                        // its outcome is durable
	gone                            // given up with its partition
)

// wantedCopy is the copy that a failed attempt must lead to.
type wantedCopy struct {
	target core.Target
	wait   time.Duration
}

// job is a run in a worker's hands.
type job struct {
	run    *core.Run
	recs   []*delivery
	tenure *tenure
	gen    int
	begun  bool // the first record's handler was called
	stuck  bool // until it is cancelled, if not longer
	deaf   bool // to being cancelled
	since  core.Instant
}

// downstream is what stands behind a breaker, as the core was told.
type downstream struct {
	state   core.BreakerState
	until   core.Instant
	tickets int
	probes  int
}

func deliveryOf(r *core.Rec) *delivery {
	d, _ := r.Payload.(*delivery)
	return d
}

// deliver makes the record that a client hands over, and counts it in.
func (w *world) deliver(t *tenure, e *entry) *core.Rec {
	d := &delivery{entry: e, tenure: t, attempts: e.attempts, failed: e.failed, first: e.first, held: e.held}
	if e.delivered || e.durable {
		w.origins[e.origin].again = true
	}
	e.delivered = true
	due, rest := w.readerWait(e)
	d.rec = core.Rec{
		Part: t.part, Payload: d, Key: e.key, Offset: e.offset, LeaderEpoch: e.epoch, Size: int32(e.size),
		Attempts: int32(e.attempts), Failed: e.failed, FirstFailure: e.first, Held: e.held, Due: due, Rest: rest, Mark: e.mark,
	}
	d.ready = max(w.now, due)
	if t.status != owned || w.stopping {
		d.state = gone
		return &d.rec
	}
	if t.last >= 0 && e.offset <= t.last {
		w.rewound(t)
	}
	t.last = e.offset
	d.gen, d.seq = t.gen, len(t.line)
	t.line = append(t.line, d)
	w.hold(d, 1)
	switch e.mark {
	case core.Passed:
		t.passing = append(t.passing, d)
		return &d.rec
	case core.Foreign:
		if t.foreign < 0 {
			t.foreign = d.seq
		}
		t.passing = append(t.passing, d)
		return &d.rec
	case core.Plain:
	}
	if key, ordered := w.unitKey(d); ordered {
		s := t.units[key]
		if s == nil {
			s = &series{}
			t.units[key] = s
		}
		s.line = append(s.line, d)
		d.series = s
	}
	return &d.rec
}

// unitKey names what a record must keep its order with.
func (w *world) unitKey(d *delivery) (string, bool) {
	if d.entry.log.topic.role != core.Source {
		return "", false
	}
	switch w.cfg.Routes[d.entry.log.topic.route].Ordering {
	case core.ByPartition:
		return "", true
	case core.ByKey:
		return "key " + string(d.entry.key), d.entry.key != nil
	case core.Unordered:
	}
	return "", false
}

// hold counts a record in (1) or out (-1) of the core's memory.
func (w *world) hold(d *delivery, n int) {
	t := d.tenure
	t.held += n
	t.bytes += n * d.entry.size
	t.member.held += n
	t.member.bytes += n * d.entry.size
}

// stale reports that a delivery's epoch is over or its log gone.
func (d *delivery) stale() bool { return d.tenure.status == over || d.gen != d.tenure.gen }

// leaves takes a delivery out of its series.
func (d *delivery) leaves() {
	if d.series != nil {
		i := slices.Index(d.series.line, d)
		d.series.line = slices.Delete(d.series.line, i, i+1)
		d.series = nil
	}
}

// release gives up what nobody has in hand.
func (w *world) release(t *tenure) {
	for _, d := range t.line[t.head:] {
		if d.state == waiting {
			d.state = gone
			w.hold(d, -1)
		}
	}
	t.passing = nil
	t.units = map[string]*series{}
}

// rewound begins a tenure anew: what is in hand belongs to a log that is gone.
func (w *world) rewound(t *tenure) {
	w.release(t)
	for _, d := range t.line[t.head:] {
		if d.state == unwritten {
			d.state = gone
			w.hold(d, -1)
		}
	}
	t.unwritten = 0
	t.gen++
	t.version = t.log.version
	t.line, t.head, t.passing = nil, 0, nil
	t.foreign, t.foreignShut, t.out, t.answered = -1, false, 0, -1
}

// finishAny lets a worker come back with its run.
func (w *world) finishAny() {
	if len(w.jobs) == 0 {
		w.poll()
		return
	}
	i := w.rng.IntN(len(w.jobs))
	j := w.jobs[i]
	if j.stuck && !w.quiet && (!j.tenure.cancelled || j.deaf && w.chance(0.9)) {
		return
	}
	if w.deadlines(); w.stopped {
		return
	}
	w.jobs = slices.Delete(w.jobs, i, i+1)
	w.work(j)
	run := j.run
	w.takeBack(j)
	w.step(&core.Finished{Run: run})
}

// work attempts the records of a run as a worker does.
func (w *world) work(j *job) {
	attempted := 0
	for i, d := range j.recs {
		if (i > 0 || !j.begun) && (j.tenure.barred || i > 0 && w.has(stuck) && w.chance(0.1)) {
			break
		}
		w.attempt(d)
		attempted = i + 1
		switch d.rec.Result.Outcome {
		case core.OutcomeHold, core.OutcomeAbandoned:
		case core.OutcomeFailed:
			if !j.run.StopOnFailure {
				continue
			}
		case core.OutcomeDone, core.OutcomeDrop:
			continue
		}
		break
	}
	j.run.Attempted = attempted
	j.run.Elapsed = w.upTo(2*time.Millisecond) * time.Duration(attempted)
}

// attempt calls a handler, as it were.
func (w *world) attempt(d *delivery) {
	r := &d.rec.Result
	if d.tenure.cancelled && w.chance(0.8) {
		r.Outcome = core.OutcomeAbandoned
		return
	}
	switch n := w.rng.IntN(100); {
	case n < 18 && w.has(failures):
		r.Outcome = core.OutcomeFailed
		if w.chance(0.2) {
			r.Verdict.After = w.upTo(10 * time.Second)
		}
	case n < 23 && w.has(failures):
		r.Outcome = core.OutcomeFailed
		r.Verdict.Class = retry.ClassPoison
	case n < 28 && w.has(holds):
		r.Outcome = core.OutcomeHold
		r.Verdict = retry.Verdict{Class: retry.ClassHold, After: w.upTo(time.Second)}
	case n < 33 && w.has(holds) && w.has(breakers):
		r.Outcome = core.OutcomeHold
		r.Breaker = int32(w.rng.IntN(len(w.downs)))
		r.Verdict = retry.Verdict{Class: retry.ClassHold, After: time.Millisecond + w.upTo(time.Second)}
	case n < 35 && w.has(failures):
		r.Outcome = core.OutcomeDrop
		w.end(d.entry, &w.origins[d.entry.origin].dropped)
	default:
		r.Outcome = core.OutcomeDone
		w.end(d.entry, &w.origins[d.entry.origin].handled)
	}
}

// end notes that an entry's outcome is durable.
func (w *world) end(e *entry, account *int) {
	e.durable = true
	*account++
}
