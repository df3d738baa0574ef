package retry

import (
	"fmt"
	"time"
)

// State is what is known of a record when an attempt has failed.
type State struct {
	// Attempts is how many attempts failed and were charged, this one
	// included. Less than 1 counts as 1.
	Attempts int
	// Elapsed is the time since the first failure, without holds and parks.
	Elapsed time.Duration
	// Verdict is what the failure means.
	Verdict Verdict
	// Cause is the kind of failure where it is known ([CauseOf]): decode,
	// panic or timeout. It refines the disposition and decides nothing.
	Cause Disposition
	// Random is 0 to below 1 and decides the jitter.
	Random float64
}

// Action is what to do with a record after a failed attempt.
type Action uint8

// The actions.
const (
	// ActionRetry: attempt it again after Wait. The attempt is charged.
	ActionRetry Action = iota
	// ActionDead: write a dead letter with Disposition.
	ActionDead
	// ActionDrop: it is done, without a trace.
	ActionDrop
	// ActionHold: keep it for Wait, then attempt it; nothing is charged.
	ActionHold
)

// String returns the action's name.
func (a Action) String() string {
	switch a {
	case ActionRetry:
		return "retry"
	case ActionDead:
		return "dead"
	case ActionDrop:
		return "drop"
	case ActionHold:
		return "hold"
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// Decision is what becomes of a record.
type Decision struct {
	Action Action
	// Wait is the least wait of [ActionRetry] and the time of [ActionHold].
	// It is at most [MaxWait].
	Wait time.Duration
	// Jitter is what chance adds to Wait for a retry in place. In a lane the
	// jitter is [Policy.Place]'s.
	Jitter time.Duration
	// Disposition is set for [ActionDead].
	Disposition Disposition
}

// Next decides. Hold, drop and poison are what the verdict says. A transient
// failure is dead when it was the last allowed attempt, or when the next
// would begin later than MaxElapsed after the first failure; otherwise it is
// retried after the policy's wait, or after the verdict's where that is longer.
// A class that is none of the constants counts as transient.
func (p Policy) Next(s State) Decision {
	p = p.scalars()
	after := min(max(0, s.Verdict.After), MaxWait)
	switch s.Verdict.Class {
	case ClassHold:
		return Decision{Action: ActionHold, Wait: after}
	case ClassDrop:
		return Decision{Action: ActionDrop}
	case ClassPoison:
		return dead(refine(DispositionPoison, s.Cause, DispositionDecode))
	case ClassTransient:
	}
	if s.Attempts >= p.MaxAttempts {
		return dead(refine(DispositionExhausted, s.Cause, DispositionTimeout))
	}
	wait := max(p.base(s.Attempts), after)
	if p.MaxElapsed > 0 && max(0, s.Elapsed) > p.MaxElapsed-wait {
		return dead(DispositionExpired)
	}
	return Decision{Action: ActionRetry, Wait: wait, Jitter: jitter(wait, p.Jitter, s.Random)}
}

func dead(d Disposition) Decision { return Decision{Action: ActionDead, Disposition: d} }

// refine returns the cause where it says more than the class does: a panic
// always, and the one cause that belongs to the class.
func refine(byClass, cause, belongs Disposition) Disposition {
	if cause == DispositionPanic || cause == belongs {
		return cause
	}
	return byClass
}
