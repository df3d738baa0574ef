package core

// unit is an ordering unit: a partition or a key, of which one record is
// handled at a time.
type unit struct {
	part    *Part
	key     string
	queue   recQueue
	out     int     // records in a worker's hands
	blocked Instant // not before; zero: not blocked
	inReady bool
	// detached: its partition forgot it. What it has out comes back to it
	// and is of no matter.
	detached bool
	next     *unit
}

// unitQueue is a first-in first-out list of units, linked through them.
type unitQueue struct{ head, tail *unit }

func (q *unitQueue) push(u *unit) {
	u.next = nil
	if q.tail == nil {
		q.head = u
	} else {
		q.tail.next = u
	}
	q.tail = u
}

func (q *unitQueue) pop() *unit {
	u := q.head
	if u == nil {
		return nil
	}
	q.head = u.next
	if q.head == nil {
		q.tail = nil
	}
	u.next = nil
	u.inReady = false
	return u
}

// unitOf returns the unit a record belongs to, nil when it is bound by none.
func (c *Core) unitOf(r *Rec) *unit {
	p := r.Part
	if p.Role != Source {
		return nil
	}
	switch c.cfg.Routes[p.Route].Ordering {
	case ByPartition:
		return p.main
	case ByKey:
		if r.Key == nil {
			return nil
		}
		if u, ok := p.keys[string(r.Key)]; ok {
			return u
		}
		if p.keys == nil {
			p.keys = make(map[string]*unit)
		}
		u := &unit{part: p, key: string(r.Key)}
		p.keys[u.key] = u
		return u
	case Unordered:
		return nil
	}
	return nil
}

// rouse makes a unit ready if it may run now, or forgets it when it is empty.
func (p *Part) rouse(u *unit) {
	switch {
	case u.detached:
	case u.out > 0 || u.inReady || u.blocked != 0:
	case u.queue.head != nil:
		u.inReady = true
		p.ready.push(u)
	case u != p.main:
		delete(p.keys, u.key)
	}
}
