package consumer

import (
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/core"
)

// rebalance is the group's callback. It runs on the poller's goroutine, inside
// Poll or Close, and serves the core's commands until the core has its answer.
func (p *poller) rebalance(r client.Rebalance) {
	p.flush()
	p.lastTen = nil
	if r.Kind == client.Assigned {
		p.assigned(r.Partitions)
		return
	}
	p.revoked(r)
}

func (p *poller) assigned(partitions []client.TopicPartition) {
	parts := make([]*core.Part, 0, len(partitions))
	for _, at := range partitions {
		use, known := p.rt.uses[at.Topic]
		if !known {
			continue
		}
		part := core.NewPart(at.Topic, at.Partition, p.id, use.role, use.route, p.rt.epochs.Add(1))
		ten := &tenure{part: part, use: use, route: p.rt.routes[use.route]}
		part.Handle = ten
		p.parts[at] = ten
		parts = append(parts, part)
	}
	p.rt.log.assigned(p.name, partitions)
	p.rt.send(&core.AssignedTo{Client: p.id, Parts: parts})
	answer := await[*core.FinishAssign](p)
	p.take(partitions)
	if answer == nil {
		return
	}
	// The library's pause flag survives a revoke, so the wanted state is set
	// for each partition, whatever it was.
	for i, part := range answer.Parts {
		p.pauseOrResume(client.TopicPartition{Topic: part.Topic, Partition: part.Partition}, answer.Paused[i])
	}
}

func (p *poller) take(partitions []client.TopicPartition) {
	offsets := make([]client.Offset, len(partitions))
	for i, at := range partitions {
		offsets[i] = client.Offset{TopicPartition: at, Offset: client.OffsetStored, LeaderEpoch: client.NoLeaderEpoch}
	}
	if err := p.kafka.Assign(offsets); err != nil {
		p.rt.log.assignFailed(p.name, err)
	}
}

func (p *poller) revoked(r client.Rebalance) {
	parts := make([]*core.Part, 0, len(r.Partitions))
	for _, at := range r.Partitions {
		if ten := p.parts[at]; ten != nil {
			parts = append(parts, ten.part)
		}
		delete(p.parts, at)
	}
	p.rt.log.revoked(p.name, r.Partitions, r.Lost)
	p.rt.send(&core.RevokedFrom{Client: p.id, Parts: parts, Lost: r.Lost})
	await[*core.FinishRevoke](p)
	if err := p.kafka.Unassign(r.Partitions); err != nil {
		p.rt.log.assignFailed(p.name, err)
	}
}

// await serves commands until the answer of type A comes. It returns the zero
// answer when the runtime is over and none will come.
func await[A core.Action](p *poller) (answer A) {
	for {
		found := false
		for _, command := range p.commands.take(nil) {
			if a, ok := command.(A); ok {
				answer, found = a, true
				continue
			}
			p.obey(command)
		}
		if found {
			return answer
		}
		select {
		case <-p.commands.bell:
		case <-p.rt.over:
			return answer
		}
	}
}
