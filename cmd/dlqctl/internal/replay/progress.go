package replay

import (
	"fmt"
	"time"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
	"github.com/holdfast-kafka/holdfast/dlq"
)

const (
	// logEvery is how often progress is told where it cannot be overwritten.
	logEvery = 10 * time.Second
	// drawEvery is how often the line on a terminal is drawn anew.
	drawEvery = 200 * time.Millisecond
)

// progress tells on standard error how far a run is: one line that is
// overwritten on a terminal, a line every ten seconds elsewhere.
type progress struct {
	streams *cli.Streams
	start   time.Time
	last    time.Time
	drawn   bool
}

func newProgress(streams *cli.Streams) *progress {
	now := streams.Now()
	return &progress{streams: streams, start: now, last: now}
}

func (p *progress) tell(now dlq.RunProgress) {
	every := logEvery
	if p.streams.ErrTTY {
		every = drawEvery
	}
	at := p.streams.Now()
	if at.Sub(p.last) < every {
		return
	}
	p.last = at
	rate := float64(now.Sent) / max(at.Sub(p.start).Seconds(), 0.001)
	line := fmt.Sprintf("sent %d of %d, skipped %d, %.0f/s", now.Sent, now.Planned, now.Skipped, rate)
	if left := now.Planned - now.Sent - now.Skipped; left > 0 && rate > 0 {
		line += fmt.Sprintf(", %s left", time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second))
	}
	if !p.streams.ErrTTY {
		p.streams.Notef("%s", line)
		return
	}
	p.drawn = true
	_, _ = fmt.Fprintf(p.streams.Err, "\r\x1b[K%s", line)
}

// end leaves the line that was drawn.
func (p *progress) end() {
	if p.drawn {
		p.streams.Notef("")
	}
}
