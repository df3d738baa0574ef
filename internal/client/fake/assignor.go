package fake

import (
	"maps"
	"slices"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// target says who should have what: each topic spread over the members that
// subscribe to it, nobody with two more than another, and as little moved as
// that allows.
func (g *group) target() map[*Consumer][]client.TopicPartition {
	out := make(map[*Consumer][]client.TopicPartition)
	subscribers := make(map[string][]*Consumer)
	for _, m := range g.members {
		for _, topic := range g.seen[m] {
			subscribers[topic] = append(subscribers[topic], m)
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(subscribers)) {
		g.spread(topic, subscribers[topic], out)
	}
	return out
}

func (g *group) spread(topic string, members []*Consumer, out map[*Consumer][]client.TopicPartition) {
	var free []client.TopicPartition
	kept := make(map[*Consumer][]client.TopicPartition)
	parts := g.free(topic)
	for _, part := range parts {
		if owner := g.owner[part]; owner != nil && slices.Contains(members, owner) {
			kept[owner] = append(kept[owner], part)
		} else {
			free = append(free, part)
		}
	}
	// Those who have most keep the larger shares.
	members = slices.Clone(members)
	slices.SortStableFunc(members, func(a, b *Consumer) int { return len(kept[b]) - len(kept[a]) })
	base, extra := len(parts)/len(members), len(parts)%len(members)
	quota := func(i int) int {
		if i < extra {
			return base + 1
		}
		return base
	}
	for i, m := range members {
		keep := min(len(kept[m]), quota(i))
		free = append(free, kept[m][keep:]...)
		kept[m] = kept[m][:keep]
	}
	sortParts(free)
	for i, m := range members {
		n := quota(i) - len(kept[m])
		out[m] = append(out[m], kept[m]...)
		out[m] = append(out[m], free[:n]...)
		free = free[n:]
	}
}

// free lists the partitions of a topic that are for the members to share.
func (g *group) free(topic string) []client.TopicPartition {
	t := g.cluster.topics[topic]
	if t == nil {
		return nil
	}
	var parts []client.TopicPartition
	for _, p := range t.partitions {
		if !g.taken[p.at] {
			parts = append(parts, p.at)
		}
	}
	return parts
}
