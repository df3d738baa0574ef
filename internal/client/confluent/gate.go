//go:build cgo

package confluent

import "sync"

// gate keeps calls out of a client that is being destroyed: the binding checks
// whether it is closed and then uses freed memory if it is closed meanwhile.
// The zero value is open.
type gate struct {
	mu     sync.Mutex
	users  int
	closed bool
	idle   chan struct{} // made by shut, closed by the last user
}

// enter admits a call unless the gate is shut. An admitted call must leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.users++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users--
	if g.closed && g.users == 0 {
		close(g.idle)
	}
}

// shut refuses every later call and waits for those inside. It reports whether
// this call was the one that shut it.
func (g *gate) shut() bool {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return false
	}
	g.closed = true
	g.idle = make(chan struct{})
	if g.users == 0 {
		close(g.idle)
	}
	g.mu.Unlock()
	<-g.idle
	return true
}
