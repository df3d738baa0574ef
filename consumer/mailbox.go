package consumer

import (
	"sync"
	"sync/atomic"
)

// mailbox passes items from the loop to a shell without ever making the loop
// wait. What it can hold is bounded by what the core lets out, not here. Any
// goroutine may put; one takes.
type mailbox[T any] struct {
	mu    sync.Mutex // guards items
	items []T
	some  atomic.Bool   // items is not empty; read without the lock
	bell  chan struct{} // rung when something was put; capacity one
}

func newMailbox[T any]() *mailbox[T] {
	return &mailbox[T]{bell: make(chan struct{}, 1)}
}

func (m *mailbox[T]) put(item T) {
	m.mu.Lock()
	m.items = append(m.items, item)
	m.some.Store(true)
	m.mu.Unlock()
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// take returns everything, nil when there is nothing. spare is a slice the
// caller has done with.
func (m *mailbox[T]) take(spare []T) []T {
	if !m.some.Load() {
		return nil
	}
	m.mu.Lock()
	items := m.items
	clear(spare)
	m.items = spare[:0]
	m.some.Store(false)
	m.mu.Unlock()
	return items
}
