package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestQuartiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		values []float64
		want   quartiles
	}{
		{[]float64{2}, quartiles{2, 2, 2}},
		{[]float64{3, 1}, quartiles{1.5, 2, 2.5}},
		{[]float64{5, 1, 4, 2, 3}, quartiles{2, 3, 4}},
		{[]float64{7, 6, 5, 4, 3, 2, 1}, quartiles{2.5, 4, 5.5}},
	} {
		if got := quartilesOf(tt.values); got != tt.want {
			t.Errorf("quartilesOf(%v): got %v, want %v", tt.values, got, tt.want)
		}
	}
}

// The ratio is taken pair by pair, so that a machine that slows down in the
// middle slows both of a pair.
func TestRatiosArePairwise(t *testing.T) {
	t.Parallel()
	ours := []sample{{rate: 90, cpu: 2}, {rate: 45, cpu: 4}}
	best := []sample{{rate: 100, cpu: 1}, {rate: 50, cpu: 2}}
	f := noopResult(ours, best, []sample{{rate: 45}, {rate: 22.5}})
	if f.Ratio != 0.9 || f.RatioPlain != 2 || f.CPURatio != 2 || f.Pairs != 2 {
		t.Errorf("got %+v, want ratio 0.9, ratio_plain 2, cpu_ratio 2, pairs 2", f)
	}
}

// A side is measured from a second after its first record, and only for the
// window.
func TestMeasureLeavesTheWarmUpOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		s := side{count: n.Load, run: func(ctx context.Context) error {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for start := time.Now(); ; {
				select {
				case <-tick.C:
					if time.Since(start) < 5*time.Second {
						continue // joining
					}
					n.Add(1)
				case <-ctx.Done():
					return nil
				}
			}
		}}
		got, err := measure(t.Context(), 2*time.Second, s)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.rate-1000) > 5 {
			t.Errorf("got %v records/s, want 1000", got.rate)
		}
	})
}

func TestMeasureTellsWhyASideEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("group is gone")
		_, err := measure(t.Context(), time.Second, side{
			count: func() int64 { return 0 },
			run:   func(context.Context) error { return broken },
		})
		if !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	})
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--help"}, 0, "noop"},
		{[]string{"nothing"}, 2, "nothing"},
		{[]string{"noop", "more"}, 2, "more"},
		{[]string{"noop", "--pairs", "0"}, 1, "pairs"},
		{[]string{"noop", "--colour"}, 2, "colour"},
	} {
		t.Run(fmt.Sprint(tt.args), func(t *testing.T) {
			t.Parallel()
			var out, log bytes.Buffer
			if code := Main(t.Context(), tt.args, &out, &log); code != tt.code {
				t.Errorf("got exit status %d, want %d", code, tt.code)
			}
			if all := out.String() + log.String(); !strings.Contains(all, tt.says) {
				t.Errorf("got %q, want it to say %q", all, tt.says)
			}
		})
	}
}
