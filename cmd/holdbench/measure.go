package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// sample is one measurement of one side.
type sample struct {
	rate float64 // records a second
	cpu  float64 // seconds of this process's CPU for a record
}

// side handles records until ctx ends. count tells how many it has handled so
// far and may be called from another goroutine.
type side struct {
	run   func(ctx context.Context) error
	count func() int64
}

const (
	// warmUp is how long a side runs before it is measured, from its first
	// record on: joining a group and filling queues is not what is measured.
	warmUp = time.Second
	// stallPatience bounds the wait for a side's first record.
	stallPatience = time.Minute
	// glance is how often the first record is looked for.
	glance = 10 * time.Millisecond
)

// measure runs one side for a warm-up and a window.
func measure(ctx context.Context, window time.Duration, s side) (sample, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	result, err := watch(ctx, window, s, ended)
	if err != nil {
		return sample{}, err
	}
	cancel()
	return result, <-ended
}

func watch(ctx context.Context, window time.Duration, s side, ended <-chan error) (sample, error) {
	limit := time.Now().Add(stallPatience)
	for s.count() == 0 {
		if time.Now().After(limit) {
			return sample{}, errors.New("no record within a minute")
		}
		if err := rest(ctx, glance, ended); err != nil {
			return sample{}, err
		}
	}
	if err := rest(ctx, warmUp, ended); err != nil {
		return sample{}, err
	}
	from, cpu, start := s.count(), cpuTime(), time.Now()
	if err := rest(ctx, window, ended); err != nil {
		return sample{}, err
	}
	n := float64(s.count() - from)
	took, used := time.Since(start), cpuTime()-cpu
	if n == 0 {
		return sample{}, errors.New("no record in the window: too few records were written")
	}
	return sample{rate: n / took.Seconds(), cpu: used.Seconds() / n}, nil
}

// rest waits, but not longer than the side runs.
func rest(ctx context.Context, d time.Duration, ended <-chan error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-ended:
		return fmt.Errorf("ended while it was measured: %w", err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cpuTime is what this process has used so far.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// quartiles are the first, second and third of some figures.
type quartiles [3]float64

func quartilesOf(values []float64) quartiles {
	sorted := slices.Sorted(slices.Values(values))
	var q quartiles
	for i := range q {
		at := float64(i+1) / 4 * float64(len(sorted)-1)
		low := int(at)
		high := min(low+1, len(sorted)-1)
		q[i] = sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
	}
	return q
}

func (q quartiles) median() float64 { return q[1] }

// figuresOf takes one figure out of samples.
func figuresOf(samples []sample, of func(sample) float64) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return values
}

// ratios divides pair by pair.
func ratios(a, b []sample, of func(sample) float64) []float64 {
	values := make([]float64, len(a))
	for i := range a {
		values[i] = of(a[i]) / of(b[i])
	}
	return values
}

func rateOf(s sample) float64 { return s.rate }
func cpuOf(s sample) float64  { return s.cpu }
