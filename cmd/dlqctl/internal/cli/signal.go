package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// WithSignals returns a context that ends with a [*SignalError] when the
// process is told to stop, so that what was begun can be finished. A second
// signal ends the process at once. Call stop to free it.
func WithSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			signal.Stop(signals) // the next one has its default effect
			cancel(&SignalError{Signal: s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(context.Canceled)
		<-done
	}
}
