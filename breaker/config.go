package breaker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Defaults of [Config].
const (
	// ConsecutiveFailuresDefault forgives what a healthy downstream fails
	// now and then and still opens within a handful of timeouts.
	ConsecutiveFailuresDefault = 5
	// OpenForDefault is longer than most restarts behind a load balancer.
	OpenForDefault = 10 * time.Second
	// MaxOpenForDefault bounds how late a recovery is seen.
	MaxOpenForDefault = 2 * time.Minute
	// ProbesDefault lets one call decide, which is the least that a
	// downstream in trouble can be asked.
	ProbesDefault = 1
)

// Bounds of [Config].
const (
	// ConsecutiveFailuresMax and ProbesMax bound counts: more is a mistake.
	ConsecutiveFailuresMax = 1_000_000
	ProbesMax              = 1_000_000
	// OpenForMin and OpenForMax bound the open time.
	OpenForMin = time.Millisecond
	OpenForMax = 24 * time.Hour
)

// JitterShare is the share of an open time that chance may take off after a
// failed probe, so that the processes of a group do not probe together.
const JitterShare = 0.2

// Config is how a breaker behaves. Its zero value is the default.
type Config struct {
	// ConsecutiveFailures in a row open the breaker. Default 5, range 1 to
	// [ConsecutiveFailuresMax].
	ConsecutiveFailures int

	// OpenFor is how long the breaker refuses calls when it opens. Default
	// 10 s, range [OpenForMin] to [OpenForMax].
	OpenFor time.Duration
	// MaxOpenFor bounds the open time, which doubles with each failed probe,
	// less up to [JitterShare] of it by chance, and is OpenFor again once the
	// breaker has closed. Default 2 min, or OpenFor where that is longer;
	// range OpenFor to [OpenForMax].
	MaxOpenFor time.Duration

	// Probes is how many calls half-open lets through, and how many of them
	// must succeed to close. Default 1, range 1 to [ProbesMax].
	Probes int

	// IsFailure reports whether a call's error, never nil, speaks against the
	// downstream. An error that does not counts neither as failure nor as
	// success, and a probe's ticket is given back. Default [IsFailure]. It is
	// not asked about a call that returned an error after its context was
	// cancelled: that was the caller's doing and is never a failure. Called on
	// the caller's goroutine, without locks.
	IsFailure func(err error) bool

	// Random returns 0 to below 1 and decides the jitter. Default
	// [rand.Float64]. Called on the goroutines of callers, without locks.
	Random func() float64
}

// WithDefaults returns a copy with every unset field set.
func (c Config) WithDefaults() Config {
	c.ConsecutiveFailures = cmp.Or(c.ConsecutiveFailures, ConsecutiveFailuresDefault)
	c.OpenFor = cmp.Or(c.OpenFor, OpenForDefault)
	c.MaxOpenFor = cmp.Or(c.MaxOpenFor, max(MaxOpenForDefault, c.OpenFor))
	c.Probes = cmp.Or(c.Probes, ProbesDefault)
	if c.IsFailure == nil {
		c.IsFailure = IsFailure
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return c
}

// Validate returns every mistake of c, joined, or nil. Unset fields are taken
// as their defaults.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if c.ConsecutiveFailures < 1 || c.ConsecutiveFailures > ConsecutiveFailuresMax {
		bad("consecutive failures %d: must be 1 to %d", c.ConsecutiveFailures, ConsecutiveFailuresMax)
	}
	if c.OpenFor < OpenForMin || c.OpenFor > OpenForMax {
		bad("open for %v: must be %v to %v", c.OpenFor, OpenForMin, OpenForMax)
	}
	if c.MaxOpenFor < c.OpenFor || c.MaxOpenFor > OpenForMax {
		bad("max open for %v: must be from open for, %v, to %v", c.MaxOpenFor, c.OpenFor, OpenForMax)
	}
	if c.Probes < 1 || c.Probes > ProbesMax {
		bad("probes %d: must be 1 to %d", c.Probes, ProbesMax)
	}
	return errors.Join(problems...)
}

// openFor is how long the breaker stays open the opening-th time in a row, the
// first being 1.
func (c Config) openFor(opening int, random float64) time.Duration {
	wait := c.OpenFor
	for range opening - 1 {
		if wait >= c.MaxOpenFor/2 {
			wait = c.MaxOpenFor
			break
		}
		wait *= 2
	}
	less := time.Duration(float64(wait) * JitterShare * min(max(random, 0), 1))
	return max(c.OpenFor, wait-less)
}

// IsFailure is the default of [Config.IsFailure]: everything speaks against the
// downstream but a poisonous record (an error in the tree has a method
// Poison() bool that returns true), a cancelled call ([context.Canceled]) and
// another breaker's [*OpenError]. A deadline does speak against it. A nil err
// is no failure.
func IsFailure(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if _, open := errors.AsType[*OpenError](err); open {
		return false
	}
	return !isPoison(err)
}

// isPoison looks at every error of the tree, because one that says no must not
// hide another that says yes.
func isPoison(err error) bool {
	if p, ok := err.(interface{ Poison() bool }); ok && p.Poison() {
		return true
	}
	switch x := err.(type) { //nolint:errorlint // one node
	case interface{ Unwrap() error }:
		return isPoison(x.Unwrap())
	case interface{ Unwrap() []error }:
		if slices.ContainsFunc(x.Unwrap(), isPoison) {
			return true
		}
	}
	return false
}
