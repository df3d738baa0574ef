package main

import "github.com/holdfast-kafka/holdfast/retry"

// place is where a record stands.
type place struct {
	topic     string
	partition int32
	offset    int64
}

// copyKind says what kind of topic a copy stands in.
type copyKind uint8

// The kinds of copy.
const (
	inLane copyKind = iota
	inReplayLane
	inDLQ
)

// trailCopy is a copy of a payment in a lane or among the dead letters.
type trailCopy struct {
	kind        copyKind
	at          place
	count       int   // failed attempts so far
	due         int64 // of a lane copy, Unix milliseconds
	replays     int
	disposition retry.Disposition
	cause       string
}

// attemptKey names one attempt of a payment. A replay counts anew.
type attemptKey struct{ replays, attempt int }

// trail is all that the broker and the gateway's book say about one payment,
// which its idempotency key names.
type trail struct {
	written   bool // it stands in the payments topic
	source    place
	moves     int // how often money moved
	declined  bool
	cancelled bool
	// calls are the attempts that the gateway saw, each with the caller's
	// time, the earliest one, in Unix milliseconds.
	calls  map[attemptKey]int64
	copies []trailCopy
}

// enter takes in what the gateway's book says.
func (t *trail) enter(line entry) {
	key := attemptKey{line.Replays, line.Attempt}
	if at, known := t.calls[key]; !known || line.Requested < at {
		if t.calls == nil {
			t.calls = map[attemptKey]int64{}
		}
		t.calls[key] = line.Requested
	}
	switch line.Kind {
	case entryCharged:
		if t.moves == 0 || !line.IfAbsent {
			t.moves++
		}
	case entryDeclined:
		t.declined = true
	case entryCancelled:
		t.cancelled = true
	case entryRepeated, entryUnavailable, entryIssuer, entryBusy, entrySilent, entryRelease: // settle nothing
	}
}

// settled reports that the gateway decided about the payment.
func (t *trail) settled() bool { return t.moves > 0 || t.declined || t.cancelled }

// replays is how often the payment was sent back to be handled.
func (t *trail) replays() int {
	n := 0
	for i := range t.copies {
		if t.copies[i].kind == inReplayLane {
			n = max(n, t.copies[i].replays)
		}
	}
	return n
}

// dead returns the dead letter that came of the last time the payment was
// handled, nil for none.
func (t *trail) dead() *trailCopy {
	replays := t.replays()
	for i := range t.copies {
		if c := &t.copies[i]; c.kind == inDLQ && c.replays == replays {
			return c
		}
	}
	return nil
}

// waiting reports that the payment, or a copy of it, is still to be handled:
// the group has not committed past it.
func (t *trail) waiting(committed positions) bool {
	if t.written && !committed.past(t.source) {
		return true
	}
	for i := range t.copies {
		if c := &t.copies[i]; c.kind != inDLQ && !committed.past(c.at) {
			return true
		}
	}
	return false
}

// early counts the attempts that began before the lane said.
func (t *trail) early() int {
	due := map[attemptKey]int64{}
	for i := range t.copies {
		c := &t.copies[i]
		if c.kind != inLane || c.count == 0 {
			continue
		}
		next := attemptKey{c.replays, c.count + 1}
		// A crash can leave two copies: the first one due counts.
		if at, known := due[next]; !known || c.due < at {
			due[next] = c.due
		}
	}
	n := 0
	for next, at := range due {
		if called, ok := t.calls[next]; ok && called < at {
			n++
		}
	}
	return n
}

// atFault reports that a record died of itself, or of a bug in the handler.
func atFault(d retry.Disposition) bool {
	return d == retry.DispositionDecode || d == retry.DispositionPoison || d == retry.DispositionPanic
}

// burned counts the attempts that were charged as failed although the gateway
// was never called and the record itself was not at fault: those that an open
// breaker refused.
func (t *trail) burned() int {
	charged := map[attemptKey]bool{}
	for i := range t.copies {
		c := &t.copies[i]
		for attempt := 1; attempt <= c.count; attempt++ {
			charged[attemptKey{c.replays, attempt}] = true
		}
	}
	for i := range t.copies {
		c := &t.copies[i]
		if atFault(c.disposition) {
			delete(charged, attemptKey{c.replays, c.count})
		}
	}
	n := 0
	for key := range charged {
		if _, called := t.calls[key]; !called {
			n++
		}
	}
	return n
}
