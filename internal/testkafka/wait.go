package testkafka

import (
	"context"
	"time"
)

// poll calls check at once and then at each interval until it is done, fails,
// or the context ends.
func poll(ctx context.Context, interval time.Duration, check func() (done bool, err error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		done, err := check()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
