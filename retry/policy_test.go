package retry_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-kafka/holdfast/retry"
)

func TestDefaultPolicy(t *testing.T) {
	t.Parallel()
	want := retry.Policy{
		MaxAttempts: 5, Initial: 10 * time.Second, Multiplier: 6, Max: time.Hour, Jitter: 0.2,
		Lanes: retry.Lanes{10 * time.Second, time.Minute, 6 * time.Minute, 36 * time.Minute},
	}
	if diff := cmp.Diff(want, retry.Policy{}.WithDefaults()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if err := (retry.Policy{}).Validate(); err != nil {
		t.Errorf("the zero policy is refused: %v", err)
	}
}

func TestLanesByDefault(t *testing.T) {
	t.Parallel()
	s := time.Second
	tests := []struct {
		name string
		p    retry.Policy
		want retry.Lanes
	}{
		{"at the maximum once", retry.Policy{MaxAttempts: 9, Initial: s, Multiplier: 2, Max: 4 * s}, retry.Lanes{s, 2 * s, 4 * s}},
		{"constant wait", retry.Policy{MaxAttempts: 100, Initial: s, Multiplier: 1}, retry.Lanes{s}},
		{"many are thinned", retry.Policy{MaxAttempts: 17, Initial: s, Multiplier: 2, Max: 24 * time.Hour}, retry.Lanes{
			2 * s, 8 * s, 32 * s, 128 * s, 512 * s, 2048 * s, 8192 * s, 32768 * s,
		}},
		{"one attempt has one lane", retry.Policy{MaxAttempts: 1, Initial: s}, retry.Lanes{s}},
		{"parts of milliseconds are rounded up", retry.Policy{MaxAttempts: 3, Initial: s, Multiplier: 1.2345678}, retry.Lanes{s, 1235 * time.Millisecond}},
		{"given ones are sorted, each once", retry.Policy{Lanes: retry.Lanes{3 * s, s, 3 * s}}, retry.Lanes{s, 3 * s}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.p.WithDefaults().Lanes); diff != "" {
				t.Errorf("lanes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithDefaultsLeavesTheCallersLanesAlone(t *testing.T) {
	t.Parallel()
	mine := retry.Lanes{3 * time.Second, time.Second}
	p := retry.Policy{Lanes: mine}.WithDefaults()
	p.Lanes[0] = 0
	if diff := cmp.Diff(retry.Lanes{3 * time.Second, time.Second}, mine); diff != "" {
		t.Errorf("the caller's lanes changed (-want +got):\n%s", diff)
	}
}

func TestWaitsAreTheLanesWhereOnlyLanesAreGiven(t *testing.T) {
	t.Parallel()
	p := retry.Policy{Lanes: retry.Lanes{time.Second, time.Minute, time.Hour}, DisableJitter: true}
	for _, p := range []retry.Policy{p, p.WithDefaults(), p.WithDefaults().WithDefaults()} {
		var got []time.Duration
		for attempt := range 6 {
			got = append(got, p.Delay(attempt, 0.9))
		}
		want := []time.Duration{time.Second, time.Second, time.Minute, time.Hour, time.Hour, time.Hour}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
	}
}

func TestWaitsGrowToTheMaximum(t *testing.T) {
	t.Parallel()
	p := retry.Policy{Initial: time.Second, Multiplier: 3, Max: 14 * time.Second, DisableJitter: true}
	var got []time.Duration
	for _, attempt := range []int{-1, 1, 2, 3, 4, 5, 1000, math.MaxInt} {
		got = append(got, p.Delay(attempt, 0.9))
	}
	want := []time.Duration{1e9, 1e9, 3e9, 9e9, 14e9, 14e9, 14e9, 14e9}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestValidateReportsEveryMistake(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		p    retry.Policy
		want []string
	}{
		{"everything wrong", retry.Policy{
			MaxAttempts: -1, Initial: 25 * time.Hour, Multiplier: 0.5, Max: 24*time.Hour + 1, Jitter: 1.5, MaxElapsed: -1,
			Lanes: retry.Lanes{0, time.Second, time.Second, 1500 * time.Microsecond},
		}, []string{
			"max attempts -1", "initial 25h", "must not be longer than max", "multiplier 0.5", "max 24h0m0.000000001s",
			"jitter 1.5", "max elapsed -1ns", "lane 0", "lane 2", "lane 3",
		}},
		{"not a number", retry.Policy{Jitter: math.NaN(), Multiplier: math.NaN()}, []string{"jitter NaN", "multiplier NaN"}},
		{"off and on", retry.Policy{Jitter: 0.1, DisableJitter: true}, []string{"disabled"}},
		{"hardly growing", retry.Policy{Multiplier: 1.001}, []string{"multiplier 1.001"}},
		{"multiplier without effect", retry.Policy{Lanes: retry.Lanes{1e9}, Multiplier: 2}, []string{"no effect"}},
		{"too many attempts", retry.Policy{MaxAttempts: 10_001}, []string{"max attempts 10001"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.p.Validate()
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no word of %q in:\n%v", want, err)
				}
			}
			if got := strings.Count(err.Error(), "\n") + 1; got != len(tt.want) {
				t.Errorf("%d mistakes, want %d:\n%v", got, len(tt.want), err)
			}
		})
	}
}

// policies draws policies that Validate accepts.
func policies() *rapid.Generator[retry.Policy] {
	return rapid.Custom(func(t *rapid.T) retry.Policy {
		p := retry.Policy{
			MaxAttempts:   rapid.IntRange(1, 50).Draw(t, "attempts"),
			Jitter:        rapid.Float64Range(0, 1).Draw(t, "jitter"),
			DisableJitter: false,
			MaxElapsed:    time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "elapsed")),
		}
		if rapid.Bool().Draw(t, "grows") {
			p.Initial = time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(retry.MaxWait)).Draw(t, "initial"))
			p.Max = time.Duration(rapid.Int64Range(int64(p.Initial), int64(retry.MaxWait)).Draw(t, "max"))
			p.Multiplier = rapid.OneOf(rapid.Just(1.0), rapid.Float64Range(retry.MultiplierMin, retry.MultiplierMax)).Draw(t, "multiplier")
		}
		if rapid.Bool().Draw(t, "own lanes") {
			for _, ms := range rapid.SliceOfNDistinct(rapid.Int64Range(1, retry.MaxWait.Milliseconds()), 1, 6, rapid.ID).Draw(t, "lanes") {
				p.Lanes = append(p.Lanes, time.Duration(ms)*time.Millisecond)
			}
		}
		return p
	})
}

func TestDelayLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := policies().Draw(t, "policy")
		if err := raw.Validate(); err != nil {
			t.Fatalf("%+v is refused: %v", raw, err)
		}
		p := raw.WithDefaults()
		if diff := cmp.Diff(p, p.WithDefaults()); diff != "" {
			t.Fatalf("WithDefaults twice differs:\n%s", diff)
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("with defaults it is refused: %v", err)
		}
		random := rapid.Float64Range(0, 0.999999).Draw(t, "random")
		attempt := rapid.OneOf(rapid.IntRange(1, 60), rapid.IntRange(1, math.MaxInt-1)).Draw(t, "attempt")
		wait, next, bare := p.Delay(attempt, random), p.Delay(attempt+1, random), p.Delay(attempt, 0)
		switch {
		case bare <= 0 || bare > p.Max:
			t.Fatalf("wait %v without chance is not in (0, %v]", bare, p.Max)
		case wait < bare || wait > bare+time.Duration(p.Jitter*float64(bare)):
			t.Fatalf("wait %v is not within %v of %v", wait, p.Jitter, bare)
		case next < wait:
			t.Fatalf("wait %v shrinks to %v", wait, next)
		case p.Multiplier >= retry.MultiplierMin && bare < p.Max && p.Delay(attempt+1, 0) == bare:
			t.Fatalf("wait %v does not grow though the maximum is %v", bare, p.Max)
		}
	})
}

// A policy nobody validated must not panic, overflow or wait beyond MaxWait
// and its jitter.
func TestDelayOfWildPolicies(t *testing.T) {
	t.Parallel()
	floats := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -1}))
	rapid.Check(t, func(t *rapid.T) {
		p := retry.Policy{
			MaxAttempts: rapid.Int().Draw(t, "attempts"),
			Initial:     time.Duration(rapid.Int64().Draw(t, "initial")),
			Max:         time.Duration(rapid.Int64().Draw(t, "max")),
			Multiplier:  floats.Draw(t, "multiplier"),
			Jitter:      floats.Draw(t, "jitter"),
		}
		attempt, random := rapid.Int().Draw(t, "attempt"), floats.Draw(t, "random")
		if got := p.Delay(attempt, random); got < 0 || got > 2*retry.MaxWait {
			t.Fatalf("wait %v", got)
		}
		state := retry.State{Attempts: attempt, Elapsed: time.Duration(rapid.Int64().Draw(t, "elapsed")), Random: random}
		state.Verdict.After = time.Duration(rapid.Int64().Draw(t, "after"))
		if got := p.Next(state); got.Wait < 0 || got.Wait > retry.MaxWait {
			t.Fatalf("decision %+v", got)
		}
		if got := p.Place(state.Verdict.After, random); got.Wait < 0 || got.Wait > 2*retry.MaxWait {
			t.Fatalf("placement %+v", got)
		}
	})
}
