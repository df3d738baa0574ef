package core

// weighPause decides whether a partition should be fetched. Two causes only:
// its buffer is over the high mark, or an operator asked.
func (c *Core) weighPause(p *Part) {
	if p.status != partOwned || p.dwelling || c.stop.phase != running {
		return
	}
	want := p.operatorPaused || c.overfull(p)
	if want == p.paused {
		return
	}
	if want {
		c.setPaused(p, true)
		return
	}
	if over := p.pausedAt.Add(pauseDwell); c.now < over {
		p.dwelling = true
		c.timers.push(timer{at: over, kind: timerPause, part: p})
		return
	}
	c.setPaused(p, false)
}

func (c *Core) setPaused(p *Part, paused bool) {
	p.paused, p.pausedAt = paused, c.now
	c.do(&SetPaused{Client: p.Client, Part: p, Paused: paused})
}

// overfull compares the buffer with its marks: the high one while fetching,
// half of it while paused. The client's own limit counts too, but never
// against the floor that each partition is guaranteed.
func (c *Core) overfull(p *Part) bool {
	cl := c.clients[p.Client]
	records, bytes := cl.PartRecords, cl.PartBytes
	allRecords, allBytes, floor := cl.MaxRecords, cl.MaxBytes, cl.Floor
	if p.paused {
		records, bytes, floor = records/2, bytes/2, floor/2
		allRecords, allBytes = allRecords/2, allBytes/2
	}
	if p.records > records || p.bytes > bytes {
		return true
	}
	if p.records > floor && (cl.records > allRecords || cl.bytes > allBytes) {
		cl.squeezed = true
		return true
	}
	return false
}

// relieve weighs all of a client's partitions once there is room again: what
// paused for the others' sake may make no progress of its own.
func (c *Core) relieve(cl *clientState) {
	if !cl.squeezed || cl.records > cl.MaxRecords/2 || cl.bytes > cl.MaxBytes/2 {
		return
	}
	cl.squeezed = false
	for _, p := range cl.parts {
		c.weighPause(p)
	}
}

// operatorPause keeps what the operator wants, for this epoch and later ones.
func (c *Core) operatorPause(e *OperatorPause) {
	if c.paused[e.Topic] == nil {
		c.paused[e.Topic] = map[int32]bool{}
	}
	if e.Partition == -1 {
		c.paused[e.Topic] = map[int32]bool{}
	}
	c.paused[e.Topic][e.Partition] = e.Paused
	for _, cl := range c.clients {
		for _, p := range cl.parts {
			if p.Topic == e.Topic && (e.Partition == -1 || e.Partition == p.Partition) {
				c.applyOperator(p)
				c.weighPause(p)
			}
		}
	}
}

func (c *Core) applyOperator(p *Part) {
	topic := c.paused[p.Topic]
	paused, ok := topic[p.Partition]
	if !ok {
		paused = topic[-1]
	}
	p.operatorPaused = paused
	if paused {
		c.close(p, GateOperator)
	} else {
		c.open(p, GateOperator)
	}
}
