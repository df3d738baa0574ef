package retry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-kafka/holdfast/retry"
)

func TestNext(t *testing.T) {
	t.Parallel()
	p := retry.Policy{MaxAttempts: 3, Initial: time.Second, Multiplier: 2, MaxElapsed: time.Minute}
	dead := func(d retry.Disposition) retry.Decision {
		return retry.Decision{Action: retry.ActionDead, Disposition: d}
	}
	again := func(wait, jitter time.Duration) retry.Decision {
		return retry.Decision{Action: retry.ActionRetry, Wait: wait, Jitter: jitter}
	}
	tests := []struct {
		name string
		in   retry.State
		want retry.Decision
	}{
		{"drop", retry.State{Attempts: 9, Verdict: drop}, retry.Decision{Action: retry.ActionDrop}},
		{"exhausted at the last attempt", retry.State{Attempts: 3}, dead(retry.DispositionExhausted)},
		{"exhausted by a panic", retry.State{Attempts: 3, Cause: retry.DispositionPanic}, dead(retry.DispositionPanic)},
		{"exhausted by a timeout", retry.State{Attempts: 3, Cause: retry.DispositionTimeout}, dead(retry.DispositionTimeout)},
		{"exhausted though bytes did not decode", retry.State{Attempts: 3, Cause: retry.DispositionDecode}, dead(retry.DispositionExhausted)},
		{"expired one nanosecond past", retry.State{Attempts: 1, Elapsed: 59*time.Second + 1}, dead(retry.DispositionExpired)},
		{"expired by what the downstream asks", retry.State{Attempts: 1, Verdict: transient(time.Hour)}, dead(retry.DispositionExpired)},
		{"first failure", retry.State{Attempts: 1}, again(time.Second, 0)},
		{"hold is never charged", retry.State{Attempts: 9, Elapsed: time.Hour, Verdict: hold(5)}, retry.Decision{Action: retry.ActionHold, Wait: 5}},
		{"hold is bounded", retry.State{Verdict: hold(25 * time.Hour)}, retry.Decision{Action: retry.ActionHold, Wait: retry.MaxWait}},
		{"jitter", retry.State{Attempts: 2, Random: 0.5}, again(2*time.Second, 200*time.Millisecond)},
		{"not expired at the bound", retry.State{Attempts: 1, Elapsed: 59 * time.Second}, again(time.Second, 0)},
		{"poison", retry.State{Attempts: 1, Verdict: poison}, dead(retry.DispositionPoison)},
		{"poison of bytes", retry.State{Attempts: 1, Verdict: poison, Cause: retry.DispositionDecode}, dead(retry.DispositionDecode)},
		{"poison of a panic", retry.State{Attempts: 1, Verdict: poison, Cause: retry.DispositionPanic}, dead(retry.DispositionPanic)},
		{"poison though it took long", retry.State{Attempts: 1, Verdict: poison, Cause: retry.DispositionTimeout}, dead(retry.DispositionPoison)},
		{"retry after is respected", retry.State{Attempts: 1, Verdict: transient(30 * time.Second)}, again(30*time.Second, 0)},
		{"retry after shorter than the policy", retry.State{Attempts: 2, Verdict: transient(1)}, again(2*time.Second, 0)},
		{"unknown class is transient", retry.State{Attempts: 1, Verdict: retry.Verdict{Class: 77}}, again(time.Second, 0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, p.Next(tt.in)); diff != "" {
				t.Errorf("decision for %+v (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestRetryAfterIsBounded(t *testing.T) {
	t.Parallel()
	got := retry.Policy{}.Next(retry.State{Attempts: 1, Verdict: transient(1 << 62)})
	want := retry.Decision{Action: retry.ActionRetry, Wait: retry.MaxWait}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}

// Whatever the policy, a record that fails again and again dies after exactly
// MaxAttempts attempts, or earlier because its time is over; it never dies of
// being held.
func TestFailingForEverEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy").WithDefaults()
		s := retry.State{}
		for s.Attempts < p.MaxAttempts {
			if held := p.Next(retry.State{Attempts: s.Attempts, Elapsed: s.Elapsed, Verdict: hold(1)}); held.Action != retry.ActionHold {
				t.Fatalf("a hold ends in %v", held)
			}
			s.Attempts++
			s.Random = rapid.Float64Range(0, 0.99).Draw(t, "random")
			d := p.Next(s)
			if d.Action == retry.ActionRetry {
				s.Elapsed += d.Wait
				if p.MaxElapsed > 0 && s.Elapsed > p.MaxElapsed {
					t.Fatalf("attempt %d begins %v after the first failure, bound %v", s.Attempts+1, s.Elapsed, p.MaxElapsed)
				}
				continue
			}
			exhausted := d.Disposition == retry.DispositionExhausted && s.Attempts == p.MaxAttempts
			expired := d.Disposition == retry.DispositionExpired && p.MaxElapsed > 0
			if d.Action != retry.ActionDead || !exhausted && !expired {
				t.Fatalf("after %d of %d attempts: %+v", s.Attempts, p.MaxAttempts, d)
			}
			return
		}
		t.Fatalf("alive after %d attempts", s.Attempts)
	})
}
