package core_test

import (
	"time"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// breakerChanges lets a breaker change its state.
func (w *world) breakerChanges() {
	if !w.has(breakers) {
		return
	}
	b := w.rng.IntN(len(w.downs))
	ev := core.BreakerChanged{Breaker: b, State: core.BreakerState(w.rng.IntN(3)), Tickets: 1 + w.rng.IntN(3)}
	if ev.State == core.BreakerOpen {
		ev.Until = w.now.Add(w.upTo(3 * time.Second))
	}
	w.tellBreaker(b, ev)
}

func (w *world) tellBreaker(b int, ev core.BreakerChanged) {
	w.step(nil) // what was due before does not know of it
	d := w.downs[b]
	d.state, d.until, d.tickets = ev.State, ev.Until, max(1, ev.Tickets)
	w.step(&ev)
}

// operatorActs pauses or resumes a partition or a topic.
func (w *world) operatorActs() {
	if !w.has(operators) {
		return
	}
	t := w.topics[w.rng.IntN(len(w.topics))]
	w.tellOperator(&core.OperatorPause{
		Topic: t.name, Partition: int32(w.rng.IntN(len(t.logs)+1) - 1), Paused: w.chance(0.4),
	})
}

func (w *world) tellOperator(ev *core.OperatorPause) {
	w.step(nil) // what was due before does not know of it
	for _, l := range w.logs {
		if l.topic.name == ev.Topic && (ev.Partition == -1 || ev.Partition == l.partition) {
			l.operator = ev.Paused
		}
	}
	w.step(ev)
}
