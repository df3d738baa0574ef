package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// stopError ends a member, which must leave something behind, and returns what
// it says and how long that took.
func (m *member) stopError() (*StopError, time.Duration) {
	m.rig.t.Helper()
	began := time.Now()
	err := m.end()
	stop, ok := errors.AsType[*StopError](err)
	if !ok {
		m.rig.t.Fatalf("Run returned %v, want a StopError", err)
	}
	return stop, time.Since(began)
}

func TestGracefulStopFinishesCommitsAndRepeatsNothing(t *testing.T) {
	bubble(t, orders(3), func(t *testing.T, r *rig) {
		for p := range int32(3) {
			r.putN(p, 50)
		}
		for range 3 {
			m := r.run(slow(700*time.Millisecond), func(c *Config) { c.CommitInterval = time.Minute })
			m.owns(3)
			pass(5 * time.Second)
			m.stop()
		}
		counts := map[string]int{}
		for _, c := range r.made() {
			counts[place(c.topic, c.partition, c.offset)]++
			if c.err != nil {
				t.Errorf("%s/%d/%d was cut off: %v", c.topic, c.partition, c.offset, c.err)
			}
		}
		for where, n := range counts {
			if n != 1 {
				t.Errorf("%s was handled %d times", where, n)
			}
		}
		if len(counts) < 30 {
			t.Errorf("only %d records were handled", len(counts))
		}
	})
}

func TestStopBeforeRunStartsNothing(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		c, err := New(r.config(done))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Errorf("Stop before Run returned %v", err)
		}
		if err := c.Run(t.Context()); err != nil {
			t.Errorf("Run after Stop returned %v", err)
		}
		if n := len(r.library.made()); n != 0 {
			t.Errorf("%d consumers were made", n)
		}
		if _, err := c.State(t.Context()); !errors.Is(err, ErrNotRunning) {
			t.Errorf("State returned %v, want %v", err, ErrNotRunning)
		}
	})
}

func TestRunWithAnEndedContextStartsNothing(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		c, err := New(r.config(done))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Run(ctx); err != nil {
			t.Errorf("Run returned %v", err)
		}
		if n := len(r.library.made()); n != 0 {
			t.Errorf("%d consumers were made", n)
		}
	})
}

func TestRunTwiceAndStopTwice(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		m := r.run(done)
		m.owns(1)
		if err := m.Run(t.Context()); !errors.Is(err, ErrAlreadyRun) {
			t.Errorf("the second Run returned %v, want %v", err, ErrAlreadyRun)
		}
		for range 2 {
			if err := m.Stop(t.Context()); err != nil {
				t.Errorf("Stop returned %v", err)
			}
		}
		m.stop()
		if err := m.Run(t.Context()); !errors.Is(err, ErrAlreadyRun) {
			t.Errorf("Run after the end returned %v, want %v", err, ErrAlreadyRun)
		}
		if _, err := m.State(t.Context()); !errors.Is(err, ErrNotRunning) {
			t.Errorf("State after the end returned %v, want %v", err, ErrNotRunning)
		}
		m.Pause("orders", 0) // does nothing, and does not hang
	})
}

func TestStopReturnsItsContextsError(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		m := r.run(deaf(5 * time.Second))
		r.until("a call", 5*time.Second, func() bool { return len(r.made()) == 1 })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop returned %v, want a deadline", err)
		}
		m.stop()
		r.wantCommitted("orders", 0, 1)
	})
}

func TestStopCutsOffWhatIsSlowUncharged(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.putN(0, 3)
		m := r.run(slow(time.Hour), func(c *Config) { c.Routes[0].Timeout, c.DrainTimeout = NoTimeout, 3*time.Second })
		r.until("a call", 5*time.Second, func() bool { return len(r.made()) == 1 })
		began := time.Now()
		m.stop()
		if took := time.Since(began); took < 3*time.Second || took > 5*time.Second {
			t.Errorf("stopped after %v, want the drain timeout of 3 s", took)
		}
		if c := r.made()[0]; !errors.Is(c.cause, ErrStopping) {
			t.Errorf("cause %v, want %v", c.cause, ErrStopping)
		}
		if n := len(r.in(lane(time.Second))) + len(r.in(deadLetters)); n != 0 {
			t.Errorf("%d copies of a record that was cut off", n)
		}
		r.wantCommitted("orders", 0, client.OffsetStored)
	})
}

func TestFatalClientErrorEndsTheRun(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"source client 0", "lane client"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				r.put(0, "a")
				m := r.run(done)
				r.until("handled", 5*time.Second, func() bool { return len(r.made()) == 1 })
				r.cluster.Consumers(billing)[i].Fail(client.Error{Code: client.FencedInstanceID, Text: "fenced", Fatal: true})
				<-m.over
				stop, ok := errors.AsType[*StopError](m.result)
				if !ok || client.CodeOf(stop.Cause) != client.FencedInstanceID {
					t.Fatalf("Run returned %v, want a StopError with the cause", m.result)
				}
				made := r.library.made()
				if made[i].closes() != 0 || made[1-i].closes() != 1 {
					t.Errorf("the broken client was closed %d times and the other %d, want 0 and 1",
						made[i].closes(), made[1-i].closes())
				}
			})
		})
	}
}

func TestStopWithoutAnAnswerToTheCommit(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		m := r.run(done, func(c *Config) { c.DrainTimeout = time.Second })
		m.owns(1)
		release := r.cluster.HoldCommits()
		defer pass(time.Second)
		defer release()
		r.put(0, "a")
		r.until("handled", 5*time.Second, func() bool { return len(r.made()) == 1 })
		stop, took := m.stopError()
		if took > 11*time.Second {
			t.Errorf("stopped after %v, want at most 11 s", took)
		}
		if stop.Uncommitted != 1 || !slices.Contains(stop.Steps, "commit") || len(stop.Unclosed) != 1 {
			t.Errorf("%+v, want one partition uncommitted, step commit and the client unclosed", stop)
		}
		pass(time.Minute) // nobody closes the client meanwhile: the fake would tell
	})
}

func TestStopWithEverythingStuckIsInTime(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		free := make(chan struct{})
		defer close(free)
		m := r.run(func(_ context.Context, rec *Record) error {
			switch string(rec.Value) {
			case "stuck":
				<-free
			case "x":
				return retry.Poison(errDown)
			}
			return nil
		}, func(c *Config) { c.DrainTimeout = time.Second })
		m.owns(2)
		defer pass(time.Second)
		defer r.cluster.HoldReports()()
		defer r.cluster.HoldCommits()()
		r.put(0, "a", "stuck")
		r.put(1, "a", "x")
		r.until("all called", 5*time.Second, func() bool { return len(r.made()) == 4 })
		pass(2 * time.Second)
		stop, took := m.stopError()
		if took > 11*time.Second {
			t.Errorf("stopped after %v, want at most 11 s", took)
		}
		if len(stop.Running) != 1 || stop.Publishing != 1 || stop.Uncommitted == 0 {
			t.Errorf("%+v, want one handler running, one copy and uncommitted positions", stop)
		}
	})
}

func TestStartAndStopLeaveNothing(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		for i := range 50 {
			r.put(0, "a", "x")
			r.put(1, "x", "a")
			m := r.run(poisoned)
			pass(time.Duration(i*i) * time.Millisecond)
			m.stop()
		}
		m := r.run(poisoned)
		r.untilCommitted("orders", 0, 100)
		r.untilCommitted("orders", 1, 100)
		m.stop()
		if n := len(r.letters()); n != 100 {
			t.Errorf("%d dead letters, want 100", n)
		}
		if consumers, producers := len(r.cluster.Consumers(billing)), len(r.cluster.Producers()); consumers+producers != 0 {
			t.Errorf("%d consumers and %d producers are left", consumers, producers)
		}
	})
}

func TestStopNamesTheHandlerThatDoesNotReturn(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		free := make(chan struct{})
		defer close(free)
		m := r.run(func(_ context.Context, rec *Record) error {
			if rec.Offset == 1 {
				<-free
			}
			return nil
		}, func(c *Config) { c.DrainTimeout = 3 * time.Second })
		m.owns(1)
		r.put(0, "a")
		r.untilCommitted("orders", 0, 1)
		r.putN(0, 2)
		r.until("the second call", 5*time.Second, func() bool { return len(r.made()) == 2 })
		stop, took := m.stopError()
		if took > 13*time.Second {
			t.Errorf("stopped after %v, want at most 13 s", took)
		}
		want := Running{Topic: "orders", Partition: 0, Offset: 1}
		if len(stop.Running) != 1 || stop.Running[0] != want || !slices.Contains(stop.Steps, "drain") || !slices.Contains(stop.Steps, "cancel") {
			t.Errorf("%+v, want %v running and steps drain and cancel", stop, want)
		}
		r.wantCommitted("orders", 0, 1)
	})
}

func TestStopTellsOfALastCommitThatFailed(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		m := r.run(done, func(c *Config) { c.CommitInterval = time.Minute })
		m.owns(1)
		r.put(0, "a")
		r.until("handled", 5*time.Second, func() bool { return len(r.made()) == 1 })
		r.cluster.FailCommits(1, client.RequestTimedOut)
		err := m.end()
		if got := r.committed("orders", 0); got != 1 && err == nil {
			t.Errorf("Run returned nil with the position at %d of 1", got)
		}
	})
}

func TestStopDuringARebalance(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 30 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			bubble(t, orders(2), func(t *testing.T, r *rig) {
				m := r.run(slow(5 * time.Second))
				m.owns(2)
				r.put(0, "a")
				r.put(1, "a")
				r.until("two calls", 5*time.Second, func() bool { return len(r.made()) == 2 })
				r.cluster.Take(billing, at("orders", 0))
				pass(after)
				began := time.Now()
				m.stop()
				if took := time.Since(began); took > 7*time.Second {
					t.Errorf("stopped after %v, want when the handlers were done", took)
				}
				r.wantCommitted("orders", 0, 1)
				r.wantCommitted("orders", 1, 1)
			})
		})
	}
}

func TestStopCommitsWhatMovedWhileACommitWasOnItsWay(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		m := r.run(done)
		m.owns(1)
		release := r.cluster.HoldCommits()
		r.put(0, "a")
		r.until("a commit", 5*time.Second, func() bool { return len(r.library.made()[0].committed()) == 1 })
		r.put(0, "b")
		r.until("handled", 5*time.Second, func() bool { return len(r.made()) == 2 })
		m.cancel()
		pass(500 * time.Millisecond)
		release()
		m.stop()
		r.wantCommitted("orders", 0, 2)
	})
}
