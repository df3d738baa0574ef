package consumer

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/retry"
)

// always fails with err.
func always(err error) HandlerFunc {
	return func(context.Context, *Record) error { return err }
}

// failing fails with err at the first attempt.
func failing(err error) HandlerFunc {
	return func(_ context.Context, rec *Record) error {
		if rec.Attempt() == 1 {
			return err
		}
		return nil
	}
}

func TestDoneIsCommittedToTheEndOverGaps(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		r.putN(0, 3)
		r.cluster.Gap(at("orders", 0), 2)
		r.putN(0, 4) // offsets 5 to 8
		r.cluster.Compact(at("orders", 0), 1, 6)
		r.putN(1, 2)
		m := r.run(done)
		r.untilCommitted("orders", 0, 9)
		r.untilCommitted("orders", 1, 2)
		m.stop()
		if got := len(r.made()); got != 7 {
			t.Errorf("%d calls for 7 records", got)
		}
		if got := r.in(deadLetters); len(got) > 0 {
			t.Errorf("%d dead letters of records that are done", len(got))
		}
	})
}

func TestTransientGoesToTheLaneAndIsHandledWhenDue(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		r.put(1, "a")
		m := r.run(failing(errDown))
		r.untilCommitted("orders", 1, 1)
		copies := r.in(lane(time.Second))
		if len(copies) != 1 {
			t.Fatalf("%d copies in the lane, want 1", len(copies))
		}
		user, stamp, problems := retry.Decode(copies[0].Headers)
		if len(user) > 0 || problems != 0 {
			t.Errorf("the copy has headers %v of the user's and problems %v, want none", user, problems)
		}
		if copies[0].Partition != 1 || stamp.Count != 1 || stamp.Kind != retry.StampLane || stamp.Meta.Hop != 1 {
			t.Errorf("copy in partition %d with count %d, kind %v, hop %d; want 1, 1, lane, 1",
				copies[0].Partition, stamp.Count, stamp.Kind, stamp.Meta.Hop)
		}
		if wait := stamp.Due - copies[0].Timestamp; wait != 1000 {
			t.Errorf("due %d ms after the copy's timestamp, want 1000", wait)
		}
		if want := r.of(1, 0)[0].id; stamp.OriginID != want || stamp.Meta.Origin.ID(billing) != want {
			t.Errorf("origin %s, packed %s, want %s", stamp.OriginID, stamp.Meta.Origin.ID(billing), want)
		}
		if stamp.Meta.Group != billing || stamp.Meta.Cluster != "fake" || stamp.Meta.Error != errDown.Error() || len(stamp.Meta.Attempts) != 1 {
			t.Errorf("packed %+v", stamp.Meta)
		}
		r.untilCommitted(lane(time.Second), 1, 1)
		m.stop()
		calls := r.of(1, 0)
		if len(calls) != 2 || calls[1].attempt != 2 {
			t.Fatalf("calls %+v, want attempts 1 and 2", calls)
		}
		late := calls[1].began.Sub(time.UnixMilli(stamp.Due))
		if late < 0 || late > 100*time.Millisecond {
			t.Errorf("handled %v after due, want 0 to 100 ms", late)
		}
	})
}

func TestLaneCopyCarriesTheFourHeaders(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		m := r.run(failing(errDown))
		r.untilCommitted("orders", 0, 1)
		m.stop()
		headers := r.in(lane(time.Second))[0].Headers
		var names []string
		for _, h := range headers {
			names = append(names, h.Key)
		}
		if got := strings.Join(names, " "); got != "x-retry-count x-retry-due x-origin-id x-holdfast" {
			t.Fatalf("headers %s", got)
		}
		if string(headers[0].Value) != "1" {
			t.Errorf("x-retry-count %q, want 1", headers[0].Value)
		}
		if _, err := strconv.ParseInt(string(headers[1].Value), 10, 64); err != nil {
			t.Errorf("x-retry-due %q", headers[1].Value)
		}
	})
}

func TestAfterLongerThanAllLanesIsKept(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		m := r.run(failing(retry.After(errDown, 47*time.Second)))
		r.until("done", 2*time.Minute, func() bool { return len(r.of(0, 0)) == 2 })
		m.stop()
		calls := r.of(0, 0)
		if wait := calls[1].began.Sub(calls[0].ended); wait < 47*time.Second-time.Millisecond || wait > 48*time.Second {
			t.Errorf("second attempt after %v, want 47 s", wait)
		}
		if calls[1].attempt != 2 {
			t.Errorf("attempt %d after three lanes, want 2", calls[1].attempt)
		}
		if r.count(EventParked) == 0 {
			t.Error("nothing was parked on the way")
		}
	})
}

func TestGivenUpOnIsADeadLetterThatSaysWhy(t *testing.T) {
	t.Parallel()
	type order struct{ ID int }
	json := JSON(func(context.Context, order, *Record) error { return nil })
	own := Decode(func(*Record) (int, error) { return 0, errors.New("no number") },
		func(context.Context, int, *Record) error { return nil })
	cases := map[string]struct {
		handler  Handler
		why      retry.Disposition
		attempts int
		stack    string // part of the stack, "" for none
	}{
		"exhausted":       {always(errDown), retry.DispositionExhausted, 3, ""},
		"poison":          {always(retry.Poison(errDown)), retry.DispositionPoison, 1, ""},
		"json":            {json, retry.DispositionDecode, 1, ""},
		"decode":          {own, retry.DispositionDecode, 1, ""},
		"decode panics":   {Decode(explode, nil), retry.DispositionPanic, 1, "explode"},
		"panic":           {HandlerFunc(burst), retry.DispositionPanic, 1, "burst"},
		"goexit":          {HandlerFunc(vanish), retry.DispositionPanic, 1, "vanish"},
		"timeout":         {HandlerFunc(stall), retry.DispositionTimeout, 3, ""},
		"poison and join": {always(errors.Join(errDown, fmt.Errorf("x: %w", retry.Poison(errDown)))), retry.DispositionPoison, 1, ""},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				r.put(0, "{", "{")
				m := r.run(nil, func(c *Config) {
					c.Routes[0].Handler, c.Routes[0].Timeout, c.Concurrency = test.handler, 5*time.Second, 1
				})
				r.until("two dead letters", 2*time.Minute, func() bool { return len(r.letters()) == 2 })
				r.untilCommitted("orders", 0, 2)
				m.stop()
				for _, l := range r.letters() {
					if l.Disposition != test.why || l.Count != test.attempts || len(l.Meta.Attempts) != test.attempts || l.Fingerprint == "" {
						t.Errorf("disposition %s, count %d, %d failures, fingerprint %q; want %s, %d",
							l.Disposition, l.Count, len(l.Meta.Attempts), l.Fingerprint, test.why, test.attempts)
					}
					if !strings.Contains(l.Meta.Stack, test.stack) || (test.stack == "") != (l.Meta.Stack == "") {
						t.Errorf("stack %q, want one with %q", l.Meta.Stack, test.stack)
					}
				}
			})
		})
	}
}

func explode(*Record) (int, error)               { panic("explode") }
func burst(context.Context, *Record) error       { panic(errDown) }
func vanish(context.Context, *Record) error      { goruntime.Goexit(); return nil }
func stall(ctx context.Context, _ *Record) error { <-ctx.Done(); return ctx.Err() }

func TestPanicErrorReachesTheClassifier(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		var got *PanicError
		m := r.run(func(ctx context.Context, rec *Record) error {
			if rec.Attempt() == 1 {
				return burst(ctx, rec)
			}
			return nil
		}, func(c *Config) {
			c.Classifier = retry.ClassifierFunc(func(_ context.Context, err error) retry.Verdict {
				errors.As(err, &got)
				return retry.Verdict{Class: retry.ClassTransient}
			})
		})
		r.untilCommitted(lane(time.Second), 0, 1)
		m.stop()
		if got == nil || !errors.Is(got, errDown) || len(got.Stack) == 0 {
			t.Errorf("the classifier saw %v, want a PanicError of %v with its stack", got, errDown)
		}
		if n := len(r.letters()); n != 0 {
			t.Errorf("%d dead letters of a panic that the classifier calls transient", n)
		}
	})
}

func TestAttemptTimeoutIsTheContextsCause(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		m := r.run(stall, func(c *Config) { c.Routes[0].Timeout = 5 * time.Second })
		r.until("the second attempt", time.Minute, func() bool { return len(r.of(0, 0)) == 2 })
		m.end()
		first := r.of(0, 0)[0]
		if !errors.Is(first.cause, retry.ErrAttemptTimeout) || !errors.Is(first.err, context.DeadlineExceeded) {
			t.Errorf("cause %v, error %v; want %v and a deadline", first.cause, first.err, retry.ErrAttemptTimeout)
		}
		if took := first.ended.Sub(first.began); took != 5*time.Second {
			t.Errorf("ended after %v, want 5 s", took)
		}
	})
}

func TestDropLeavesNoTrace(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.putN(0, 2)
		m := r.run(always(retry.Drop(errDown)))
		r.untilCommitted("orders", 0, 2)
		if s := m.state(); s.Dropped != 2 || s.Handled != 0 {
			t.Errorf("dropped %d, handled %d; want 2, 0", s.Dropped, s.Handled)
		}
		m.stop()
		if n := len(r.in(deadLetters)) + len(r.in(lane(time.Second))); n > 0 || len(r.made()) != 2 {
			t.Errorf("%d copies and %d calls, want 0 and 2", n, len(r.made()))
		}
	})
}

func TestHoldIsNotCharged(t *testing.T) {
	t.Parallel()
	for name, mark := range map[string]func(error) error{
		"alone":  func(err error) error { return retry.Hold(err, 7*time.Second) },
		"joined": func(err error) error { return errors.Join(retry.Poison(err), retry.Hold(err, 7*time.Second)) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				r.put(0, "a", "b")
				holds := 0
				m := r.run(func(_ context.Context, rec *Record) error {
					if rec.Offset == 0 && holds < 5 {
						holds++
						return mark(errDown)
					}
					return nil
				})
				r.untilCommitted("orders", 0, 2)
				m.stop()
				calls := r.of(0, 0)
				if len(calls) != 6 {
					t.Fatalf("%d calls, want 6", len(calls))
				}
				for i, c := range calls {
					if c.attempt != 1 {
						t.Errorf("call %d is attempt %d, want 1", i, c.attempt)
					}
					if i > 0 && c.began.Sub(calls[i-1].ended) != 7*time.Second {
						t.Errorf("call %d came after %v, want 7 s", i, c.began.Sub(calls[i-1].ended))
					}
				}
				if second := r.of(0, 1); second[0].began.Before(calls[5].ended) {
					t.Error("the record behind a held one overtook it")
				}
			})
		})
	}
}

func TestHoldOnALaneIsNotCharged(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		held := false
		m := r.run(func(_ context.Context, rec *Record) error {
			switch {
			case rec.Attempt() == 1:
				return errDown
			case !held:
				held = true
				return retry.Hold(errDown, 30*time.Second)
			}
			return nil
		})
		r.untilCommitted(lane(time.Second), 0, 1)
		m.stop()
		if calls := r.of(0, 0); len(calls) != 3 || calls[2].attempt != 2 || calls[2].began.Sub(calls[1].ended) != 30*time.Second {
			t.Errorf("calls %+v", calls)
		}
	})
}

func TestClassifierThatPanicsMeansTransient(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		m := r.run(failing(errDown), func(c *Config) {
			c.Concurrency = 1
			c.Classifier = retry.ClassifierFunc(func(context.Context, error) retry.Verdict { panic("classifier") })
		})
		r.untilCommitted(lane(time.Second), 0, 1)
		m.stop()
		if r.logged("classifier panicked") == 0 {
			t.Error("nobody was told")
		}
	})
}

func TestNilAfterTheContextEndedIsDone(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		m := r.run(func(ctx context.Context, _ *Record) error { <-ctx.Done(); return nil },
			func(c *Config) { c.Routes[0].Timeout = time.Second })
		r.untilCommitted("orders", 0, 1)
		m.stop()
		if n := len(r.made()); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
	})
}

func TestForeignCancellationIsAnOrdinaryFailure(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		m := r.run(func(ctx context.Context, rec *Record) error {
			if rec.Attempt() > 1 {
				return nil
			}
			own, cancel := context.WithCancel(ctx)
			cancel()
			return own.Err()
		})
		r.untilCommitted(lane(time.Second), 0, 1)
		m.stop()
		if calls := r.of(0, 0); len(calls) != 2 || calls[1].attempt != 2 {
			t.Errorf("calls %+v, want a charged retry", calls)
		}
	})
}

func TestInPlaceRetriesWithoutLanes(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		m := r.run(always(errDown), func(c *Config) { c.Routes[0].RetryMode = InPlace })
		r.until("a dead letter", time.Minute, func() bool { return len(r.letters()) == 1 })
		m.stop()
		calls := r.of(0, 0)
		if len(calls) != 3 {
			t.Fatalf("%d calls, want 3", len(calls))
		}
		first, second := calls[1].began.Sub(calls[0].ended), calls[2].began.Sub(calls[1].ended)
		if first != time.Second || second != 10*time.Second {
			t.Errorf("waits %v and %v, want 1 s and 10 s", first, second)
		}
		if l := r.letter(); l.Count != 3 || len(l.Meta.Attempts) != 3 || l.Disposition != retry.DispositionExhausted {
			t.Errorf("dead letter %+v", l)
		}
		if r.partitions(lane(time.Second)) != 0 {
			t.Error("a lane was created for a route that does not use it")
		}
	})
}

func TestAnErrorThatCannotBeReadIsDeadAndNotACrash(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a", "b")
		m := r.run(func(_ context.Context, rec *Record) error {
			if rec.Offset == 0 {
				var err *unreadable // the classic: a nil pointer in an error
				return err
			}
			return nil
		}, func(c *Config) { c.Concurrency = 1 })
		r.until("a dead letter", time.Minute, func() bool { return len(r.letters()) == 1 })
		r.untilCommitted("orders", 0, 2)
		m.stop()
	})
}

type unreadable struct{ text string }

func (e *unreadable) Error() string { return e.text }
