package fake

import (
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// pollWatch measures how long a member has not polled. Its timer runs only
// while the member is outside Poll, so a cluster at rest has none.
type pollWatch struct {
	inside bool
	last   time.Time // when the last poll ended, or a callback in it began
	timer  *time.Timer
}

func (w *pollWatch) enter() { w.inside = true }

func (w *pollWatch) stop() {
	w.inside = true
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// leavePoll starts the measure. The lock is held.
func (m *Consumer) leavePoll() {
	m.watch.inside, m.watch.last = false, time.Now()
	if m.group == nil || m.maxPoll <= 0 || m.closed || m.watch.timer != nil {
		return
	}
	m.arm(m.maxPoll)
}

func (m *Consumer) arm(d time.Duration) {
	m.watch.timer = time.AfterFunc(d, func() {
		m.cluster.mu.Lock()
		defer m.cluster.mu.Unlock()
		m.lapse()
	})
}

// lapse looks whether the time is really up. A poll since the timer was set
// only moves it.
func (m *Consumer) lapse() {
	m.watch.timer = nil
	if m.watch.inside || m.closed {
		return
	}
	if left := m.maxPoll - time.Since(m.watch.last); left > 0 {
		m.arm(left)
		return
	}
	m.lose(client.MaxPollExceeded)
}
