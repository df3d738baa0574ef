package core_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// mix adds an action to the schedule's hash, FNV-1a over what identifies it.
func (w *world) mix(action core.Action) {
	add := func(values ...int64) {
		for _, v := range values {
			w.hash = (w.hash ^ uint64(v)) * 1099511628211
		}
	}
	add(int64(w.now))
	switch a := action.(type) {
	case *core.Dispatch:
		add(1, int64(tenureOf(a.Run.Part).part.Epoch), int64(len(a.Run.Recs)), a.Run.Recs[0].Offset)
	case *core.Publish:
		add(2, int64(a.Rec.Part.Epoch), a.Rec.Offset, int64(a.Target), int64(a.Lane), int64(a.Wait))
	case *core.Store:
		for _, p := range a.Positions {
			add(3, int64(p.Part.Epoch), p.Offset)
		}
	case *core.SetPaused:
		add(4, int64(a.Part.Epoch))
	case *core.FinishRevoke:
		add(5, int64(len(a.Parts)))
	case *core.Cancel:
		add(6, int64(a.Part.Epoch))
	case *core.Notice:
		add(7, int64(a.Kind), a.Offset)
	default:
		add(8)
	}
}

func names(parts []*core.Part) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, " %v", tenureOf(p))
	}
	return b.String()
}

func describeEvent(ev core.Event) string {
	switch e := ev.(type) {
	case nil:
		return "time passes"
	case *core.Arrived:
		s := "Arrived"
		for _, r := range e.Recs {
			s += fmt.Sprintf(" %v@%d", tenureOf(r.Part), r.Offset)
		}
		return s
	case *core.Finished:
		return fmt.Sprintf("Finished %s", describeRun(e.Run, true))
	case *core.Published:
		s := "Published"
		for _, a := range e.Acks {
			s += fmt.Sprintf(" %v@%d:%s", tenureOf(a.Rec.Part), a.Rec.Offset, [...]string{"acked", "too large", "failed"}[a.Result])
		}
		return s
	case *core.AssignedTo:
		return fmt.Sprintf("AssignedTo %d:%s", e.Client, names(e.Parts))
	case *core.RevokedFrom:
		return fmt.Sprintf("RevokedFrom %d (lost %v):%s", e.Client, e.Lost, names(e.Parts))
	case *core.Asked:
		return "Asked"
	default:
		return fmt.Sprintf("%T%+v", e, e)
	}
}

func describeAction(action core.Action) string {
	switch a := action.(type) {
	case *core.Dispatch:
		return fmt.Sprintf("Dispatch %s", describeRun(a.Run, false))
	case *core.Publish:
		return fmt.Sprintf("Publish %v@%d to %s, lane %d, wait %v, charged %v, omit %v, alone %v", tenureOf(a.Rec.Part),
			a.Rec.Offset, [...]string{"lane", "dead letters"}[a.Target], a.Lane, a.Wait, a.Charged, a.Omit, a.Alone)
	case *core.Store:
		s := fmt.Sprintf("Store %d", a.Client)
		for _, p := range a.Positions {
			s += fmt.Sprintf(" %v:%d", tenureOf(p.Part), p.Offset)
		}
		return s
	case *core.SetPaused:
		return fmt.Sprintf("SetPaused %v %v", tenureOf(a.Part), a.Paused)
	case *core.FinishAssign:
		return fmt.Sprintf("FinishAssign %d:%s %v", a.Client, names(a.Parts), a.Paused)
	case *core.FinishRevoke:
		return fmt.Sprintf("FinishRevoke %d:%s", a.Client, names(a.Parts))
	case *core.Bar:
		return fmt.Sprintf("Bar %v", tenureOf(a.Part))
	case *core.Cancel:
		return fmt.Sprintf("Cancel %v, cause %d", tenureOf(a.Part), a.Cause)
	case *core.Notice:
		return fmt.Sprintf("Notice %d %v@%d gate %v wait %v", a.Kind, tenureOf(a.Part), a.Offset, a.Gate, a.Wait)
	default:
		return fmt.Sprintf("%T%+v", a, a)
	}
}

func describeRun(r *core.Run, done bool) string {
	s := ""
	for i, rec := range r.Recs {
		s += fmt.Sprintf(" %v@%d", tenureOf(rec.Part), rec.Offset)
		if !done {
			continue
		}
		if i >= r.Attempted {
			s += ":not begun"
			continue
		}
		s += ":" + [...]string{"done", "failed", "hold", "drop", "abandoned"}[rec.Result.Outcome]
		if v := rec.Result.Verdict; v.Class != 0 || v.After > 0 {
			s += fmt.Sprintf("(%v after %v, breaker %d)", v.Class, v.After.Round(time.Microsecond), rec.Result.Breaker)
		}
	}
	return s
}
