//go:build cgo

package confluent

import (
	"errors"
	"slices"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// rebalance runs the caller's callback and answers in its place if it did not,
// or could not.
func (c *consumer) rebalance(event kafka.Event, callback func(client.Rebalance)) {
	r, tell := c.read(event), true
	c.serving, c.answered = true, false
	if c.closed.Load() {
		r, tell = c.farewell(r)
	}
	if callback != nil && tell {
		callback(r)
	}
	c.serving = false
	if c.answered {
		return
	}
	if err := c.answer(r); err != nil {
		c.pending = append(c.pending, failureOf(err))
	}
}

// read looks at the library's state before anything changes it: giving the
// assignment up clears the mark that it was lost. The protocol is asked for
// only when partitions come: asking during a close can hang.
func (c *consumer) read(event kafka.Event) client.Rebalance {
	if event, ok := event.(kafka.RevokedPartitions); ok {
		return client.Rebalance{
			Kind:       client.Revoked,
			Partitions: partitionsIn(event.Partitions),
			Lost:       c.kafka.AssignmentLost(),
		}
	}
	assigned, _ := event.(kafka.AssignedPartitions)
	c.incremental = c.kafka.GetRebalanceProtocol() == "COOPERATIVE"
	return client.Rebalance{Kind: client.Assigned, Partitions: partitionsIn(assigned.Partitions)}
}

// farewell is what to tell of a rebalance inside Close. The library treats
// every answer there as giving everything up, an assignment's too, and tells
// of the revocation afterwards, when nothing can be stored or committed any
// more. So the first rebalance of any kind is the caller's last word about
// all it has, and the rest is answered here. A client that is in the middle of
// joining again refuses even that one; nothing here can help it.
func (c *consumer) farewell(r client.Rebalance) (last client.Rebalance, tell bool) {
	if len(c.held) == 0 {
		return r, false
	}
	return client.Rebalance{
		Kind:       client.Revoked,
		Partitions: slices.Clone(c.held),
		Lost:       c.kafka.AssignmentLost(),
	}, true
}

func (c *consumer) answer(r client.Rebalance) error {
	if r.Kind == client.Revoked {
		return c.Unassign(r.Partitions)
	}
	offsets := make([]client.Offset, len(r.Partitions))
	for i, part := range r.Partitions {
		offsets[i] = client.Offset{TopicPartition: part, Offset: client.OffsetStored, LeaderEpoch: client.NoLeaderEpoch}
	}
	return c.Assign(offsets)
}

func failureOf(err error) *client.Error {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e
	}
	return wrongState("rebalance not answered: " + err.Error())
}
