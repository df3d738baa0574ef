package consumer

import (
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

// topicUse is what a topic is to the runtime.
type topicUse struct {
	role   core.Role
	route  int
	origin string        // the source topic that a lane belongs to
	delay  time.Duration // of a lane
}

// sourceTopics are the names every source client subscribes to.
func (c *Config) sourceTopics() []string {
	var names []string
	for _, route := range c.Routes {
		names = append(names, route.Topics...)
	}
	return names
}

// laneTopics are the names the lane client subscribes to: the lanes of today's
// policy, the replay lanes, and of the topics that exist those that were lanes
// of an earlier policy.
func (c *Config) laneTopics(existing []string) []string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for i := range c.Routes {
		route := &c.Routes[i]
		for _, topic := range route.Topics {
			for _, delay := range route.lanes() {
				add(retry.LaneTopic(topic, c.Group, delay))
			}
			for _, lane := range retry.FindLanes(existing, topic, c.Group) {
				add(lane.Topic)
			}
			if route.DLQ == ToDLQ {
				add(retry.ReplayTopic(topic, c.Group))
			}
		}
	}
	return names
}

// lanes are the delays a route writes to.
func (r *Route) lanes() retry.Lanes {
	if r.RetryMode == InPlace {
		return nil
	}
	return r.Retry.Lanes
}

// uses tells what each topic is to the runtime.
func (c *Config) uses(existing []string) map[string]topicUse {
	uses := map[string]topicUse{}
	for i := range c.Routes {
		route := &c.Routes[i]
		for _, topic := range route.Topics {
			uses[topic] = topicUse{role: core.Source, route: i, origin: topic}
			for _, delay := range route.lanes() {
				name := retry.LaneTopic(topic, c.Group, delay)
				uses[name] = topicUse{role: core.Lane, route: i, origin: topic, delay: delay}
			}
			for _, lane := range retry.FindLanes(existing, topic, c.Group) {
				uses[lane.Topic] = topicUse{role: core.Lane, route: i, origin: topic, delay: lane.Delay}
			}
			uses[retry.ReplayTopic(topic, c.Group)] = topicUse{role: core.Replay, route: i, origin: topic}
		}
	}
	return uses
}
