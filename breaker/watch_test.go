package breaker_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/breaker"
)

func TestWatchTellsEveryChangeInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, steady(breaker.Config{OpenFor: time.Second}))
		begin := time.Now()
		var got []breaker.Snapshot
		stop := b.Watch(func(s breaker.Snapshot) { got = append(got, s) })
		open(t, b)
		advance(time.Second)
		call(t, b, context.Canceled)
		call(t, b, errDown)
		advance(2 * time.Second)
		call(t, b, nil)
		stop()
		stop()
		open(t, b)
		at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
		want := []breaker.Snapshot{
			{State: breaker.Open, Since: at(0), Until: at(1), Probes: 1, Openings: 1},
			{State: breaker.HalfOpen, Since: at(1), Probes: 0, Openings: 1},
			{State: breaker.HalfOpen, Since: at(1), Probes: 1, Openings: 1},
			{State: breaker.Open, Since: at(1), Until: at(3), Probes: 1, Openings: 2},
			{State: breaker.HalfOpen, Since: at(3), Probes: 0, Openings: 2},
			{State: breaker.Closed, Since: at(3)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

// gobreaker calls back under its own lock and deadlocks on those who call it
// from there. What Watch calls may do anything with the breaker.
func TestWatcherMayUseTheBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, steady(breaker.Config{ConsecutiveFailures: 1, OpenFor: time.Second}))
		var got []breaker.State
		var stop func()
		stop = b.Watch(func(s breaker.Snapshot) {
			got = append(got, s.State)
			if now := b.State(); now.State != s.State && s.State != breaker.HalfOpen {
				t.Errorf("told of %v while %v", s.State, now.State)
			}
			b.Ready(time.Now())
			b.Watch(func(breaker.Snapshot) {})()
			switch s.State {
			case breaker.Open:
				_ = b.Wait(t.Context())
				call(t, b, nil) // goes through half-open to closed, from within
			case breaker.HalfOpen:
			case breaker.Closed:
				stop()
			}
		})
		call(t, b, errDown)
		want := []breaker.State{breaker.Open, breaker.HalfOpen, breaker.Closed}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		open(t, b)
		if len(got) != len(want) {
			t.Errorf("called after stop: %v", got)
		}
	})
}

func TestWatcherThatPanicsDoesNotEndTheWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, breaker.Config{ConsecutiveFailures: 1, OpenFor: time.Second})
		var got []breaker.State
		b.Watch(func(s breaker.Snapshot) {
			got = append(got, s.State)
			if s.State == breaker.Open {
				panic("watcher")
			}
		})
		recovered := func() (got any) {
			defer func() { got = recover() }()
			_ = b.Do(t.Context(), func(context.Context) error { return errDown })
			return nil
		}()
		if recovered != "watcher" {
			t.Errorf("recovered %v", recovered)
		}
		advance(time.Second)
		call(t, b, nil)
		if diff := cmp.Diff([]breaker.State{breaker.Open, breaker.HalfOpen, breaker.Closed}, got); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}

func TestStoppedWatcherIsNotCalledForWhatIsQueued(t *testing.T) {
	t.Parallel()
	b := mustNew(t, breaker.Config{ConsecutiveFailures: 1})
	var stop func()
	calls := 0
	b.Watch(func(breaker.Snapshot) {
		calls++
		stop()
	})
	stop = b.Watch(func(breaker.Snapshot) { t.Error("called after stop") })
	open(t, b)
	if calls != 1 {
		t.Errorf("the other watcher was called %d times, want once", calls)
	}
}

// A slow watcher holds up the call that delivers, and no other.
func TestSlowWatcherHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, breaker.Config{ConsecutiveFailures: 1, OpenFor: time.Second})
		gate := make(chan struct{})
		var got []breaker.State
		b.Watch(func(s breaker.Snapshot) {
			<-gate
			got = append(got, s.State)
		})
		slow := make(chan struct{})
		go func() {
			defer close(slow)
			call(t, b, errDown)
		}()
		synctest.Wait()
		advance(time.Second)
		if !call(t, b, nil) {
			t.Error("refused")
		}
		wantState(t, b, breaker.Closed)
		close(gate)
		<-slow
		if diff := cmp.Diff([]breaker.State{breaker.Open, breaker.HalfOpen, breaker.Closed}, got); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}

// Many goroutines at once: changes come in a legal order, one at a time, and no
// more probes run than there are tickets.
func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	const workers, calls, probes = 8, 300, 2
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, breaker.Config{ConsecutiveFailures: 3, OpenFor: time.Millisecond, MaxOpenFor: 4 * time.Millisecond, Probes: probes})
		var inWatch, running atomic.Int32
		last := breaker.Closed
		b.Watch(func(s breaker.Snapshot) {
			if inWatch.Add(1) != 1 {
				t.Error("two deliveries at once")
			}
			legal := map[breaker.State][]breaker.State{
				breaker.Closed:   {breaker.Open},
				breaker.Open:     {breaker.HalfOpen},
				breaker.HalfOpen: {breaker.HalfOpen, breaker.Open, breaker.Closed},
			}
			ok := false
			for _, next := range legal[last] {
				ok = ok || next == s.State
			}
			if !ok {
				t.Errorf("from %v to %v", last, s.State)
			}
			last = s.State
			inWatch.Add(-1)
		})
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := range calls {
					_ = b.Do(t.Context(), func(context.Context) error {
						n := running.Add(1)
						defer running.Add(-1)
						if s := b.State(); s.Probes < 0 || s.Probes > probes || n > workers {
							t.Errorf("%d running, %+v", n, s)
						}
						advance(time.Duration(1+(w*i)%5) * 100 * time.Microsecond)
						return []error{nil, errDown, errDown, context.Canceled}[(w+i/20)%4]
					})
					if err := b.Wait(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	})
}
