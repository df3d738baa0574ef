package breaker_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/breaker"
)

func TestOpensAfterFailuresInARow(t *testing.T) {
	t.Parallel()
	b := mustNew(t, breaker.Config{ConsecutiveFailures: 3})
	for _, err := range []error{errDown, errDown, nil, errDown, context.Canceled, errDown} {
		call(t, b, err)
	}
	wantState(t, b, breaker.Closed)
	if got := b.State().ConsecutiveFailures; got != 2 {
		t.Errorf("%d failures in a row, want 2", got)
	}
	call(t, b, errDown)
	wantState(t, b, breaker.Open)
	if call(t, b, nil) {
		t.Error("an open breaker let a call through")
	}
}

func TestOpenTimeEndsAtTheInstant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, breaker.Config{OpenFor: time.Second})
		open(t, b)
		until := time.Now().Add(time.Second)
		err := b.Do(t.Context(), func(context.Context) error { return nil })
		refused, ok := errors.AsType[*breaker.OpenError](err)
		if !ok || refused.Breaker != b || refused.State != breaker.Open || !refused.Until.Equal(until) {
			t.Fatalf("refused with %#v, want until %v", err, until)
		}
		if got := refused.Left(time.Now()); got != time.Second {
			t.Errorf("%v left, want 1s", got)
		}
		advance(time.Second - 1)
		if b.Ready(time.Now()) || call(t, b, nil) {
			t.Error("let through one nanosecond early")
		}
		advance(1)
		if !b.Ready(time.Now()) || refused.Left(time.Now()) != 0 {
			t.Error("not ready at the instant")
		}
		if !call(t, b, nil) {
			t.Error("refused at the instant")
		}
		wantState(t, b, breaker.Closed)
	})
}

// advance lets the bubble's time pass.
func advance(d time.Duration) { <-time.After(d) }

func TestReadingChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, breaker.Config{OpenFor: time.Second, Probes: 2})
		open(t, b)
		b.Watch(func(s breaker.Snapshot) { t.Errorf("reading changed the breaker to %+v", s) })
		want := b.State()
		advance(time.Hour)
		for range 3 {
			b.Ready(time.Now())
			if err := b.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, b.State()); diff != "" {
				t.Errorf("reading changed the state (-want +got):\n%s", diff)
			}
		}
		if want.Probes != 2 || want.Openings != 1 || want.Left(time.Now()) != 0 {
			t.Errorf("open breaker is %+v", want)
		}
	})
}

func TestOpenTimeGrowsToItsBoundAndIsResetByClosing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, steady(breaker.Config{OpenFor: 10 * time.Second, MaxOpenFor: 65 * time.Second}))
		var got []time.Duration
		next := func() {
			left := b.State().Left(time.Now())
			got = append(got, left)
			advance(left)
		}
		open(t, b)
		for range 5 {
			next()
			call(t, b, errDown)
		}
		next()
		call(t, b, nil)
		wantState(t, b, breaker.Closed)
		open(t, b)
		next()
		want := []time.Duration{10e9, 20e9, 40e9, 65e9, 65e9, 65e9, 10e9}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("open times (-want +got):\n%s", diff)
		}
	})
}

func TestJitterShortensAfterAFailedProbeOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, breaker.Config{OpenFor: 10 * time.Second, MaxOpenFor: 20 * time.Second, Random: func() float64 { return 0.5 }})
		open(t, b)
		if got := b.State().Left(time.Now()); got != 10*time.Second {
			t.Errorf("first open time is %v, want 10s", got)
		}
		advance(10 * time.Second)
		call(t, b, errDown)
		if got := b.State().Left(time.Now()); got != 18*time.Second {
			t.Errorf("open time after a failed probe is %v, want 20s less a tenth", got)
		}
	})
}

func TestHalfOpenHandsOutItsTickets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, breaker.Config{OpenFor: time.Second, Probes: 3})
		open(t, b)
		advance(time.Second)
		probes := []held{hold(t, b), hold(t, b), hold(t, b)}
		err := b.Do(t.Context(), func(context.Context) error { return nil })
		refused, ok := errors.AsType[*breaker.OpenError](err)
		if !ok || refused.State != breaker.HalfOpen || refused.Left(time.Now()) != 0 {
			t.Fatalf("fourth probe: %v", err)
		}
		probes[0].end(&poisonError{poison: true}) // says nothing: gives its ticket back
		if got := b.State(); got.State != breaker.HalfOpen || got.Probes != 1 || !got.Ready(time.Now()) {
			t.Errorf("after a ticket came back: %+v", got)
		}
		probes[1].end(nil)
		probes[2].end(nil)
		wantState(t, b, breaker.HalfOpen)
		call(t, b, nil)
		wantState(t, b, breaker.Closed)
	})
}

func TestOneFailedProbeOpensAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, steady(breaker.Config{OpenFor: time.Second, Probes: 2}))
		open(t, b)
		advance(time.Second)
		first, second := hold(t, b), hold(t, b)
		first.end(errDown)
		wantState(t, b, breaker.Open)
		want := b.State()
		second.end(nil) // late
		if diff := cmp.Diff(want, b.State()); diff != "" {
			t.Errorf("a late probe changed the breaker (-want +got):\n%s", diff)
		}
		advance(2*time.Second - 1)
		if call(t, b, nil) {
			t.Error("a late probe shortened the open time")
		}
	})
}

func TestLateResultsAreIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, breaker.Config{ConsecutiveFailures: 1, OpenFor: time.Second})
		first, second, third, fourth := hold(t, b), hold(t, b), hold(t, b), hold(t, b)
		open(t, b)
		want := b.State()
		first.end(nil)
		second.end(errDown)
		if diff := cmp.Diff(want, b.State()); diff != "" {
			t.Errorf("late results changed the open breaker (-want +got):\n%s", diff)
		}
		advance(time.Second)
		probe := hold(t, b)
		third.end(errDown)
		fourth.end(nil)
		wantState(t, b, breaker.HalfOpen)
		probe.end(nil)
		wantState(t, b, breaker.Closed)
	})
}

func TestPanicIsAFailureAndPassesOn(t *testing.T) {
	t.Parallel()
	b := mustNew(t, breaker.Config{ConsecutiveFailures: 1})
	got := func() (got any) {
		defer func() { got = recover() }()
		_ = b.Do(t.Context(), func(context.Context) error { panic("boom") })
		return nil
	}()
	if got != "boom" {
		t.Errorf("recovered %v, want boom", got)
	}
	wantState(t, b, breaker.Open)
}

func TestGoexitIsAFailureAndPassesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, breaker.Config{ConsecutiveFailures: 1, OpenFor: time.Second})
		exit := func() {
			passed := false
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = b.Do(t.Context(), func(context.Context) error {
					runtime.Goexit()
					return nil
				})
				passed = true
			}()
			<-done
			if passed {
				t.Error("the goroutine went on")
			}
		}
		exit()
		wantState(t, b, breaker.Open)
		advance(time.Second)
		exit() // a probe that exits does not keep its ticket
		wantState(t, b, breaker.Open)
		if got := b.State().Openings; got != 2 {
			t.Errorf("opened %d times, want 2", got)
		}
	})
}

func TestCancelledCallerIsNoFailure(t *testing.T) {
	t.Parallel()
	b := mustNew(t, breaker.Config{ConsecutiveFailures: 1, IsFailure: func(error) bool { return true }})
	ctx, cancel := context.WithCancelCause(t.Context())
	err := b.Do(ctx, func(context.Context) error {
		cancel(errors.New("revoked"))
		return errDown
	})
	if !errors.Is(err, errDown) {
		t.Errorf("Do returned %v", err)
	}
	wantState(t, b, breaker.Closed)

	expired, stop := context.WithTimeout(t.Context(), -1)
	defer stop()
	_ = b.Do(expired, func(ctx context.Context) error { return ctx.Err() })
	wantState(t, b, breaker.Open)
}

func TestFailingJudgeKeepsNoTicket(t *testing.T) {
	t.Parallel()
	b := mustNew(t, breaker.Config{ConsecutiveFailures: 1, IsFailure: func(error) bool { panic("judge") }})
	func() {
		defer func() { _ = recover() }()
		_ = b.Do(t.Context(), func(context.Context) error { return errDown })
	}()
	wantState(t, b, breaker.Open)
}

func TestDoWithAResult(t *testing.T) {
	t.Parallel()
	b := mustNew(t, breaker.Config{ConsecutiveFailures: 1})
	got, err := breaker.Do(t.Context(), b, func(context.Context) (int, error) { return 42, nil })
	if got != 42 || err != nil {
		t.Errorf("got %d, %v; want 42, nil", got, err)
	}
	got, err = breaker.Do(t.Context(), b, func(context.Context) (int, error) { return 7, errDown })
	if got != 7 || !errors.Is(err, errDown) {
		t.Errorf("got %d, %v; want 7, down", got, err)
	}
	got, err = breaker.Do(t.Context(), b, func(context.Context) (int, error) { return 9, nil })
	if _, open := errors.AsType[*breaker.OpenError](err); got != 0 || !open {
		t.Errorf("got %d, %v; want 0 and an OpenError", got, err)
	}
}
