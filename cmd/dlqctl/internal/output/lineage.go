package output

import (
	"fmt"
	"time"

	"github.com/holdfast-kafka/holdfast/dlq"
)

// Event is one step in the life of a dead letter.
type Event struct {
	At   int64  `json:"at,omitempty"` // Unix milliseconds, 0 if not known
	What string `json:"what"`
	Text string `json:"text,omitempty"`
}

// Lineage tells the life of a dead letter in the order it happened.
func Lineage(r *dlq.Record, decision dlq.Decision) []Event {
	var events []Event
	add := func(at int64, what, format string, args ...any) {
		events = append(events, Event{At: at, What: what, Text: fmt.Sprintf(format, args...)})
	}
	m := &r.Stamp.Meta
	if o := m.Origin; o.Topic != "" {
		add(max(o.Timestamp, 0), "written", "%s/%d/%d", o.Topic, o.Partition, o.Offset)
	}
	if m.Replay != nil {
		add(0, "replayed before", "%d times, the last time from %s", m.Replay.Count, m.Replay.Of)
	}
	for _, a := range m.Attempts {
		add(a.At, "failed", "%s %s", a.Class, a.Text)
	}
	if left := r.Stamp.Count - len(m.Attempts); left > 0 && len(m.Attempts) > 0 {
		add(0, "failed", "%d more times that are not told", left)
	}
	if r.Dialect == dlq.DialectHoldfast {
		add(r.Timestamp.UnixMilli(), "dead", "%s after %d failed attempts", r.Stamp.Disposition, r.Stamp.Count)
	}
	for _, e := range []*dlq.Entry{decision.Entry, decision.Outcome} {
		if e != nil {
			add(milli(e.At), string(e.State), "%s", decided(e))
		}
	}
	return events
}

func decided(e *dlq.Entry) string {
	text := "by " + e.By
	if e.Target != "" {
		text += " to " + e.Target
	}
	if e.Run != "" {
		text += ", run " + e.Run
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
