package fake

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// faults are what the script has ordered and what has not happened yet.
type faults struct {
	commits      []commitFault
	holdCommits  []*hold
	produce      []produceFault
	holdReports  int
	transactions []client.Error
	admin        []adminFault
}

type commitFault struct {
	code  client.Code
	parts []client.TopicPartition // empty: all, and nothing is committed
}

type produceFault struct {
	topic   string
	code    client.Code
	written bool
}

type adminFault struct {
	call AdminCall
	code client.Code
}

// hold is a gate that commits wait at.
type hold struct{ released chan struct{} }

// AdminCall names a call of [client.Admin] for [Cluster.FailAdmin].
type AdminCall string

// The calls of [client.Admin].
const (
	CallClusterID     AdminCall = "cluster id"
	CallTopics        AdminCall = "topics"
	CallDescribe      AdminCall = "describe"
	CallTopicConfig   AdminCall = "topic config"
	CallCreateTopics  AdminCall = "create topics"
	CallDeleteTopics  AdminCall = "delete topics"
	CallListOffsets   AdminCall = "list offsets"
	CallDeleteRecords AdminCall = "delete records"
	CallGroups        AdminCall = "groups"
	CallGroupOffsets  AdminCall = "group offsets"
)

// FailCommits makes the next n commits fail with this code and commit nothing.
func (c *Cluster) FailCommits(n int, code client.Code) {
	c.FailCommitsOn(n, code)
}

// FailCommitsOn makes the next n commits fail with this code for these
// partitions and commit the others. The error names no partition, as the
// library's does not. No partitions means all.
func (c *Cluster) FailCommitsOn(n int, code client.Code, parts ...client.TopicPartition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		c.faults.commits = append(c.faults.commits, commitFault{code: code, parts: parts})
	}
}

// HoldCommits keeps commits from reaching their group until release is called.
// They then still have to find their member in the generation they came from.
func (c *Cluster) HoldCommits() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &hold{released: make(chan struct{})}
	c.faults.holdCommits = append(c.faults.holdCommits, h)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if i := slices.Index(c.faults.holdCommits, h); i >= 0 {
			c.faults.holdCommits = slices.Delete(c.faults.holdCommits, i, i+1)
			close(h.released)
		}
	}
}

// FailProduce makes the next n batches to a topic fail whole with this code
// and write nothing.
func (c *Cluster) FailProduce(topic string, code client.Code, n int) {
	c.failProduce(produceFault{topic: topic, code: code}, n)
}

// LoseAcks makes the next n batches to a topic be written and reported as
// [client.MsgTimedOut].
func (c *Cluster) LoseAcks(topic string, n int) {
	c.failProduce(produceFault{topic: topic, code: client.MsgTimedOut, written: true}, n)
}

func (c *Cluster) failProduce(f produceFault, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		c.faults.produce = append(c.faults.produce, f)
	}
}

// HoldReports keeps the reports of what is written from now on, and of what is
// not reported yet, until release is called.
func (c *Cluster) HoldReports() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.holdReports++
	released := false
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !released {
			released = true
			c.faults.holdReports--
			c.notify()
		}
	}
}

// FailTransactions makes the next n calls of CommitTransaction return this
// error and do nothing.
func (c *Cluster) FailTransactions(n int, err client.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		c.faults.transactions = append(c.faults.transactions, err)
	}
}

// FailAdmin makes the next n of these calls fail with this code.
func (c *Cluster) FailAdmin(call AdminCall, code client.Code, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		c.faults.admin = append(c.faults.admin, adminFault{call: call, code: code})
	}
}

// Consumers returns a group's consumers that are not closed, in the order they
// were made. The group is the group.id of their configuration.
func (c *Cluster) Consumers(group string) []*Consumer {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*Consumer
	for _, consumer := range c.consumers {
		if consumer.groupID == group {
			out = append(out, consumer)
		}
	}
	return out
}

// Producers returns all producers that are not closed, in the order they were
// made.
func (c *Cluster) Producers() []*Producer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.producers)
}

// Rebalance makes a group rebalance although nothing changed.
func (c *Cluster) Rebalance(group string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.group(group).trigger()
}

// Take gives partitions to a member elsewhere: whoever has them is asked for
// them back.
func (c *Cluster) Take(group string, parts ...client.TopicPartition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.group(group)
	for _, part := range parts {
		g.taken[part] = true
	}
	g.trigger()
}

// GiveBack ends what Take began, for these partitions.
func (c *Cluster) GiveBack(group string, parts ...client.TopicPartition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.group(group)
	for _, part := range parts {
		delete(g.taken, part)
	}
	g.trigger()
}

// Append writes records to a partition without a producer and returns the
// offset of the first. Topic and Partition of the records are not looked at.
// It panics if there is no such partition.
func (c *Cluster) Append(at client.TopicPartition, records ...client.Message) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.must(at)
	first := p.high
	for _, record := range records {
		p.append(record, nil, time.Now(), false)
	}
	c.notify()
	return first
}

// Gap leaves n offsets of a partition without records, as transaction markers
// do. It panics if there is no such partition.
func (c *Cluster) Gap(at client.TopicPartition, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.must(at).high += int64(n)
	c.notify()
}

// Compact removes records of a partition by offset. It panics if there is no
// such partition.
func (c *Cluster) Compact(at client.TopicPartition, offsets ...int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.must(at)
	p.log = slices.DeleteFunc(p.log, func(e entry) bool { return slices.Contains(offsets, e.message.Offset) })
}

// Records returns what a reader of this isolation finds in a partition. It
// panics if there is no such partition.
func (c *Cluster) Records(at client.TopicPartition, isolation client.Isolation) []client.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.must(at)
	records, _ := p.read(p.low, isolation, len(p.log))
	return records
}

// Committed returns a group's position on a partition, or
// [client.OffsetStored] if it has none.
func (c *Cluster) Committed(group string, at client.TopicPartition) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.group(group).position(at).Offset
}

// SetCommitted sets a group's position on a partition, as another member or a
// tool would.
func (c *Cluster) SetCommitted(group string, at client.TopicPartition, offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.group(group).committed[at] = client.Offset{TopicPartition: at, Offset: offset, LeaderEpoch: client.NoLeaderEpoch}
}

func (c *Cluster) must(at client.TopicPartition) *partition {
	p := c.partition(at)
	if p == nil {
		panic(fmt.Sprintf("fake cluster has no partition %s/%d", at.Topic, at.Partition))
	}
	return p
}
