package breaker_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-kafka/holdfast/breaker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("down")

// steady makes open times exact.
func steady(cfg breaker.Config) breaker.Config {
	cfg.Random = func() float64 { return 0 }
	return cfg
}

func mustNew(t testing.TB, cfg breaker.Config) *breaker.Breaker {
	t.Helper()
	b, err := breaker.New("gateway", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// call makes one call that ends with err, and reports whether it was let through.
func call(t testing.TB, b *breaker.Breaker, err error) (through bool) {
	t.Helper()
	got := b.Do(t.Context(), func(context.Context) error {
		through = true
		return err
	})
	if through && !errors.Is(got, err) {
		t.Errorf("Do returned %v, want %v", got, err)
	}
	if _, open := errors.AsType[*breaker.OpenError](got); !through && !open {
		t.Errorf("a refused call returned %v, want an OpenError", got)
	}
	return through
}

// open fails until b is open.
func open(t testing.TB, b *breaker.Breaker) {
	t.Helper()
	for b.State().State != breaker.Open {
		if !call(t, b, errDown) {
			t.Fatalf("refused while %v", b.State().State)
		}
	}
}

// held is a call under way.
type held struct {
	release chan error
	done    chan error
}

// hold begins a call and returns once it runs.
func hold(t testing.TB, b *breaker.Breaker) held {
	t.Helper()
	h := held{release: make(chan error), done: make(chan error, 1)}
	began := make(chan struct{})
	go func() {
		h.done <- b.Do(t.Context(), func(context.Context) error {
			close(began)
			return <-h.release
		})
	}()
	select {
	case <-began:
	case err := <-h.done:
		t.Fatalf("not let through: %v", err)
	}
	return h
}

// end ends the call with err and waits for it.
func (h held) end(err error) {
	h.release <- err
	<-h.done
}

func wantState(t testing.TB, b *breaker.Breaker, want breaker.State) {
	t.Helper()
	if got := b.State().State; got != want {
		t.Errorf("state is %v, want %v", got, want)
	}
}
