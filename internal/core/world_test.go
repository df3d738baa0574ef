package core_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// feature is something that can go wrong or be switched on in a schedule.
// Shrinking takes features away.
type feature uint32

const (
	crashes feature = 1 << iota
	losses
	rebalances
	rewinds
	stops
	breaks
	breakers
	operators
	foreigners
	passers
	stuck
	failures
	holds
	badCopies
	badCommits
	lateShell
	twoSources
	replays
	featuresEnd
)

// featureNames are the names of features in flags, in order of their bits.
func featureNames() []string {
	return []string{
		"crashes", "losses", "rebalances", "rewinds", "stops", "breaks", "breakers", "operators", "foreigners",
		"passers", "stuck", "failures", "holds", "badCopies", "badCommits", "lateShell", "twoSources", "replays",
	}
}

// params are what a schedule is made from: equal params, equal schedule.
type params struct {
	seed    uint64
	records int // source records, -1: as the seed has it
	events  int // random events before the faults end, -1: as the seed has it
	without feature
}

// violation is a broken promise. It is thrown and caught in this package.
type violation struct{ text string }

// world is everything around a core: brokers, group, workers, publisher,
// committers and time. It is also the naive model: it follows what the core
// must have concluded and checks each action against it.
type world struct {
	params

	rng *rand.Rand
	now core.Instant
	cfg core.Config

	core    *core.Core
	topics  []*topic
	logs    []*log
	origins []origin
	members []*member
	downs   []*downstream
	learned []map[int]bool // breakers a route was seen to depend on, undeclared ones included
	jobs    []*job
	copies  []*copying

	assigning *core.AssignedTo
	wanted    []*delivery // whose copy must be asked for in this step
	arrivals  *tenure     // the last partition of the batch that just arrived
	fleeting  bool        // part of what is held when the event begins is not at its end
	epochs    uint64

	stopping, stopped bool
	stopBy            core.Instant
	uncommitted       []*tenure // when their client was told to close
	quiet             bool      // the faults have ended

	steps int
	hash  uint64
	trace []string
	keep  bool // the trace
}

// begin sets the scene as the params have it.
func (w *world) begin() {
	w.rng, w.now = rand.New(rand.NewPCG(w.seed, 7)), 1
	records, events := 1+w.rng.IntN(8<<w.rng.IntN(4)), 10+w.rng.IntN(40<<w.rng.IntN(4))
	if w.records < 0 {
		w.records = records
	}
	if w.events < 0 {
		w.events = events
	}
	w.configure()
	w.populate()
	w.start()
}

// run plays the schedule: random events, then an end of all faults, then a
// shutdown, and at last the accounts.
func (w *world) run() {
	for range w.events {
		w.anything()
		if w.stopped {
			w.restart()
		}
	}
	w.finishStopping()
	w.settle()
	w.stopInPeace()
	w.account()
}

func (w *world) has(f feature) bool { return w.without&f == 0 && !w.quiet }

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

// upTo returns a time of any magnitude below d.
func (w *world) upTo(d time.Duration) time.Duration {
	return time.Duration(w.rng.Int64N(int64(d))) >> w.rng.IntN(12)
}

// violatef ends the schedule: a promise is broken.
func (w *world) violatef(format string, args ...any) {
	panic(violation{fmt.Sprintf("t=%v: ", time.Duration(w.now)) + fmt.Sprintf(format, args...)})
}

func (w *world) notef(format string, args ...any) {
	if w.keep {
		w.trace = append(w.trace, fmt.Sprintf("%12v  ", time.Duration(w.now))+fmt.Sprintf(format, args...))
	}
}

// step gives the core an event and checks and does what it answers.
func (w *world) step(ev core.Event) {
	w.steps++
	if w.keep {
		w.notef("%s", describeEvent(ev))
	}
	for _, action := range w.core.Step(w.now, ev) {
		w.mix(action)
		if w.keep {
			w.notef("    %s", describeAction(action))
		}
		w.perform(action)
	}
	w.checkStep()
}

func (w *world) perform(action core.Action) {
	if w.stopped {
		if _, ok := action.(*core.Notice); !ok {
			w.violatef("%s after Stopped", describeAction(action))
		}
	}
	switch a := action.(type) {
	case *core.Dispatch:
		w.dispatched(a.Run)
	case *core.Publish:
		w.asked(a)
	case *core.Store:
		w.stored(a)
	case *core.SetPaused:
		w.setPaused(a)
	case *core.FinishAssign:
		w.assigned(a)
	case *core.FinishRevoke:
		w.revoked(a)
	case *core.Bar:
		tenureOf(a.Part).barred = true
	case *core.Cancel:
		tenureOf(a.Part).cancelled = true
	case *core.CloseClient:
		w.closing(a)
	case *core.Stopped:
		w.ended(a.Report)
	case *core.Notice:
		w.noticed(a)
	}
}

// pass lets time go by. The shell mostly steps the core when its timers are
// due, to the nanosecond, and sometimes is late.
func (w *world) pass(d time.Duration) {
	target := w.now.Add(d)
	if w.has(lateShell) && w.chance(0.1) {
		w.now = target
		return
	}
	for still := 0; !w.stopped; {
		next := w.core.Next()
		if next > target {
			break
		}
		if next > w.now+1 && w.chance(0.3) {
			w.now = next - 1
			w.step(nil)
			continue
		}
		if still++; next > w.now {
			still = 0
		}
		if still > 1000 {
			w.violatef("the same timer again and again: Next is %v", time.Duration(next))
		}
		w.now = max(w.now, next)
		w.step(nil)
	}
	w.now = max(w.now, target)
}

// anything lets one thing happen that could.
func (w *world) anything() {
	switch n := w.rng.IntN(100); {
	case n < 26:
		w.poll()
	case n < 52:
		w.finishAny()
	case n < 66:
		w.resolveCopies()
	case n < 72:
		w.answerCommit()
	case n < 82:
		w.pass(w.upTo(3 * time.Second))
	case n < 84:
		w.passToTimer()
	case n < 87:
		w.produce(1 + w.rng.IntN(3))
	case n < 92:
		w.assignAny()
	case n < 95:
		w.revokeAny()
	case n < 97:
		w.look()
	default:
		w.rarely()
	}
	w.closeMembers()
}

// deadlines lets those pass that are over before something else is followed
// that they would change.
func (w *world) deadlines() {
	for _, m := range w.members {
		if !w.stopped && (w.stopping || m.revoke != nil) && w.core.Next() <= w.now {
			w.step(nil)
		}
	}
}

func (w *world) passToTimer() {
	if next := w.core.Next(); next != core.Never && next > w.now {
		w.pass(next.Sub(w.now))
	}
}

// rarely lets something seldom happen.
func (w *world) rarely() {
	switch w.rng.IntN(12) {
	case 0, 1, 2:
		w.breakerChanges()
	case 3, 4:
		w.operatorActs()
	case 5, 6:
		w.rewind()
	case 7:
		w.lose()
	case 8, 9:
		w.otherMember()
	case 10:
		w.maybeCrash()
	case 11:
		w.maybeStop()
	}
}
