package consumer

import (
	"sync"

	"github.com/holdfast-kafka/holdfast/breaker"
	"github.com/holdfast-kafka/holdfast/internal/core"
)

// breakers numbers the breakers for the core and follows their states.
type breakers struct {
	rt *runtime

	mu      sync.Mutex // guards what follows
	numbers map[*breaker.Breaker]int
	stops   []func()
	routes  map[int][]*route // which routes declared each
}

func newBreakers(rt *runtime) *breakers {
	return &breakers{rt: rt, numbers: map[*breaker.Breaker]int{}, routes: map[int][]*route{}}
}

// declare numbers the breakers a route names.
func (b *breakers) declare(r *route) []int {
	numbers := make([]int, len(r.Breakers))
	for i, br := range r.Breakers {
		numbers[i] = b.number(br)
		b.mu.Lock()
		b.routes[numbers[i]] = append(b.routes[numbers[i]], r)
		b.mu.Unlock()
	}
	return numbers
}

// number returns a breaker's number and begins to follow it when it is new.
func (b *breakers) number(br *breaker.Breaker) int {
	b.mu.Lock()
	n, known := b.numbers[br]
	if !known {
		n = len(b.numbers)
		b.numbers[br] = n
	}
	b.mu.Unlock()
	if known {
		return n
	}
	f := &follower{breakers: b, number: n}
	stop := br.Watch(f.changed)
	b.mu.Lock()
	b.stops = append(b.stops, stop)
	b.mu.Unlock()
	f.changed(br.State())
	return n
}

// stop ends the following.
func (b *breakers) stop() {
	b.mu.Lock()
	stops := b.stops
	b.stops = nil
	b.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// follower passes one breaker's changes on to the core.
type follower struct {
	breakers *breakers
	number   int

	mu      sync.Mutex // guards what follows
	tickets int        // the probes a half-open period allows, as learned when it opened
	gating  bool
}

func (f *follower) changed(s breaker.Snapshot) {
	f.mu.Lock()
	ev := &core.BreakerChanged{Breaker: f.number, Tickets: f.tickets}
	switch s.State {
	case breaker.Closed:
		ev.State = core.BreakerClosed
	case breaker.Open:
		f.tickets = s.Probes
		ev.State, ev.Tickets = core.BreakerOpen, s.Probes
		ev.Until = f.breakers.rt.clock.instant(s.Until)
	case breaker.HalfOpen:
		ev.State = core.BreakerHalfOpen
	}
	f.mu.Unlock()
	// The core knows before the workers do, or it would hand them again what
	// they give back.
	f.breakers.rt.send(ev)
	f.gate(s.State != breaker.Closed)
}

// gate tells workers in the middle of a run whether to go on.
func (f *follower) gate(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gating == on {
		return
	}
	f.gating = on
	delta := int32(1)
	if !on {
		delta = -1
	}
	f.breakers.mu.Lock()
	defer f.breakers.mu.Unlock()
	for _, r := range f.breakers.routes[f.number] {
		r.gated.Add(delta)
	}
}
