package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

// rig drives a core by hand.
type rig struct {
	t      *testing.T
	core   *core.Core
	now    core.Instant
	acts   []core.Action
	runs   []*core.Run // out, in order of dispatch
	copies []core.Publish
	slow   bool // handlers take so long that a run is one record
	offset int64
}

// newRig makes a core of one source client, a lane client and one route, as
// edit has it.
func newRig(t *testing.T, edit func(*core.Config)) *rig {
	t.Helper()
	limits := core.Client{PartRecords: 1000, PartBytes: 1 << 20, MaxRecords: 10_000, MaxBytes: 1 << 30, Floor: 10}
	cfg := core.Config{
		Slots:          4,
		CommitInterval: time.Second,
		CommitCount:    1000,
		DrainTimeout:   5 * time.Second,
		StopTimeout:    5 * time.Second,
		MaxUncommitted: 1000,
		Clients:        []core.Client{limits, limits},
		Routes: []core.Route{{Policy: retry.Policy{
			MaxAttempts: 3, Initial: time.Second, DisableJitter: true, Lanes: retry.Lanes{time.Second, 10 * time.Second},
		}.WithDefaults()}},
	}
	if edit != nil {
		edit(&cfg)
	}
	return &rig{t: t, core: core.New(cfg), now: 1}
}

func (r *rig) step(ev core.Event) {
	r.acts = slices.Clone(r.core.Step(r.now, ev))
	for _, a := range r.acts {
		switch a := a.(type) {
		case *core.Dispatch:
			r.runs = append(r.runs, a.Run)
		case *core.Publish:
			r.copies = append(r.copies, *a)
		}
	}
}

// after lets time pass in one go.
func (r *rig) after(d time.Duration) {
	r.now = r.now.Add(d)
	r.step(nil)
}

// assign gives a client a partition.
func (r *rig) assign(client int, role core.Role, partition int32) *core.Part {
	p := core.NewPart(fmt.Sprintf("topic-%d", role), partition, client, role, 0, uint64(r.now))
	r.step(&core.AssignedTo{Client: client, Parts: []*core.Part{p}})
	return p
}

// arrive delivers plain records of ten bytes.
func (r *rig) arrive(p *core.Part, offsets ...int64) {
	var recs []*core.Rec
	for _, o := range offsets {
		recs = append(recs, &core.Rec{Part: p, Offset: o, Size: 10})
	}
	r.step(&core.Arrived{Recs: recs})
}

// finish brings the oldest run back: a letter for each record attempted. d
// done, f failed, p poison, h held for a second, a abandoned.
func (r *rig) finish(outcomes string) {
	r.t.Helper()
	if len(r.runs) == 0 {
		r.t.Fatal("no run is out")
	}
	run := r.runs[0]
	r.runs = r.runs[1:]
	run.Attempted = len(outcomes)
	if r.slow {
		run.Elapsed = time.Second
	}
	for i, o := range outcomes {
		result := &run.Recs[i].Result
		switch o {
		case 'd':
			result.Outcome = core.OutcomeDone
		case 'f':
			result.Outcome = core.OutcomeFailed
		case 'p':
			result.Outcome = core.OutcomeFailed
			result.Verdict.Class = retry.ClassPoison
		case 'h':
			result.Outcome = core.OutcomeHold
			result.Verdict = retry.Verdict{Class: retry.ClassHold, After: time.Second}
		case 'a':
			result.Outcome = core.OutcomeAbandoned
		}
	}
	r.step(&core.Finished{Run: run})
}

// ack resolves the oldest copy.
func (r *rig) ack(result core.PublishResult) {
	r.t.Helper()
	if len(r.copies) == 0 {
		r.t.Fatal("no copy is on its way")
	}
	c := r.copies[0]
	r.copies = r.copies[1:]
	r.step(&core.Published{Acks: []core.Ack{{Rec: c.Rec, Result: result}}})
}

// said returns what the last step did apart from notices, in a short form.
func (r *rig) said() []string {
	var out []string
	for _, a := range r.acts {
		switch a := a.(type) {
		case *core.Dispatch:
			s := make([]string, len(a.Run.Recs))
			for i, rec := range a.Run.Recs {
				s[i] = fmt.Sprint(rec.Offset)
			}
			out = append(out, "dispatch "+strings.Join(s, " "))
		case *core.Publish:
			out = append(out, fmt.Sprintf("publish %d to %d alone=%v omit=%v", a.Rec.Offset, a.Target, a.Alone, a.Omit))
		case *core.Store:
			for _, p := range a.Positions {
				out = append(out, fmt.Sprintf("store %d", p.Offset))
			}
		case *core.SetPaused:
			out = append(out, fmt.Sprintf("paused=%v", a.Paused))
		case *core.Stopped:
			out = append(out, fmt.Sprintf("stopped %+v", a.Report))
		case *core.Notice:
		default:
			out = append(out, strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", a), "*core.")))
		}
	}
	return out
}

// expect checks what the last step did.
func (r *rig) expect(want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.said()); diff != "" {
		r.t.Fatalf("at %v (-want +got):\n%s", time.Duration(r.now), diff)
	}
}
