package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-kafka/holdfast/breaker"
)

// waiting starts a Wait and returns where its answer comes.
func waiting(ctx context.Context, b *breaker.Breaker) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- b.Wait(ctx) }()
	synctest.Wait()
	return answer
}

func TestWaitEndsWithTheOpenTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, breaker.Config{OpenFor: time.Minute})
		if err := b.Wait(t.Context()); err != nil {
			t.Errorf("waiting for a closed breaker: %v", err)
		}
		open(t, b)
		began := time.Now()
		if err := b.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if got := time.Since(began); got != time.Minute {
			t.Errorf("waited %v, want 1m", got)
		}
		if !call(t, b, nil) {
			t.Error("refused after waiting")
		}
	})
}

func TestWaitFollowsTheProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, steady(breaker.Config{OpenFor: time.Second}))
		open(t, b)
		advance(time.Second)
		probe := hold(t, b)
		answer := waiting(t.Context(), b)
		probe.end(errDown)
		failed := time.Now()
		<-answer
		if got := time.Since(failed); got != 2*time.Second {
			t.Errorf("waited %v after the probe failed, want the new open time of 2s", got)
		}
		for name, end := range map[string]error{"success": nil, "ticket back": context.Canceled} {
			if b.State().State == breaker.Closed {
				open(t, b)
				advance(time.Second)
			}
			probe = hold(t, b)
			answer = waiting(t.Context(), b)
			select {
			case err := <-answer:
				t.Errorf("%s: returned %v while the probe ran", name, err)
			default:
			}
			ended := time.Now()
			probe.end(end)
			if err := <-answer; err != nil || !time.Now().Equal(ended) {
				t.Errorf("%s: waited %v longer than the probe: %v", name, time.Since(ended), err)
			}
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mustNew(t, breaker.Config{})
		open(t, b)
		ctx, cancel := context.WithCancelCause(t.Context())
		answer := waiting(ctx, b)
		cause := errors.New("revoked")
		cancel(cause)
		if err := <-answer; !errors.Is(err, cause) {
			t.Errorf("waiting ended with %v, want the cause", err)
		}
		if err := b.Wait(ctx); !errors.Is(err, cause) {
			t.Errorf("waiting with a dead context: %v, want the cause", err)
		}
	})
}
