package breaker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Breaker is a circuit breaker. Make one with [New]; it has no goroutine and
// need not be closed. Safe for concurrent use.
//
// It wraps a gobreaker, which counts, hands out the tickets of half-open and
// ignores late results by generation. The open time is ours, because it grows:
// the gobreaker's own is as good as zero, and while we are open no call reaches
// it. Every call of the gobreaker is made under mu, so that both change
// together; its state callback therefore runs under mu as well and does nothing
// but set moved.
type Breaker struct {
	name string
	cfg  Config
	// watch delivers snapshots outside mu. Lock order: mu, then watch's own.
	watch watchers

	mu       sync.Mutex
	inner    *gobreaker.TwoStepCircuitBreaker[struct{}]
	moved    gobreaker.State // where the inner breaker went last
	state    State
	since    time.Time
	until    time.Time     // open: when probing is allowed
	openings int           // since it was last closed
	changed  chan struct{} // closed at the next change; nil while nobody waits
}

// New makes a closed breaker. The name tells breakers apart in logs and gates
// and must not be empty. Every mistake in name and config is returned, joined.
func New(name string, cfg Config) (*Breaker, error) {
	var unnamed error
	if name == "" {
		unnamed = errors.New("name: must not be empty")
	}
	if err := errors.Join(unnamed, cfg.Validate()); err != nil {
		return nil, fmt.Errorf("breaker %q: %w", name, err)
	}
	b := &Breaker{name: name, cfg: cfg.WithDefaults(), since: time.Now()}
	b.inner = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        name,
		MaxRequests: uint32(b.cfg.Probes),
		Timeout:     1, // the least it takes; see Breaker
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return int64(c.ConsecutiveFailures) >= int64(b.cfg.ConsecutiveFailures)
		},
		OnStateChange: func(_ string, _, to gobreaker.State) { b.moved = to },
		IsExcluded:    func(err error) bool { return errors.Is(err, errNeither) },
	})
	return b, nil
}

// Name returns the breaker's name.
func (b *Breaker) Name() string { return b.name }

// Do calls fn if the breaker lets it through and counts what became of it. It
// returns fn's error as it is, or an [*OpenError] where fn was not called. fn
// runs on the calling goroutine with ctx and must end when ctx does. A panic or
// a [runtime.Goexit] in fn is a failure and goes on its way.
func (b *Breaker) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	done, err := b.admit()
	if err != nil {
		return err
	}
	outcome := errFailure // unless fn and its judge return
	defer func() { b.settle(done, outcome) }()
	err = fn(ctx)
	outcome = b.judge(ctx, err)
	return err
}

// Do is [Breaker.Do] for a function with a result. The result is fn's own, with
// an error too, or the zero value where fn was not called.
func Do[T any](ctx context.Context, b *Breaker, fn func(ctx context.Context) (T, error)) (T, error) {
	var result T
	err := b.Do(ctx, func(ctx context.Context) error {
		var err error
		result, err = fn(ctx)
		return err
	})
	return result, err
}

// What a call's end means to the inner breaker; nil is a success.
var (
	errFailure = errors.New("failure")
	errNeither = errors.New("neither success nor failure")
)

// judge says what a call that returned means for the downstream.
func (b *Breaker) judge(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return errNeither
	case b.cfg.IsFailure(err):
		return errFailure
	}
	return errNeither
}

// admit lets a call through, or not.
func (b *Breaker) admit() (done func(error), err error) {
	b.mu.Lock()
	now := time.Now()
	if b.state == Open && now.Before(b.until) {
		refused := &OpenError{Breaker: b, State: Open, Until: b.until}
		b.mu.Unlock()
		return nil, refused
	}
	done, err = b.inner.Allow()
	if err != nil {
		b.mu.Unlock()
		return nil, &OpenError{Breaker: b, State: HalfOpen}
	}
	probing := b.state == Open
	if probing {
		b.enter(HalfOpen, now)
	}
	b.mu.Unlock()
	if probing {
		b.watch.deliver()
	}
	return done, nil
}

// settle counts the end of a call and moves the breaker where that leads.
func (b *Breaker) settle(done func(error), outcome error) {
	random := 0.0
	if errors.Is(outcome, errFailure) {
		random = b.cfg.Random()
	}
	if b.count(done, outcome, random) {
		b.watch.deliver()
	}
}

// count is settle under mu. It reports whether anything is to be delivered.
func (b *Breaker) count(done func(error), outcome error, random float64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	probes := b.probes()
	b.moved = gobreaker.StateHalfOpen // means: nothing that concerns us
	done(outcome)
	now := time.Now()
	switch b.moved {
	case gobreaker.StateClosed:
		b.openings = 0
		b.enter(Closed, now)
		return true
	case gobreaker.StateOpen:
		b.openings++
		b.until = now.Add(b.cfg.openFor(b.openings, random))
		b.enter(Open, now)
		return true
	case gobreaker.StateHalfOpen: // the inner open time is over; ours decides
	}
	if b.state == HalfOpen && b.probes() > probes {
		b.tell() // a ticket was given back
		return true
	}
	return false
}

// enter changes the state. Holding mu.
func (b *Breaker) enter(state State, now time.Time) {
	b.state, b.since = state, now
	if state != Open {
		b.until = time.Time{}
	}
	b.tell()
}

// tell wakes those who wait and queues what watchers get. Holding mu.
func (b *Breaker) tell() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	b.watch.add(b.snapshot())
}

// State returns what the breaker does now. Reading it changes nothing.
func (b *Breaker) State() Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.snapshot()
}

// Ready reports whether a call at the given time would be let through, as far
// as is known now.
func (b *Breaker) Ready(now time.Time) bool { return b.State().Ready(now) }

// snapshot describes the breaker. Holding mu.
func (b *Breaker) snapshot() Snapshot {
	s := Snapshot{State: b.state, Since: b.since, Until: b.until, Probes: b.probes(), Openings: b.openings}
	if b.state == Closed {
		s.ConsecutiveFailures = int(b.inner.Counts().ConsecutiveFailures)
	}
	return s
}

// probes is how many tickets there are. Holding mu.
func (b *Breaker) probes() int {
	switch b.state {
	case Closed:
		return 0
	case Open:
		return b.cfg.Probes
	case HalfOpen:
	}
	c := b.inner.Counts()
	return b.cfg.Probes - int(c.Requests-c.TotalExclusions)
}
