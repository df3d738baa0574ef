package core

// tracker knows which records of a partition are unfinished and from them the
// position that may be committed. Offsets arrive in ascending order with any
// gaps (compaction and transaction markers leave them) and finish in any
// order. Each operation is O(1) amortised, and memory is one entry for each
// record between the oldest unfinished one and the newest.
type tracker struct {
	ring []entry // length is a power of two
	head uint64  // sequence of the oldest entry
	tail uint64  // sequence of the next entry
	next int64   // offset after the newest record that left, or was added when empty
	// epoch is the leader epoch of the record before the position.
	epoch int32
	begun bool // a record was added: next has a meaning
}

type entry struct {
	offset int64
	epoch  int32
	done   bool
}

const trackerMin = 64

// add takes the next record and returns its sequence.
func (t *tracker) add(offset int64, epoch int32) uint64 {
	if n := uint64(len(t.ring)); t.tail-t.head == n {
		t.grow(n)
	}
	if !t.begun {
		t.begun, t.next, t.epoch = true, offset, -1
	}
	seq := t.tail
	t.ring[seq&uint64(len(t.ring)-1)] = entry{offset: offset, epoch: epoch}
	t.tail++
	return seq
}

func (t *tracker) grow(n uint64) {
	bigger := make([]entry, max(trackerMin, 2*n))
	for seq := t.head; seq != t.tail; seq++ {
		bigger[seq&uint64(len(bigger)-1)] = t.ring[seq&(n-1)]
	}
	t.ring = bigger
}

// done marks a record finished.
func (t *tracker) done(seq uint64) {
	mask := uint64(len(t.ring) - 1)
	t.ring[seq&mask].done = true
	for t.head != t.tail {
		e := &t.ring[t.head&mask]
		if !e.done {
			return
		}
		t.next, t.epoch = e.offset+1, e.epoch
		t.head++
	}
}

// span is the number of records from the oldest unfinished one to the newest.
func (t *tracker) span() int { return int(t.tail - t.head) }

// position is the offset below which everything is finished, with the leader
// epoch of the record before it (-1: not known). It has no meaning before the
// first add.
func (t *tracker) position() (offset int64, epoch int32) {
	if t.head != t.tail {
		return t.ring[t.head&uint64(len(t.ring)-1)].offset, t.epoch
	}
	return t.next, t.epoch
}

// oldest returns the offset of the oldest unfinished record, if there is one.
func (t *tracker) oldest() (offset int64, ok bool) {
	if t.head == t.tail {
		return 0, false
	}
	return t.ring[t.head&uint64(len(t.ring)-1)].offset, true
}

// truncate forgets the records from an offset on. The oldest unfinished one
// must lie before it.
func (t *tracker) truncate(to int64) {
	for t.tail != t.head && t.ring[(t.tail-1)&uint64(len(t.ring)-1)].offset >= to {
		t.tail--
	}
}

// reset forgets everything: the next add begins anew.
func (t *tracker) reset() { *t = tracker{ring: t.ring[:0:0]} }
