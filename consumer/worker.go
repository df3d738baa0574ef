package consumer

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-kafka/holdfast/breaker"
	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

// sliceBudget is how long a worker goes on with a run of records: what is
// left goes back, so that its slot comes free for other partitions.
const sliceBudget = 2 * time.Millisecond

// clockEvery is after how many records of a run its worker looks at the clock.
// Only runs of quick records are that long, and a look costs a quarter of what
// handing over a record does.
const clockEvery = 4

// worker calls handlers, one at a time.
type worker struct {
	rt *runtime
	// running is the attempt under way. Written by the worker, read by the
	// loop when it cancels.
	running atomic.Pointer[task]

	current *core.Run // the run under way, and which of its records
	index   int
	ended   bool
}

// run takes runs until there are no more.
func (w *worker) run() {
	for run := range w.rt.work {
		w.do(run)
		w.rt.results <- run
	}
	w.ended = true
}

// lastRites ends a run whose handler ended the goroutine by runtime.Goexit,
// which counts as a panic, and has the worker replaced.
func (w *worker) lastRites() {
	if w.ended {
		return
	}
	run := w.current
	if t := w.running.Swap(nil); t != nil && run != nil {
		w.judge(t, &PanicError{Stack: debug.Stack()})
		t.attempt.close()
		run.Attempted = w.index + 1
		w.rt.results <- run
	}
	w.rt.startWorker(w)
}

// do attempts the records of a run, one after another.
func (w *worker) do(run *core.Run) {
	start := time.Now()
	w.current = run
	for i, rec := range run.Recs {
		t, _ := rec.Payload.(*task)
		if t.tenure.barred.Load() || (i > 0 && run.Elapsed > sliceBudget) ||
			(!run.Probe && t.tenure.route.gated.Load() != 0) {
			break
		}
		w.index = i
		w.attempt(t)
		run.Attempted = i + 1
		if w.endsRun(run, rec) {
			break
		}
		if i%clockEvery == 0 {
			run.Elapsed = time.Since(start)
		}
	}
	run.Elapsed = time.Since(start)
}

func (w *worker) endsRun(run *core.Run, rec *core.Rec) bool {
	switch rec.Result.Outcome {
	case core.OutcomeHold, core.OutcomeAbandoned:
		return true
	case core.OutcomeFailed:
		return run.StopOnFailure
	case core.OutcomeDone, core.OutcomeDrop:
	}
	return false
}

// attempt calls the handler for one record and judges how it ended.
func (w *worker) attempt(t *task) {
	if t.attempt == nil {
		t.attempt = &t.ctx
	} else {
		t.attempt = new(attempt) // somebody may have kept the first
	}
	t.attempt.begin(&w.rt.base, t.tenure.route.Timeout)
	t.record.attempt = t.rec.Attempts + 1
	w.running.Store(t)
	if cause := t.tenure.cause.Load(); cause != nil {
		t.attempt.end(*cause)
	}
	err := w.call(t)
	w.running.Store(nil)
	if err != nil {
		w.judge(t, err)
	}
	t.attempt.close()
}

// call runs the handler and turns a panic into an error. After
// runtime.Goexit nothing below the handler runs but deferred calls: see
// [worker.lastRites].
func (w *worker) call(t *task) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	err = t.tenure.route.handler.Handle(t.attempt, &t.record)
	if err != nil {
		// A typed nil pointer is an error whose text cannot be read. Found
		// here it counts as the handler's panic, later it would end the process.
		_ = err.Error()
	}
	return err
}

// judge turns a handler's error into a result for the core.
func (w *worker) judge(t *task, err error) {
	result := &t.rec.Result
	cause := t.attempt.ended()
	if errors.Is(cause, ErrRevoked) || errors.Is(cause, ErrStopping) {
		// We cut it off. Its error says nothing about the record.
		result.Outcome = core.OutcomeAbandoned
		return
	}
	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
		result.Outcome = core.OutcomeHold
		result.Breaker = int32(w.rt.breakers.number(open.Breaker))
		result.Verdict = retry.Verdict{Class: retry.ClassHold, After: max(open.Left(time.Now()), time.Millisecond)}
		return
	}
	result.Verdict = w.classify(t, err)
	switch result.Verdict.Class {
	case retry.ClassHold:
		result.Outcome = core.OutcomeHold
	case retry.ClassDrop:
		result.Outcome = core.OutcomeDrop
	case retry.ClassPoison, retry.ClassTransient:
		result.Outcome = core.OutcomeFailed
		result.Disposition = retry.CauseOf(t.attempt, err)
		t.note(err, result.Verdict.Class)
	}
}

// classify asks the user's classifier, whose panic must not take the worker.
func (w *worker) classify(t *task, err error) (verdict retry.Verdict) {
	defer func() {
		if value := recover(); value != nil {
			w.rt.log.classifierPanicked(t, value)
			verdict = retry.Verdict{Class: retry.ClassTransient}
		}
	}()
	return retry.Classify(t.attempt, w.rt.cfg.Classifier, err)
}

// note keeps what a dead letter has to tell about the failed attempt.
func (t *task) note(err error, class retry.Class) {
	if t.failed == nil {
		t.failed = new(failed)
	}
	f := t.failed
	f.err, f.stack = err, nil
	if panicked, ok := errors.AsType[*PanicError](err); ok {
		f.stack = panicked.Stack
	}
	if len(f.attempts) == retry.MaxFailures {
		// A copy tells of the first and the latest, however many there were.
		f.attempts = slices.Delete(f.attempts, 1, 2)
	}
	f.attempts = append(f.attempts, retry.Failure{At: time.Now().UnixMilli(), Class: class.String(), Text: err.Error()})
}

// errorType names the Go type of the innermost error: the outer ones are what
// wrapped it.
func errorType(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}
