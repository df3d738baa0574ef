package consumer

import (
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// clock counts the core's time from its start, by the monotonic clock.
type clock struct{ start time.Time }

func newClock() clock { return clock{start: time.Now()} }

func (c clock) now() core.Instant { return core.Instant(time.Since(c.start)) }

// instant is the core's time of a wall-clock time, as the clocks stand now.
func (c clock) instant(at time.Time) core.Instant {
	return c.now().Add(-time.Since(at.Round(0)))
}

func (clock) wall() time.Time { return time.Now() }

func timeOf(unixMs int64) time.Time { return time.UnixMilli(unixMs) }
