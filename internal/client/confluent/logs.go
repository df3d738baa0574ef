//go:build cgo

package confluent

import (
	"context"
	"log/slog"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// A line of the library is logged at most this often per client and tag: a
// broker that is down repeats itself several times a second for hours.
const (
	logBurst  = 10
	logPeriod = 10 * time.Second
)

// logBuffer is room for what one quarrel with a cluster brings at once. When
// it is full the library's own log queue holds the rest.
const logBuffer = 256

// logDrain carries one client's log lines to a logger, on one goroutine that
// stop ends.
type logDrain struct {
	logger *slog.Logger
	events chan kafka.LogEvent
	done   chan struct{}
}

func newLogDrain(logger *slog.Logger) *logDrain {
	return &logDrain{
		logger: logger,
		events: make(chan kafka.LogEvent, logBuffer),
		done:   make(chan struct{}),
	}
}

// config returns the keys that send a client's log lines here.
func (d *logDrain) config() kafka.ConfigMap {
	return kafka.ConfigMap{
		"go.logs.channel.enable": true,
		"go.logs.channel":        d.events,
	}
}

func (d *logDrain) start() { go d.run() }

// stop ends the goroutine. The client must be closed by then: it writes to
// the channel until it is.
func (d *logDrain) stop() {
	close(d.events)
	<-d.done
}

func (d *logDrain) run() {
	defer close(d.done)
	limit := make(limiter)
	for event := range d.events {
		now := time.Now()
		pass, suppressed := limit.allow(event.Tag, now)
		if !pass {
			continue
		}
		attrs := []slog.Attr{
			slog.String("client", event.Name),
			slog.String("tag", event.Tag),
			slog.String("text", event.Message),
		}
		if suppressed > 0 {
			attrs = append(attrs, slog.Int("suppressed", suppressed))
		}
		d.logger.LogAttrs(context.Background(), levelOf(event.Level), "kafka client", attrs...)
	}
}

// levelOf maps syslog's levels. The library calls things errors that it
// recovers from by itself, so only "critical" and worse is ours.
func levelOf(syslog int) slog.Level {
	switch {
	case syslog <= 2:
		return slog.LevelError
	case syslog <= 4:
		return slog.LevelWarn
	case syslog <= 6:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// limiter lets a burst per tag and period through and counts the rest.
type limiter map[string]*window

type window struct {
	from       time.Time
	passed     int
	suppressed int
}

// allow reports whether a line with this tag may be logged now, and how many
// were held back since the last that was.
func (l limiter) allow(tag string, now time.Time) (pass bool, suppressed int) {
	w := l[tag]
	if w == nil {
		w = &window{from: now}
		l[tag] = w
	}
	if now.Sub(w.from) >= logPeriod {
		suppressed = w.suppressed
		*w = window{from: now}
	}
	if w.passed >= logBurst {
		w.suppressed++
		return false, 0
	}
	w.passed++
	return true, suppressed
}
