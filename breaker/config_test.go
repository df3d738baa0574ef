package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/breaker"
)

type poisonError struct {
	poison bool
	inner  error
}

func (s *poisonError) Error() string { return "says" }
func (s *poisonError) Poison() bool  { return s.poison }
func (s *poisonError) Unwrap() error { return s.inner }

func TestIsFailure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"another breaker", fmt.Errorf("x: %w", &breaker.OpenError{}), false},
		{"cancelled", fmt.Errorf("x: %w", context.Canceled), false},
		{"deadline", context.DeadlineExceeded, true},
		{"nil", nil, false},
		{"no poison", &poisonError{}, true},
		{"poison", fmt.Errorf("x: %w", &poisonError{poison: true}), false},
		{"poison beneath one that says no", &poisonError{inner: &poisonError{poison: true}}, false},
		{"poison in a join", errors.Join(errDown, &poisonError{poison: true}), false},
		{"unknown", errDown, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := breaker.IsFailure(tt.err); got != tt.want {
				t.Errorf("IsFailure(%v) = %v, want %v", tt.err, got, tt.want)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := breaker.Config{}.WithDefaults()
	if c.ConsecutiveFailures != 5 || c.OpenFor != 10*time.Second || c.MaxOpenFor != 2*time.Minute || c.Probes != 1 {
		t.Errorf("defaults are %+v", c)
	}
	if c.IsFailure == nil || c.Random == nil {
		t.Error("no default functions")
	}
	if got := (breaker.Config{OpenFor: time.Hour}).WithDefaults().MaxOpenFor; got != time.Hour {
		t.Errorf("the bound of a long open time is %v, want the same", got)
	}
}

func TestNewReportsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := breaker.New("", breaker.Config{ConsecutiveFailures: -1, OpenFor: 1, MaxOpenFor: 25 * time.Hour, Probes: -1})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"name", "consecutive failures -1", "open for 1ns", "max open for 25h", "probes -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %q in:\n%v", want, err)
		}
	}
	if _, err := breaker.New("b", breaker.Config{OpenFor: time.Minute, MaxOpenFor: time.Second}); err == nil {
		t.Error("a bound below the open time was accepted")
	}
}
