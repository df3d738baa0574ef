package fake

import (
	"slices"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// Assign takes partitions: those added in an incremental callback, otherwise
// exactly these.
func (m *Consumer) Assign(parts []client.Offset) error {
	defer m.enter("Assign")()
	if m.closed {
		return closedError()
	}
	if m.incremental() {
		for i := range parts {
			if m.claims[parts[i].TopicPartition] != nil {
				return fail(client.State, "%s/%d is assigned already", parts[i].Topic, parts[i].Partition)
			}
		}
	} else {
		m.drop(m.assigned())
	}
	for i := range parts {
		m.claim(parts[i])
	}
	m.answered = true
	return nil
}

// incremental reports whether the group's protocol is: one client without a
// group always says all it wants.
func (m *Consumer) incremental() bool { return m.group != nil && !m.eager }

func (m *Consumer) claim(o client.Offset) {
	m.known[o.TopicPartition] = true
	m.claims[o.TopicPartition] = &claim{
		start:     o.Offset,
		app:       -1,
		from:      time.Now().Add(draw(m.rng, m.cluster.config.Delays.Fetch)),
		stored:    unset(o.TopicPartition),
		committed: m.cluster.group(m.groupID).position(o.TopicPartition).Offset,
		low:       -1,
		high:      -1,
	}
}

func unset(at client.TopicPartition) client.Offset {
	return client.Offset{TopicPartition: at, Offset: client.OffsetStored, LeaderEpoch: client.NoLeaderEpoch}
}

// Unassign gives partitions up: these in an incremental callback, otherwise
// all.
func (m *Consumer) Unassign(parts []client.TopicPartition) error {
	defer m.enter("Unassign")()
	if m.closed {
		return closedError()
	}
	if m.incremental() {
		for _, part := range parts {
			if m.claims[part] == nil && !m.leaving {
				return fail(client.State, "%s/%d is not assigned", part.Topic, part.Partition)
			}
		}
		m.drop(parts)
	} else {
		m.drop(m.assigned())
	}
	m.answered = true
	return nil
}

func (m *Consumer) drop(parts []client.TopicPartition) {
	for _, part := range parts {
		delete(m.claims, part)
		m.purge(part)
	}
}

func (m *Consumer) assigned() []client.TopicPartition {
	parts := make([]client.TopicPartition, 0, len(m.claims))
	for part := range m.claims {
		parts = append(parts, part)
	}
	sortParts(parts)
	return parts
}

// Pause stops partitions and throws their prefetch away. A partition that was
// never assigned is passed over in silence.
func (m *Consumer) Pause(parts []client.TopicPartition) error {
	defer m.enter("Pause")()
	if m.closed {
		return closedError()
	}
	for _, part := range parts {
		if m.known[part] {
			m.paused[part] = true
			m.refetch(part)
		}
	}
	return nil
}

// Resume goes on from the position after the last polled record, late. A
// partition that is not paused is left alone.
func (m *Consumer) Resume(parts []client.TopicPartition) error {
	defer m.enter("Resume")()
	if m.closed {
		return closedError()
	}
	for _, part := range parts {
		if m.paused[part] {
			delete(m.paused, part)
			m.refetch(part)
		}
	}
	return nil
}

// Seek sets the next position of an assigned partition.
func (m *Consumer) Seek(to client.Offset) error {
	defer m.enter("Seek")()
	if m.closed {
		return closedError()
	}
	claim := m.claims[to.TopicPartition]
	if claim == nil {
		return fail(client.State, "seek of %s/%d, which is not assigned", to.Topic, to.Partition)
	}
	claim.start, claim.resolved = to.Offset, false
	m.refetch(to.TopicPartition)
	return nil
}

// refetch forgets what was fetched of a partition and not handed over.
func (m *Consumer) refetch(part client.TopicPartition) {
	m.purge(part)
	if claim := m.claims[part]; claim != nil {
		claim.next = claim.app
		claim.from = time.Now().Add(draw(m.rng, m.cluster.config.Delays.Fetch))
	}
}

func (m *Consumer) purge(part client.TopicPartition) {
	m.queue = slices.DeleteFunc(m.queue, func(r client.Message) bool {
		gone := r.Topic == part.Topic && r.Partition == part.Partition
		if gone {
			m.queueBytes -= size(&r)
		}
		return gone
	})
}

// Watermarks returns what the last fetch of an assigned partition saw.
func (m *Consumer) Watermarks(part client.TopicPartition) (low, high int64, err error) {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	if m.closed {
		return -1, -1, closedError()
	}
	claim := m.claims[part]
	if claim == nil {
		return -1, -1, fail(client.UnknownPartition, "%s/%d is not known here", part.Topic, part.Partition)
	}
	return claim.low, claim.high, nil
}
