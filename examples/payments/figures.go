package main

import "fmt"

// figures are what became of all payments, counted from the topics and from
// the gateway's book.
type figures struct {
	Payments int `json:"payments"` // records in the payments topic
	Charged  int `json:"charged"`
	Retried  int `json:"retried"`  // copies in lanes after a failed attempt
	Dead     int `json:"dead"`     // records among the dead letters
	Replayed int `json:"replayed"` // records in the replay lane
	// The next four must be zero.
	Lost          int `json:"lost"`
	DoubleCharged int `json:"double_charged"`
	Early         int `json:"early"`
	Burned        int `json:"attempts_burned_while_open"`

	ElapsedMS int64 `json:"elapsed_ms"`

	// Each payment counts in exactly one of these, Charged and Lost.
	declined, cancelled, waiting, unsettled int
	// causes are the dead letters by why they are dead.
	causes map[cause]*causeCount
}

// cause groups dead letters.
type cause struct{ disposition, text string }

type causeCount struct{ all, open int }

// count makes the figures of all trails. committed are the group's positions
// from before the trails were read, so that what lies below them has left a
// trace in what was read.
func count(trails map[string]*trail, committed positions) figures {
	f := figures{causes: map[cause]*causeCount{}}
	for _, t := range trails {
		f.add(t, committed)
	}
	return f
}

func (f *figures) add(t *trail, committed positions) {
	f.copies(t)
	f.Early += t.early()
	f.Burned += t.burned()
	if !t.written {
		f.DoubleCharged += t.moves // money for a payment that nobody wrote
		return
	}
	f.Payments++
	f.DoubleCharged += max(0, t.moves-1)
	switch {
	case t.moves > 0:
		f.Charged++
	case t.cancelled:
		f.cancelled++
	case t.declined:
		f.declined++
	case t.waiting(committed):
		f.waiting++
	case t.dead() != nil:
		f.unsettled++
	default:
		f.Lost++
	}
}

// copies counts a payment's copies.
func (f *figures) copies(t *trail) {
	for i := range t.copies {
		c := &t.copies[i]
		switch {
		case c.kind == inReplayLane:
			f.Replayed++
		case c.kind == inLane && c.count > 0:
			f.Retried++
		case c.kind == inDLQ:
			f.Dead++
			why := cause{string(c.disposition), c.cause}
			n := f.causes[why]
			if n == nil {
				n = &causeCount{}
				f.causes[why] = n
			}
			n.all++
			if !t.settled() && c == t.dead() {
				n.open++
			}
		}
	}
}

// problems are the promises that were broken, nil for none.
func (f *figures) problems() []string {
	var list []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{f.Lost, "lost"},
		{f.DoubleCharged, "double charged"},
		{f.Early, "handled before they were due"},
		{f.Burned, "attempts charged while the breaker was open"},
	} {
		if p.n != 0 {
			list = append(list, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return list
}
