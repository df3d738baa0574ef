package cli

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
)

// Not parallel: signals are the whole process's.
func TestFirstSignalEndsTheContext(t *testing.T) {
	ctx, stop := WithSignals(t.Context())
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if s, ok := errors.AsType[*SignalError](context.Cause(ctx)); !ok || s.Code() != Terminated {
		t.Errorf("cause %v", context.Cause(ctx))
	}
}
