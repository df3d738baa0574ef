package breaker

import (
	"slices"
	"sync"
)

// Watch calls fn with every change from now on: each new state, and each ticket
// that a probe gave back. The end of an open time is no change; it is known
// from [Snapshot.Until].
//
// fn gets the changes in their order, one at a time, on the goroutine of a call
// that caused one, after every lock is released: it may call the breaker. What
// changes meanwhile, by fn itself or on other goroutines, is delivered by that
// same goroutine afterwards, so fn must be short. A panic in fn reaches the
// caller of Do. After stop returned no further call of fn begins; one under way
// may still end. stop may be called more than once, and from fn.
func (b *Breaker) Watch(fn func(Snapshot)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.watch.join(fn)
}

// watcher is one call of Watch. It is compared by address.
type watcher struct {
	fn func(Snapshot)
}

// change is a snapshot and those who were watching when it was taken.
type change struct {
	to       []*watcher
	snapshot Snapshot
}

// watchers delivers changes in order without holding a lock.
type watchers struct {
	mu         sync.Mutex
	all        []*watcher // replaced, never changed in place
	queue      []change
	delivering bool // a goroutine is in deliver and empties the queue
}

func (w *watchers) join(fn func(Snapshot)) (stop func()) {
	me := &watcher{fn: fn}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(slices.Clone(w.all), me)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all = slices.DeleteFunc(slices.Clone(w.all), func(x *watcher) bool { return x == me })
	}
}

// add queues a change. The caller holds the breaker's lock, so changes are
// queued in their order.
func (w *watchers) add(s Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) > 0 {
		w.queue = append(w.queue, change{to: w.all, snapshot: s})
	}
}

// deliver empties the queue, unless another goroutine, or this one further up
// its stack, is at it and will find what is queued.
func (w *watchers) deliver() {
	w.mu.Lock()
	if w.delivering || len(w.queue) == 0 {
		w.mu.Unlock()
		return
	}
	w.delivering = true
	w.mu.Unlock()

	emptied := false
	defer func() {
		if !emptied { // a watcher panicked; the rest goes with the next change
			w.mu.Lock()
			w.delivering = false
			w.mu.Unlock()
		}
	}()
	for {
		next, ok := w.next()
		if !ok {
			emptied = true
			return
		}
		for _, x := range next.to {
			if w.watches(x) {
				x.fn(next.snapshot)
			}
		}
	}
}

// next takes a change off the queue, or ends the delivery.
func (w *watchers) next() (change, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		w.queue = nil
		w.delivering = false
		return change{}, false
	}
	next := w.queue[0]
	w.queue = w.queue[1:]
	return next, true
}

func (w *watchers) watches(x *watcher) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.all, x)
}
