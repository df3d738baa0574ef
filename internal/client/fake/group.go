package fake

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// group is a consumer group and its coordinator. The cluster's lock guards it.
//
// A rebalance is a number of rounds. A round tells every member something and
// ends when all have answered. An incremental round asks for what has to move
// and, where it had to, a second one hands it over; an eager one asks for
// everything and hands everything out.
type group struct {
	cluster    *Cluster
	name       string
	members    []*Consumer // in the order of joining
	generation int
	committed  map[client.TopicPartition]client.Offset
	owner      map[client.TopicPartition]*Consumer
	taken      map[client.TopicPartition]bool // held by a member elsewhere

	waiting  map[*Consumer]bool // who still has to answer this round
	revoking bool               // an eager round is collecting
	again    bool               // another round must follow
	joining  bool               // a round is about to begin
	seen     map[*Consumer][]string
}

func newGroup(c *Cluster, name string) *group {
	return &group{
		cluster:   c,
		name:      name,
		committed: make(map[client.TopicPartition]client.Offset),
		owner:     make(map[client.TopicPartition]*Consumer),
		taken:     make(map[client.TopicPartition]bool),
		waiting:   make(map[*Consumer]bool),
		seen:      make(map[*Consumer][]string),
	}
}

func (g *group) position(at client.TopicPartition) client.Offset {
	if offset, ok := g.committed[at]; ok {
		return offset
	}
	return client.Offset{TopicPartition: at, Offset: client.OffsetStored, LeaderEpoch: client.NoLeaderEpoch}
}

func (g *group) eager() bool { return len(g.members) > 0 && g.members[0].eager }

func (g *group) join(m *Consumer) {
	if !slices.Contains(g.members, m) {
		g.members = append(g.members, m)
	}
	g.trigger()
}

// remove takes a member out, whether it left or was lost, and sets free what
// it had.
func (g *group) remove(m *Consumer) {
	i := slices.Index(g.members, m)
	if i < 0 {
		return
	}
	g.members = slices.Delete(g.members, i, i+1)
	maps.DeleteFunc(g.owner, func(_ client.TopicPartition, owner *Consumer) bool { return owner == m })
	delete(g.seen, m)
	g.again = true
	if g.waiting[m] {
		g.answered(m)
	} else {
		g.trigger()
	}
}

// answered ends one member's part in the round, and the round with the last.
func (g *group) answered(m *Consumer) {
	if !g.waiting[m] {
		return
	}
	delete(g.waiting, m)
	if len(g.waiting) > 0 {
		return
	}
	if g.revoking {
		g.handOut()
		return
	}
	if g.again {
		g.trigger()
	}
}

// trigger begins a round as soon as none is running.
func (g *group) trigger() {
	if len(g.waiting) > 0 {
		g.again = true
		return
	}
	if g.joining || len(g.members) == 0 {
		return
	}
	g.joining = true
	delay := draw(g.members[0].rng, g.cluster.config.Delays.Join)
	if delay == 0 {
		g.round()
		return
	}
	time.AfterFunc(delay, func() {
		g.cluster.mu.Lock()
		defer g.cluster.mu.Unlock()
		g.round()
	})
}

func (g *group) round() {
	g.joining, g.again = false, false
	for _, m := range g.members {
		g.seen[m] = m.resolve()
	}
	if g.eager() {
		g.collect()
	} else {
		g.move()
	}
	g.cluster.notify()
}

// collect asks every member for all it has.
func (g *group) collect() {
	g.revoking = true
	for _, m := range g.members {
		if owned := g.owned(m); len(owned) > 0 {
			g.waiting[m] = true
			m.push(rebalanceOp(client.Revoked, owned))
		}
	}
	if len(g.waiting) == 0 {
		g.handOut()
	}
}

// handOut gives an eager group its new generation.
func (g *group) handOut() {
	g.revoking, g.again = false, false
	g.generation++
	target := g.target()
	for _, m := range g.members {
		for _, part := range target[m] {
			g.owner[part] = m
		}
		g.waiting[m] = true
		m.push(rebalanceOp(client.Assigned, target[m]))
	}
	g.cluster.notify()
}

// move asks for what others are to have and gives what nobody has. A member
// that has nothing to give and nothing to get is told so.
func (g *group) move() {
	g.generation++
	target := g.target()
	for _, m := range g.members {
		g.waiting[m] = true
		if gone := without(g.owned(m), target[m]); len(gone) > 0 {
			// What it gets comes with the next round.
			g.again = true
			m.push(rebalanceOp(client.Revoked, gone))
			continue
		}
		m.push(rebalanceOp(client.Assigned, g.give(m, target[m])))
	}
}

// give makes a member the owner of what nobody has. What others still have
// comes with a later round.
func (g *group) give(m *Consumer, parts []client.TopicPartition) []client.TopicPartition {
	var fresh []client.TopicPartition
	for _, part := range parts {
		switch g.owner[part] {
		case m:
		case nil:
			g.owner[part] = m
			fresh = append(fresh, part)
		default:
			g.again = true
		}
	}
	return fresh
}

func without(parts, other []client.TopicPartition) []client.TopicPartition {
	return slices.DeleteFunc(parts, func(part client.TopicPartition) bool { return slices.Contains(other, part) })
}

// release sets free what a member gave up.
func (g *group) release(m *Consumer, parts []client.TopicPartition) {
	for _, part := range parts {
		if g.owner[part] == m {
			delete(g.owner, part)
		}
	}
}

func (g *group) owned(m *Consumer) []client.TopicPartition {
	var parts []client.TopicPartition
	for part, owner := range g.owner {
		if owner == m {
			parts = append(parts, part)
		}
	}
	sortParts(parts)
	return parts
}

// subscriptionsMoved reports whether a topic came or went that a member asked
// for.
func (g *group) subscriptionsMoved() bool {
	for _, m := range g.members {
		if !slices.Equal(g.seen[m], m.resolve()) {
			return true
		}
	}
	return false
}

func sortParts(parts []client.TopicPartition) {
	slices.SortFunc(parts, compareParts)
}

func compareParts(a, b client.TopicPartition) int {
	switch {
	case a.Topic < b.Topic:
		return -1
	case a.Topic > b.Topic:
		return 1
	default:
		return int(a.Partition) - int(b.Partition)
	}
}
