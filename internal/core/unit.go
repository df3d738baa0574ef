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
}

// oldest is the sequence of the unit's first record, which it must have.
func (u *unit) oldest() uint64 { return u.queue.head.seq }

// before orders units that may be dispatched. What is oldest goes first: the
// position waits for it, and what was handled past the position is handled
// again after a crash.
func (u *unit) before(other *unit) bool { return u.oldest() < other.oldest() }

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
