package consumer

import (
	"context"
	"testing"
	"time"
)

// A context that ended stays ended, whoever kept it: here a goroutine of the
// handler's that outlives the first attempt.
func TestAContextThatEndedStaysEnded(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		m := r.run(func(ctx context.Context, rec *Record) error {
			if rec.Attempt() == 1 {
				go func() {
					<-ctx.Done()
					for range 15 {
						if ctx.Err() == nil {
							t.Error("the context of an attempt that is over lives again")
							return
						}
						pause(100 * time.Millisecond)
					}
				}()
				return errDown
			}
			pause(2 * time.Second)
			return nil
		}, func(c *Config) { c.Routes[0].RetryMode = InPlace })
		r.untilCommitted("orders", 0, 1)
		m.stop()
	})
}
