package core

import "time"

// View is the state for people: taken at one instant, safe to keep.
type View struct {
	Stats      Stats
	FreeSlots  int
	Partitions []PartView
}

// PartView is one partition's state.
type PartView struct {
	Topic     string
	Partition int32
	Client    int
	Role      Role
	Route     int
	Epoch     uint64

	Records, Bytes, Running, Publishing, Waiting int

	Position  int64 // what may be committed; -1: nothing was read yet
	Committed int64 // what the group answered in this epoch; 0: nothing yet
	Gates     []GateView
	Paused    bool
}

// GateView is a closed gate and for how long.
type GateView struct {
	Gate Gate
	For  time.Duration
}

func (c *Core) view() View {
	v := View{Stats: c.stats, FreeSlots: c.freeSlots}
	for _, cl := range c.clients {
		for _, p := range cl.parts {
			v.Partitions = append(v.Partitions, c.partView(p))
		}
	}
	return v
}

func (c *Core) partView(p *Part) PartView {
	v := PartView{
		Topic: p.Topic, Partition: p.Partition, Client: p.Client, Role: p.Role, Route: p.Route, Epoch: p.Epoch,
		Records: p.records, Bytes: p.bytes, Running: p.running, Publishing: p.publishing + p.failedPublishes.n,
		Waiting: len(p.waiting), Position: -1, Committed: p.committed, Paused: p.paused,
	}
	if p.tracker.begun {
		v.Position, _ = p.tracker.position()
	}
	for g := range gateCount {
		if p.gates.has(g) {
			v.Gates = append(v.Gates, GateView{Gate: g, For: c.now.Sub(p.gatedSince[g])})
		}
	}
	return v
}
