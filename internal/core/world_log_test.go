package core_test

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

// topic is a source topic, a lane or a replay lane.
type topic struct {
	name  string
	role  core.Role
	route int
	lane  int
	delay time.Duration
	logs  []*log
}

// log is one partition as the brokers have it.
type log struct {
	topic     *topic
	partition int32
	entries   []*entry // in order of offsets, which have gaps
	next      int64
	epoch     int32
	committed int64  // of the group; -1: none
	committer uint64 // the epoch it was committed in
	owner     *tenure
	operator  bool // paused by the operator
	durable   int  // entries before this index have a durable outcome

	version   int   // counts truncations
	tainted   bool  // truncated below what is committed; the core may not know yet
	truncated int64 // to this offset
}

// entry is one record in a log.
type entry struct {
	log                  *log
	origin               int
	offset               int64
	epoch                int32
	key                  []byte
	size                 int
	attempts             int
	failed               bool
	first                core.Instant // failure
	held                 time.Duration
	written, due         core.Instant
	mark                 core.Mark
	large                largeness
	durable              bool // its outcome is
	delivered, truncated bool
}

type largeness uint8

const (
	fits largeness = iota
	largeInBatch
	largeAlways // until the faults end
)

// origin is the account of one record as first produced.
type origin struct {
	handled, dead, dropped, passed int
	gone                           bool // truncated away
	again                          bool // something explains more than one end
}

func (l *log) String() string { return fmt.Sprintf("%s/%d", l.topic.name, l.partition) }

// settled returns the offset below which every outcome is durable.
func (l *log) settled() int64 {
	for l.durable < len(l.entries) && l.entries[l.durable].durable {
		l.durable++
	}
	if l.durable < len(l.entries) {
		return l.entries[l.durable].offset
	}
	return l.next
}

// index returns the first entry at or after an offset.
func (l *log) index(offset int64) int {
	return sort.Search(len(l.entries), func(i int) bool { return l.entries[i].offset >= offset })
}

func (l *log) append(e *entry, gap int64) {
	if len(l.entries) > 0 {
		l.next += gap
	}
	e.log, e.offset, e.epoch = l, l.next, l.epoch
	l.next++
	l.entries = append(l.entries, e)
}

func (w *world) gap() int64 {
	if w.chance(0.8) {
		return 0
	}
	return int64(1 + w.rng.IntN(5))
}

// populate writes the records that are there from the start.
func (w *world) populate() {
	for range w.records {
		w.produceOne(w.gap())
	}
}

func (w *world) produce(n int) {
	for range n {
		if len(w.origins) < 2*w.records {
			w.produceOne(w.gap())
		}
	}
}

func (w *world) produceOne(gap int64) {
	var firsts []*log
	for _, l := range w.logs {
		if l.topic.role == core.Source || l.topic.role == core.Replay && w.chance(0.3) {
			firsts = append(firsts, l)
		}
	}
	w.produceTo(firsts[w.rng.IntN(len(firsts))], gap)
}

func (w *world) produceTo(l *log, gap int64) {
	e := &entry{origin: len(w.origins), size: 1 + w.rng.IntN(120)}
	if k := w.rng.IntN(5); k > 0 {
		e.key = []byte{'a' + byte(k)}[:min(1, k-1)]
	}
	if w.has(passers) && w.chance(0.03) {
		e.mark = core.Passed
	}
	if w.has(badCopies) && w.chance(0.1) {
		e.large = largeInBatch + largeness(w.rng.IntN(2))
	}
	if w.chance(0.1) {
		l.epoch++
	}
	w.origins = append(w.origins, origin{})
	l.append(e, gap)
}

// tenure is one epoch of owning a log, and the model of it.
type tenure struct {
	part   *core.Part
	log    *log
	member *member
	status tenureStatus
	pos    int // of the entry to be delivered next

	paused   bool // as the client was told
	pausedAt core.Instant
	slack    bool // one more batch may come although it is paused

	barred, cancelled bool

	gen         int  // counts rewinds
	version     int  // of the log, as the core knows it
	rewinding   bool // records of an offset seen before are to come
	line        []*delivery
	head        int                // line before this is finished
	units       map[string]*series // what keeps its order
	last        int64              // newest offset delivered
	held, bytes int                // in the core's memory
	unwritten   int                // copies that failed and are to be tried again
	publishing  int
	out         int // runs of this gen
	outRecs     int // records in workers' hands, of any gen
	passing     []*delivery
	foreign     int // seq of the first foreign record, -1: none
	foreignShut bool
	answered    int64 // the greatest position the group confirmed in this gen
}

type tenureStatus uint8

const (
	owned tenureStatus = iota
	draining
	over
)

// series is what must be handled in order, the first in front.
type series struct {
	line []*delivery
	out  int
}

func tenureOf(p *core.Part) *tenure {
	t, _ := p.Handle.(*tenure)
	return t
}

func (t *tenure) String() string { return fmt.Sprintf("%v#%d", t.log, t.part.Epoch) }

// poll delivers the next records of some partitions of some client.
func (w *world) poll() {
	w.pollOf(w.members[w.rng.IntN(len(w.members))])
}

func (w *world) pollOf(m *member) {
	if m.revoke != nil || m.closing || m.broken || m.closed {
		return
	}
	var batch []*core.Rec
	n := 1 + w.rng.IntN(6)
	for _, i := range w.rng.Perm(len(m.tenures)) {
		t := m.tenures[i]
		if t.paused && !t.slack || t.log.operator && t.paused {
			continue
		}
		if t.rewinding && len(batch) > 0 {
			continue // comes alone, so that what it frees is free for all to see
		}
		if t.rewinding {
			w.step(nil) // whose timers still see the log as it was
			n = 1
		}
		took := false
		for n > 0 && t.pos < len(t.log.entries) {
			batch = append(batch, w.deliver(t, t.log.entries[t.pos]))
			t.pos++
			n--
			took, t.rewinding = true, false
		}
		if took && t.paused {
			t.slack = false
		}
		if took {
			w.arrivals = t
		}
	}
	if len(batch) == 0 {
		return
	}
	for _, t := range m.tenures {
		w.fleeting = w.fleeting || len(t.passing) > 0
		w.letIn(t)
	}
	w.step(&core.Arrived{Recs: batch})
	w.arrivals, w.fleeting = nil, false
}

// rewind moves a partition's next offset back: the position is reset, or the
// log is truncated and written anew.
func (w *world) rewind() {
	if !w.has(rewinds) || w.stopping {
		return
	}
	m := w.members[w.rng.IntN(len(w.members))]
	if len(m.tenures) == 0 || m.revoke != nil {
		return
	}
	t := m.tenures[w.rng.IntN(len(m.tenures))]
	if t.pos == 0 || t.status != owned || t.log.topic.role != core.Source || t.log.tainted {
		return
	}
	back := t.pos - 1 - w.rng.IntN(min(t.pos, 8))
	if t.head < len(t.line) {
		back = min(back, t.log.index(t.line[t.head].entry.offset))
	}
	if l := t.log; w.chance(0.5) {
		w.notef("world: %v is truncated to %d", l, l.entries[back].offset)
		for _, e := range l.entries[back:] {
			e.truncated = true
			w.origins[e.origin].gone = true
		}
		l.next = l.entries[back].offset
		l.entries = slices.Clone(l.entries[:back])
		l.durable = min(l.durable, back)
		l.version++
		l.epoch++
		l.tainted, l.truncated = true, l.next
		w.produceTo(l, 0) // where the log was cut, so that the jump is seen
	} else {
		w.notef("world: position of %v is reset to %d", l, l.entries[back].offset)
	}
	t.pos = back
	t.rewinding = true
}

// readerWait is what a lane's reader makes of a copy's due time.
func (w *world) readerWait(e *entry) (core.Instant, time.Duration) {
	if e.due == 0 {
		return 0, 0
	}
	wall := func(i core.Instant) time.Time { return time.Unix(0, int64(i)) }
	wait, rest, _ := retry.ReaderWait(wall(w.now), wall(e.due), wall(e.written), e.log.topic.delay)
	if wait <= 0 {
		return 0, rest
	}
	return w.now.Add(wait), rest
}
