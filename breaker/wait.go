package breaker

import (
	"context"
	"fmt"
	"time"
)

// Wait returns nil as soon as a call would be let through: the breaker is
// closed, its open time is over, or there is a ticket for a probe. Another call
// can be faster, so that the next one is refused all the same. When ctx ends
// first Wait returns its cause, wrapped.
func (b *Breaker) Wait(ctx context.Context) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("breaker %s: waiting: %w", b.name, err)
		}
		now, s, changed := b.observe()
		if s.Ready(now) {
			return nil
		}
		b.await(ctx, s.Left(now), changed)
	}
}

// observe returns the state and a channel that is closed at the next change.
func (b *Breaker) observe() (time.Time, Snapshot, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return time.Now(), b.snapshot(), b.changed
}

// await returns when left is over, unless it is zero, when something changed,
// or when ctx ended.
func (b *Breaker) await(ctx context.Context, left time.Duration, changed <-chan struct{}) {
	var over <-chan time.Time
	if left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-changed:
	case <-ctx.Done():
	}
}
