package fake

import (
	"slices"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// Store sets what the next Commit commits.
func (m *Consumer) Store(offsets []client.Offset) error {
	defer m.enter("Store")()
	if m.closed {
		return closedError()
	}
	var first error
	for i := range offsets {
		offsets[i].Err = m.store(offsets[i])
		if first == nil {
			first = offsets[i].Err
		}
	}
	return first
}

func (m *Consumer) store(o client.Offset) error {
	if !m.keepStore {
		return fail(client.InvalidArg, "enable.auto.offset.store is not false")
	}
	claim := m.claims[o.TopicPartition]
	switch {
	case claim != nil:
	case m.known[o.TopicPartition]:
		return fail(client.State, "%s/%d is not assigned", o.Topic, o.Partition)
	default:
		return fail(client.UnknownPartition, "%s/%d is not known here", o.Topic, o.Partition)
	}
	o.Err = nil
	claim.stored = o
	return nil
}

// Commit commits what is stored above the last committed position, late.
func (m *Consumer) Commit() error {
	commit, err := m.beginCommit()
	if commit == nil {
		return err
	}
	for _, h := range commit.holds {
		<-h.released
	}
	if commit.delay > 0 {
		timer := time.NewTimer(commit.delay)
		defer timer.Stop()
		<-timer.C
	}
	return m.finishCommit(commit)
}

// commit is a request on its way to the group.
type commit struct {
	offsets    []client.Offset
	member     bool
	generation int
	holds      []*hold
	delay      time.Duration
}

// beginCommit returns nil where there is nothing to commit.
func (m *Consumer) beginCommit() (*commit, error) {
	m.cluster.mu.Lock()
	if m.commits > 0 {
		m.cluster.mu.Unlock()
		m.cluster.misusef("two commits of consumer %s at once", m.name)
		m.cluster.mu.Lock()
	}
	defer m.cluster.mu.Unlock()
	if m.closed {
		return nil, closedError()
	}
	if m.lost {
		return nil, fail(client.AssignmentLost, "the assignment is lost")
	}
	var offsets []client.Offset
	for _, part := range m.assigned() {
		if claim := m.claims[part]; claim.stored.Offset > claim.committed {
			offsets = append(offsets, claim.stored)
		}
	}
	if len(offsets) == 0 {
		return nil, nil //nolint:nilnil // nothing to do is no error
	}
	m.commits++
	request := &commit{
		offsets: offsets,
		member:  m.member,
		holds:   slices.Clone(m.cluster.faults.holdCommits),
		delay:   draw(m.rng, m.cluster.config.Delays.Commit),
	}
	if m.group != nil {
		request.generation = m.group.generation
	}
	return request, nil
}

func (m *Consumer) finishCommit(request *commit) error {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	m.commits--
	if err := m.admitted(request); err != nil {
		return err
	}
	var fault commitFault
	if faults := &m.cluster.faults.commits; len(*faults) > 0 {
		fault, *faults = (*faults)[0], (*faults)[1:]
	}
	g := m.cluster.group(m.groupID)
	for _, o := range request.offsets {
		if fault.code != 0 && (len(fault.parts) == 0 || slices.Contains(fault.parts, o.TopicPartition)) {
			continue
		}
		g.committed[o.TopicPartition] = o
		if claim := m.claims[o.TopicPartition]; claim != nil {
			claim.committed = o.Offset
		}
	}
	if fault.code != 0 {
		return fail(fault.code, "commit refused")
	}
	return nil
}

// admitted is all that a group asks of a commit: that its member is in the
// generation it was sent from. It does not ask whose the partitions are.
func (m *Consumer) admitted(request *commit) error {
	switch {
	case !request.member:
		if m.group == nil && len(m.cluster.group(m.groupID).members) > 0 {
			return fail(client.UnknownMemberID, "%s is no member of %s, which has others", m.name, m.groupID)
		}
		return nil
	case !m.member:
		return fail(client.UnknownMemberID, "%s is no member of %s", m.name, m.groupID)
	case m.group.generation != request.generation:
		return fail(client.IllegalGeneration, "commit of generation %d in %d", request.generation, m.group.generation)
	}
	return nil
}

// Committed asks the group.
func (m *Consumer) Committed(parts []client.TopicPartition, _ time.Duration) ([]client.Offset, error) {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	if m.closed {
		return nil, closedError()
	}
	g := m.cluster.group(m.groupID)
	out := make([]client.Offset, len(parts))
	for i, part := range parts {
		out[i] = g.position(part)
	}
	return out, nil
}
