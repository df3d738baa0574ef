package core_test

import (
	"fmt"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

// configure chooses the core's configuration and the brokers' topics. Limits
// are small, so that a few records reach them.
func (w *world) configure() {
	w.cfg = core.Config{
		Slots:          1 + w.rng.IntN(6),
		CommitInterval: time.Duration(1+w.rng.IntN(500)) * time.Millisecond,
		CommitCount:    1 + w.rng.IntN(30),
		DrainTimeout:   time.Duration(1+w.rng.IntN(2000)) * time.Millisecond,
		StopTimeout:    time.Duration(1+w.rng.IntN(4000)) * time.Millisecond,
		MaxUncommitted: 2 + w.rng.IntN(1<<(1+w.rng.IntN(6))),
	}
	for range 3 {
		w.downs = append(w.downs, &downstream{tickets: 1})
	}
	sources := 1
	if w.has(twoSources) && w.chance(0.25) {
		sources = 2
	}
	for range sources {
		w.addMember(false)
	}
	w.addMember(true)
	for route := range 1 + w.rng.IntN(3) {
		w.addRoute(route)
	}
}

func (w *world) addMember(lanes bool) {
	limits := core.Client{
		PartRecords: 2 + w.rng.IntN(20), PartBytes: 50 + w.rng.IntN(2000),
		MaxRecords: 4 + w.rng.IntN(40), MaxBytes: 100 + w.rng.IntN(4000),
	}
	limits.Floor = w.rng.IntN(1 + limits.PartRecords/2)
	w.members = append(w.members, &member{id: len(w.members), lanes: lanes, limits: limits})
	w.cfg.Clients = append(w.cfg.Clients, limits)
}

func (w *world) addRoute(i int) {
	r := core.Route{
		Ordering: core.Ordering(w.rng.IntN(3)),
		InPlace:  w.chance(0.4),
		Policy:   w.policy(),
	}
	if w.chance(0.2) {
		r.DeadLetters = core.DeadBlock
	} else if w.chance(0.15) {
		r.DeadLetters = core.DeadDrop
	}
	if w.chance(0.5) {
		r.TooLarge = core.TooLargeOmit
	}
	learned := map[int]bool{}
	if w.has(breakers) {
		for b := range w.downs {
			if w.chance(0.3) {
				r.Breakers = append(r.Breakers, b)
				learned[b] = true
			}
		}
	}
	w.learned = append(w.learned, learned)
	w.cfg.Routes = append(w.cfg.Routes, r)
	partitions := 1 + w.rng.IntN(3)
	name := fmt.Sprintf("t%d", i)
	w.addTopic(&topic{name: name, role: core.Source, route: i}, partitions)
	for lane, delay := range r.Policy.Lanes {
		t := &topic{name: fmt.Sprintf("%s.retry.%v", name, delay), role: core.Lane, route: i, lane: lane, delay: delay}
		w.addTopic(t, 1+w.rng.IntN(partitions))
	}
	if w.has(replays) && w.chance(0.4) {
		w.addTopic(&topic{name: name + ".replay", role: core.Replay, route: i}, 1)
	}
}

func (w *world) policy() retry.Policy {
	p := retry.Policy{
		MaxAttempts: 1 + w.rng.IntN(4),
		Initial:     time.Duration(1+w.rng.IntN(300)) * time.Millisecond,
		Multiplier:  3,
		Max:         4 * time.Second,
	}
	if w.chance(0.3) {
		p.MaxElapsed = time.Duration(1+w.rng.IntN(5000)) * time.Millisecond
	}
	if w.chance(0.3) {
		p.DisableJitter = true
	}
	if w.chance(0.6) {
		p.Lanes = retry.Lanes{50 * time.Millisecond, 700 * time.Millisecond}
	}
	return p.WithDefaults()
}

func (w *world) addTopic(t *topic, partitions int) {
	for i := range partitions {
		l := &log{topic: t, partition: int32(i), committed: -1, next: int64(w.rng.IntN(3))}
		t.logs = append(t.logs, l)
		w.logs = append(w.logs, l)
	}
	w.topics = append(w.topics, t)
}

// start makes the core of a process that begins now.
func (w *world) start() {
	w.cfg.Seed = w.rng.Uint64()
	w.core = core.New(w.cfg)
	w.stopping, w.stopped = false, false
	for _, d := range w.downs {
		*d = downstream{tickets: 1}
	}
	for i := range w.learned {
		clear(w.learned[i])
		for _, b := range w.cfg.Routes[i].Breakers {
			w.learned[i][b] = true
		}
	}
	for i, m := range w.members {
		w.members[i] = &member{id: m.id, lanes: m.lanes, limits: m.limits}
	}
	for _, l := range w.logs {
		l.operator = false
	}
}
