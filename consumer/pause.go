package consumer

import "github.com/holdfast-kafka/holdfast/internal/core"

// AllPartitions names every partition of a topic.
const AllPartitions int32 = -1

// Pause stops the handling and fetching of a topic's partition, or of
// [AllPartitions], until [Consumer.Resume]. It holds through rebalances, for
// this member. Handlers that run go on. It does nothing when the consumer is
// not running.
func (c *Consumer) Pause(topic string, partition int32) { c.operator(topic, partition, true) }

// Resume ends what [Consumer.Pause] began.
func (c *Consumer) Resume(topic string, partition int32) { c.operator(topic, partition, false) }

func (c *Consumer) operator(topic string, partition int32, paused bool) {
	if rt := c.rt.Load(); rt != nil {
		rt.send(&core.OperatorPause{Topic: topic, Partition: partition, Paused: paused})
	}
}
