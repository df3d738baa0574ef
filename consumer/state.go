package consumer

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// ErrNotRunning is returned by [Consumer.State] before the group was joined
// and after Run returned.
var ErrNotRunning = errors.New("consumer is not running")

// State is what a consumer is doing, at one instant.
type State struct {
	// Handled, Retried, Dead, Dropped, Held and Parked count records since
	// the start: handlers that returned nil, failed attempts followed by
	// another, dead letters, drops, uncharged holds, uncharged moves to a lane.
	Handled, Retried, Dead, Dropped, Held, Parked int64
	Partitions                                    []PartitionState
}

// PartitionState is one partition that this member owns.
type PartitionState struct {
	Topic     string
	Partition int32
	// Buffered are the records in memory, of which Running are with handlers,
	// Publishing wait for a copy to be acknowledged, and Waiting are not due.
	Buffered, Running, Publishing, Waiting int
	// Position is the offset below which everything is finished, -1 before
	// the first record.
	Position int64
	// Gates are the reasons why nothing is dispatched, each with for how long.
	Gates []GateState
	// Paused: the partition is not fetched, since its buffer is full or an
	// operator asked.
	Paused bool
}

// GateState is a closed gate.
type GateState struct {
	Gate string
	For  time.Duration
}

// State returns what the consumer is doing. It returns [ErrNotRunning], or
// ctx's error when that ends first.
func (c *Consumer) State(ctx context.Context) (State, error) {
	rt := c.rt.Load()
	if rt == nil || rt.finished() {
		return State{}, ErrNotRunning
	}
	answer := make(chan core.View, 1)
	rt.send(&core.Asked{Reply: func(v core.View) { answer <- v }})
	select {
	case v := <-answer:
		return stateOf(v), nil
	case <-rt.over:
		return State{}, ErrNotRunning
	case <-ctx.Done():
		return State{}, ctx.Err()
	}
}

func stateOf(v core.View) State {
	s := State{
		Handled: v.Stats.Done, Retried: v.Stats.Retried, Dead: v.Stats.Dead,
		Dropped: v.Stats.Dropped, Held: v.Stats.Held, Parked: v.Stats.Parked,
	}
	for _, p := range v.Partitions {
		state := PartitionState{
			Topic: p.Topic, Partition: p.Partition, Buffered: p.Records, Running: p.Running,
			Publishing: p.Publishing, Waiting: p.Waiting, Position: p.Position, Paused: p.Paused,
		}
		for _, g := range p.Gates {
			state.Gates = append(state.Gates, GateState{Gate: g.Gate.String(), For: g.For})
		}
		s.Partitions = append(s.Partitions, state)
	}
	return s
}
