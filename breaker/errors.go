package breaker

import (
	"fmt"
	"time"
)

// OpenError is returned by [Breaker.Do] and [Do] for a call that was not let
// through: the function did not run. Trying again can help once the breaker is
// ready ([Breaker.Wait]).
type OpenError struct {
	// Breaker is the one that refused.
	Breaker *Breaker
	// State is [Open], or [HalfOpen] where every probe was taken.
	State State
	// Until is when probing is allowed, for [Open]; otherwise zero, since the
	// probes under way decide.
	Until time.Time
}

// Error names the breaker and its state.
func (e *OpenError) Error() string {
	if e.State == HalfOpen {
		return fmt.Sprintf("breaker %s is half-open and every probe is taken", e.Breaker.Name())
	}
	return fmt.Sprintf("breaker %s is open", e.Breaker.Name())
}

// Left returns how long the breaker stays open from now on, or zero where that
// is over or not a matter of time.
func (e *OpenError) Left(now time.Time) time.Duration { return left(e.Until, now) }
