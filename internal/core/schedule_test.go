package core_test

import (
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Flags that replay one schedule, as a failure prints them.
var (
	seedFlag    = flag.Uint64("seed", 0, "play only this schedule")
	recordsFlag = flag.Int("records", -1, "with this many records instead of the seed's own number")
	eventsFlag  = flag.Int("events", -1, "with this many events instead of the seed's own number")
	withoutFlag = flag.String("without", "", "without these features, separated by commas")
)

// schedules is how many are played: enough to meet each mutation of the core
// that was tried, many times over. Under the race detector it is a tenth.
const schedules = 20_000 / raceFactor

// TestSchedules plays random schedules against the model. Every promise about
// dispatch, order, charges, offsets, memory, rebalances and shutdown is
// checked after every step: see the model_*_test.go files.
func TestSchedules(t *testing.T) {
	t.Parallel()
	if *seedFlag != 0 {
		p := params{seed: *seedFlag, records: *recordsFlag, events: *eventsFlag, without: parseFeatures(t, *withoutFlag)}
		if w, err := play(p, true); err != "" {
			t.Fatalf("%s\n%s", err, strings.Join(w.trace, "\n"))
		}
		return
	}
	const lanes = 2
	var failed atomic.Bool
	var steps atomic.Int64
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Go(func() {
			for seed := uint64(lane + 1); seed <= schedules && !failed.Load(); seed += lanes {
				w, err := play(params{seed: seed, records: -1, events: -1}, false)
				if err != "" && !failed.Swap(true) {
					t.Error(report(shrink(params{seed: seed, records: w.records, events: w.events})))
				}
				steps.Add(int64(w.steps))
			}
		})
	}
	wg.Wait()
	t.Logf("%d schedules, %d steps", schedules, steps.Load())
}

// TestScheduleReplay plays schedules twice: a core has no chance or order of
// its own.
func TestScheduleReplay(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 200/raceFactor+1; seed++ {
		p := params{seed: seed, records: -1, events: -1}
		first, _ := play(p, false)
		second, _ := play(p, false)
		if first.hash != second.hash || first.steps != second.steps {
			t.Fatalf("seed %d: %d steps, hash %x, then %d steps, hash %x", seed, first.steps, first.hash, second.steps, second.hash)
		}
	}
}

// play runs a schedule and returns what it violated, "" if nothing.
func play(p params, keep bool) (w *world, failure string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case violation:
			failure = r.text
		default:
			failure = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	w = &world{params: p, keep: keep}
	w.begin()
	w.run()
	return w, ""
}

// shrink makes a failing schedule smaller while it fails: fewer features,
// records and events.
func shrink(p params) params {
	fails := func(p params) bool {
		_, failure := play(p, false)
		return failure != ""
	}
	for shrunk := true; shrunk; {
		shrunk = false
		try := func(q params) {
			if q != p && fails(q) {
				p, shrunk = q, true
			}
		}
		for f := feature(1); f < featuresEnd; f <<= 1 {
			q := p
			q.without |= f
			try(q)
		}
		for _, n := range smaller(p.records) {
			q := p
			q.records = n
			try(q)
		}
		for _, n := range smaller(p.events) {
			q := p
			q.events = n
			try(q)
		}
	}
	return p
}

// smaller lists numbers below n to try, the boldest first.
func smaller(n int) []int {
	var tries []int
	for _, m := range []int{n / 4, n / 2, n * 3 / 4, n - 3, n - 1} {
		if m > 0 && m < n && !slices.Contains(tries, m) {
			tries = append(tries, m)
		}
	}
	return tries
}

// traced is how many of the last lines of a trace are shown.
const traced = 80

func report(p params) string {
	w, failure := play(p, true)
	command := fmt.Sprintf("go test ./internal/core -run TestSchedules -seed=%d -records=%d -events=%d", p.seed, p.records, p.events)
	if names := formatFeatures(p.without); names != "" {
		command += " -without=" + names
	}
	return fmt.Sprintf("%s\nreplay: %s\n%s", failure, command, strings.Join(w.trace[max(0, len(w.trace)-traced):], "\n"))
}

func formatFeatures(f feature) string {
	var out []string
	for i, name := range featureNames() {
		if f&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, ",")
}

func parseFeatures(t *testing.T, s string) (f feature) {
	t.Helper()
	for name := range strings.SplitSeq(s, ",") {
		i := slices.Index(featureNames(), name)
		if i < 0 && name != "" {
			t.Fatalf("no feature %q", name)
		}
		if i >= 0 {
			f |= 1 << i
		}
	}
	return f
}
