package dlq

import (
	"slices"
	"sort"
)

// Ledger is what was decided about the dead letters of one DLQ. The zero value
// has decided nothing. Not safe for concurrent use while it is added to.
type Ledger struct {
	partitions map[int32]*decisions
	lease      lease
	// Unreadable counts the records of the ledger that could not be read.
	// A replay refuses to work with such a ledger: it could send something
	// twice.
	Unreadable int
	problem    error // the first of them
}

// Decision is the last word about one dead letter.
type Decision struct {
	// Entry is the last decision, nil for none.
	Entry *Entry
	// Outcome is what became of its replay, nil while that is not known.
	Outcome *Entry
}

// State returns the state that the decision means. A replay that was handled
// is resolved; one that died again stays replayed, and its new dead letter is
// open.
func (d Decision) State() State {
	switch {
	case d.Entry == nil:
		return StateOpen
	case d.Entry.State == StateReplayed && d.Outcome != nil && d.Outcome.State == OutcomeDone:
		return StateResolved
	default:
		return d.Entry.State
	}
}

// Apply takes in the next entry, in ledger order.
func (l *Ledger) Apply(e *Entry) {
	if l.partitions == nil {
		l.partitions = map[int32]*decisions{}
	}
	d := l.partitions[e.Partition]
	if d == nil {
		d = &decisions{}
		l.partitions[e.Partition] = d
	}
	for _, r := range e.Ranges {
		if e.Of != "" {
			d.settle(r, e)
		} else {
			d.assign(stretch{Range: r, Decision: Decision{Entry: e}})
		}
	}
}

// Decision returns the last word about a dead letter.
func (l *Ledger) Decision(partition int32, offset int64) Decision {
	if d := l.partitions[partition]; d != nil {
		return d.at(offset)
	}
	return Decision{}
}

// State returns the state of a dead letter.
func (l *Ledger) State(partition int32, offset int64) State {
	return l.Decision(partition, offset).State()
}

// Decided returns how many of the offsets low..high, both included, of a
// partition are in another state than open.
func (l *Ledger) Decided(partition int32, low, high int64) int64 {
	d := l.partitions[partition]
	if d == nil {
		return 0
	}
	var n int64
	for _, s := range d.list {
		if from, to := max(s.From, low), min(s.To, high); from <= to && s.State() != StateOpen {
			n += to - from + 1
		}
	}
	return n
}

// decisions maps the offsets of one partition to the last decision about them.
type decisions struct {
	list []stretch // sorted and disjoint
}

// stretch is a run of offsets with one decision.
type stretch struct {
	Range
	Decision
}

func (d *decisions) at(offset int64) Decision {
	i := sort.Search(len(d.list), func(i int) bool { return d.list[i].To >= offset })
	if i < len(d.list) && d.list[i].From <= offset {
		return d.list[i].Decision
	}
	return Decision{}
}

// assign makes s the decision about its range. What was decided about parts of
// it is forgotten; stretches that reach beyond it keep what reaches beyond.
func (d *decisions) assign(s stretch) {
	if n := len(d.list); n == 0 || d.list[n-1].To < s.From {
		d.list = append(d.list, s)
		return
	}
	low := sort.Search(len(d.list), func(i int) bool { return d.list[i].To >= s.From })
	high := sort.Search(len(d.list), func(i int) bool { return d.list[i].From > s.To })
	next := make([]stretch, 0, 3)
	if low < high && d.list[low].From < s.From {
		left := d.list[low]
		left.To = s.From - 1
		next = append(next, left)
	}
	next = append(next, s)
	if low < high && d.list[high-1].To > s.To {
		right := d.list[high-1]
		right.From = s.To + 1
		next = append(next, right)
	}
	d.list = slices.Replace(d.list, low, high, next...)
}

// settle notes an outcome on those offsets of a range whose last decision is
// the replay that the outcome is about.
func (d *decisions) settle(r Range, outcome *Entry) {
	low := sort.Search(len(d.list), func(i int) bool { return d.list[i].To >= r.From })
	high := sort.Search(len(d.list), func(i int) bool { return d.list[i].From > r.To })
	if low >= high {
		return
	}
	for _, s := range slices.Clone(d.list[low:high]) {
		if s.Entry.State != StateReplayed || s.Entry.ID != outcome.Of {
			continue
		}
		s.From, s.To = max(s.From, r.From), min(s.To, r.To)
		s.Outcome = outcome
		d.assign(s)
	}
}
