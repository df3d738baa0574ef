// Package core is the runtime as a pure state machine: [Core.Step] takes the
// time and one event and returns actions. There is no goroutine, channel,
// clock, random source of its own or Kafka client inside, so every promise
// about dispatch, offsets, retries, rebalances and shutdown is a property that
// can be checked, replayed and shrunk from a seed.
//
// The shells around it (package consumer) turn the world into events and
// actions into calls. All state belongs to whoever calls Step, one goroutine.
//
// # The way of a record
//
//	Arrived -> admitted (tracker) -> ready -> Dispatch -> Finished -+-> done
//	              ^                   ^                             +-> Publish -> Published -> done
//	              | window            | gates, due                  +-> held, back to the front
//
// Only done moves the position that is committed. A record leaves in no other
// way, except that its partition is given up.
//
// # Epochs
//
// A [Part] is one epoch of owning a partition: a partition that comes back is
// another Part. Work carries its Part, so a late result finds a dead one and
// is dropped.
package core
