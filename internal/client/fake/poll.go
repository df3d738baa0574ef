package fake

import (
	"slices"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// Poll serves what the group or the script wants told first, then records in
// the order they were fetched.
func (m *Consumer) Poll(timeout time.Duration, into *client.Message) (client.EventKind, error) {
	if err := m.begin(); err != nil {
		return client.Failure, err
	}
	defer m.end()
	deadline := time.Now().Add(timeout)
	for {
		kind, callback, wait, err := m.next(time.Now(), into)
		if callback != nil {
			callback()
			return client.Nothing, nil
		}
		if kind != client.Nothing {
			return kind, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return client.Nothing, nil
		}
		m.sleep(min(left, wait))
	}
}

func (m *Consumer) begin() error {
	defer m.enter("Poll")()
	switch {
	case m.closed:
		return fail(client.State, "poll after close")
	case m.serving:
		return fail(client.State, "poll inside a rebalance callback")
	}
	m.busy = true
	m.watch.enter()
	return nil
}

func (m *Consumer) end() {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	m.busy = false
	m.leavePoll()
}

func (m *Consumer) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-m.wake:
	case <-timer.C:
	}
}

// longest is a wait that a wake always ends.
const longest = time.Duration(1<<63 - 1)

// next finds what there is now, or how long to wait for what will be.
func (m *Consumer) next(now time.Time, into *client.Message) (kind client.EventKind, callback func(), wait time.Duration, err error) {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	if len(m.ops) == 0 {
		wait = m.fill(now)
	}
	if len(m.ops) > 0 {
		o := m.ops[0]
		m.ops = m.ops[1:]
		if o.failure != nil {
			m.fatal = m.fatal || o.failure.Fatal
			return client.Failure, nil, 0, o.failure
		}
		return client.Nothing, func() { m.serve(o) }, 0, nil
	}
	if m.interval > 0 && !now.Before(m.nextStats) {
		m.nextStats = now.Add(m.interval)
		*into = client.Message{Value: m.statistics()}
		return client.Statistics, nil, 0, nil
	}
	if len(m.queue) > 0 {
		*into = m.take()
		return client.Record, nil, 0, nil
	}
	if m.interval > 0 {
		wait = min(wait, m.nextStats.Sub(now))
	}
	return client.Nothing, nil, wait, nil
}

// take hands the head of the queue over, which is what moves the position.
func (m *Consumer) take() client.Message {
	record := m.queue[0]
	m.queue = m.queue[1:]
	m.queueBytes -= size(&record)
	m.delivered++
	if claim := m.claims[client.TopicPartition{Topic: record.Topic, Partition: record.Partition}]; claim != nil {
		claim.app = record.Offset + 1
	}
	return record
}

// serve runs the callback of a rebalance outside the lock, answers for it if
// it did not, and tells the group.
func (m *Consumer) serve(o op) {
	m.cluster.mu.Lock()
	r := *o.rebalance
	r.Lost = r.Kind == client.Revoked && m.lost
	if o.lost {
		r.Partitions = m.assigned()
	}
	skip := o.lost && len(r.Partitions) == 0
	m.serving, m.answered, m.busy = true, false, false
	m.leavePoll()
	callback := m.callback
	m.cluster.mu.Unlock()

	if callback != nil && !skip {
		callback(r)
	}

	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	if !m.answered {
		m.answer(r)
	}
	m.serving, m.busy = false, true
	m.stop()
	m.settle(o, r)
}

// stop throws all prefetch away: a rebalance pauses every partition.
func (m *Consumer) stop() {
	for _, part := range m.assigned() {
		m.refetch(part)
	}
}

func (m *Consumer) answer(r client.Rebalance) {
	if r.Kind == client.Assigned {
		if !m.incremental() {
			m.drop(m.assigned())
		}
		for _, part := range r.Partitions {
			m.claim(unset(part))
		}
		return
	}
	m.drop(r.Partitions)
}

// settle tells the group that a rebalance was served.
func (m *Consumer) settle(o op, r client.Rebalance) {
	if o.lost {
		m.lost, m.member = false, true
		m.group.join(m)
		return
	}
	if !m.member {
		return
	}
	if r.Kind == client.Revoked {
		m.group.release(m, r.Partitions)
	}
	m.group.answered(m)
}

// Close runs the callback for what is assigned, leaves the group and frees the
// client.
func (m *Consumer) Close() error {
	if stop, err := m.beginClose(); stop {
		return err
	}
	if o, ok := m.farewell(); ok {
		m.serve(o)
	}
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	m.busy = false
	m.depart()
	return nil
}

// depart takes the client out of everything. The lock is held.
func (m *Consumer) depart() {
	m.closed = true
	m.drop(m.assigned())
	m.watch.stop()
	if m.member {
		m.member = false
		m.group.remove(m)
	}
	m.cluster.consumers = slices.DeleteFunc(m.cluster.consumers, func(other *Consumer) bool { return other == m })
}

func (m *Consumer) beginClose() (stop bool, err error) {
	defer m.enter("Close")()
	if m.closed {
		return true, nil
	}
	if m.fatal {
		m.depart()
		return true, fail(client.State, "not closed after a fatal error")
	}
	if commits := m.commits; commits > 0 {
		m.cluster.mu.Unlock()
		m.cluster.misusef("Close of consumer %s during a commit, which would never return", m.name)
		m.cluster.mu.Lock()
	}
	m.busy = true
	return false, nil
}

// farewell is the last rebalance of a member that leaves.
func (m *Consumer) farewell() (op, bool) {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	parts := m.assigned()
	if m.group == nil || len(parts) == 0 {
		return op{}, false
	}
	m.leaving = true
	if m.group.joining {
		// It is joining again already, and has let go of everything inside.
		m.drop(parts)
	}
	return rebalanceOp(client.Revoked, parts), true
}
