package fake

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// batchOverhead is what a batch takes besides its records.
const batchOverhead = 61

// batch is what was sent together and is reported together.
type batch struct {
	reports []client.Report
	due     time.Time
	purged  bool // given up by the client itself: nothing holds its reports
}

// run sends batches and delivers reports until Close.
func (p *Producer) run() {
	defer close(p.done)
	for {
		reports, troubles, wait, done := p.step(time.Now())
		for i := range troubles {
			if p.config.OnError != nil {
				p.config.OnError(&troubles[i])
			}
		}
		if len(reports) > 0 {
			p.deliver(reports)
			continue
		}
		if done {
			return
		}
		p.rest(wait)
	}
}

// rest waits for a wake, or as long as given. A wait without end has no timer:
// it would let virtual time run away instead of showing a deadlock.
func (p *Producer) rest(wait time.Duration) {
	if wait == longest {
		<-p.wake
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.wake:
	case <-timer.C:
	}
}

func (p *Producer) deliver(reports []client.Report) {
	if p.config.OnReports != nil {
		p.config.OnReports(reports)
	}
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	p.outstanding -= len(reports)
	close(p.settled)
	p.settled = make(chan struct{})
}

// step does what is due and tells how long until there is more.
func (p *Producer) step(now time.Time) (reports []client.Report, troubles []client.Error, wait time.Duration, done bool) {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	wait = longest
	if p.closed || p.fatal != nil {
		reports = p.purge()
	} else {
		p.send(now, &wait)
		reports = p.land(now, &wait)
	}
	troubles, p.troubles = p.troubles, nil
	return reports, troubles, wait, p.closed && len(reports) == 0
}

// purge reports all that is outstanding as given up. What was in flight may
// have been written.
func (p *Producer) purge() []client.Report {
	var reports []client.Report
	for _, at := range sortedKeys(p.flying) {
		reports = append(reports, failed(p.flying[at].reports, p.given(client.PurgeInflight))...)
	}
	for _, at := range sortedKeys(p.waiting) {
		reports = append(reports, failed(reportsOf(at, p.waiting[at]), p.given(client.PurgeQueue))...)
	}
	clear(p.flying)
	clear(p.waiting)
	return reports
}

func (p *Producer) given(code client.Code) *client.Error {
	if p.fatal != nil {
		return &client.Error{Code: p.fatal.Code, Text: p.fatal.Text, Fatal: true}
	}
	return fail(code, "given up")
}

// send forms a batch for each partition that has none in flight and has waited
// long enough, and writes it.
func (p *Producer) send(now time.Time, wait *time.Duration) {
	for _, at := range sortedKeys(p.waiting) {
		if p.flying[at] != nil {
			continue
		}
		queue := p.waiting[at]
		if left := p.linger - now.Sub(queue[0].since); left > 0 && p.flushing == 0 {
			*wait = min(*wait, left)
			continue
		}
		n, bytes := p.cut(queue)
		p.flying[at] = p.write(at, queue[:n], bytes, now)
		if p.waiting[at] = queue[n:]; n == len(queue) {
			delete(p.waiting, at)
		}
	}
}

// cut says how much of a queue is one batch: at least one message, whatever
// its size, and of one transaction.
func (p *Producer) cut(queue []pending) (n, bytes int) {
	bytes = batchOverhead
	for n < len(queue) && queue[n].in == queue[0].in {
		next := size(&queue[n].message)
		if n > 0 && bytes+next > p.maxBatch {
			break
		}
		bytes += next
		n++
	}
	return n, bytes
}

// write decides what becomes of a batch and appends it.
func (p *Producer) write(at client.TopicPartition, messages []pending, bytes int, now time.Time) *batch {
	b := &batch{reports: reportsOf(at, messages), due: now.Add(draw(p.rng, p.cluster.config.Delays.Report))}
	fault, found := p.cluster.produceFault(at.Topic)
	log := p.cluster.partition(at)
	var err *client.Error
	switch {
	case p.fenced(messages[0].in):
		err = &client.Error{Code: client.Fenced, Text: "a newer producer has this transactional id", Fatal: true}
		p.fail(*err)
	case found && !fault.written:
		err = fail(fault.code, "batch to %s/%d refused", at.Topic, at.Partition)
	case p.cluster.topics[at.Topic] == nil:
		b.due = now.Add(p.patience)
		err = fail(client.UnknownTopicOrPartition, "topic %s does not exist", at.Topic)
	case log == nil:
		err = fail(client.UnknownPartition, "%s has no partition %d", at.Topic, at.Partition)
	case bytes > p.cluster.maxBatch(at.Topic):
		err = fail(client.MsgSizeTooLarge, "batch of %d bytes to %s/%d", bytes, at.Topic, at.Partition)
	default:
		p.append(log, messages, b, now)
		if found {
			err = fail(fault.code, "batch to %s/%d not acknowledged", at.Topic, at.Partition)
		}
	}
	if p.cluster.topics[at.Topic] != nil {
		p.known[at.Topic] = true
	}
	if err != nil {
		failed(b.reports, err)
		if p.transactor != nil {
			p.transactor.failed = err
		}
	}
	return b
}

func (p *Producer) append(log *partition, messages []pending, b *batch, now time.Time) {
	logAppend := p.cluster.topics[log.at.Topic].config["message.timestamp.type"] == "LogAppendTime"
	for i := range messages {
		b.reports[i].Offset = log.append(messages[i].message, messages[i].in, now, logAppend)
	}
	p.cluster.notify()
}

// land collects the reports that are due.
func (p *Producer) land(now time.Time, wait *time.Duration) []client.Report {
	held := p.cluster.faults.holdReports > 0 // the release wakes us
	var reports []client.Report
	for _, at := range sortedKeys(p.flying) {
		b := p.flying[at]
		if !b.purged && held {
			continue
		}
		if left := b.due.Sub(now); !b.purged && left > 0 {
			*wait = min(*wait, left)
			continue
		}
		reports = append(reports, b.reports...)
		delete(p.flying, at)
	}
	return reports
}

func (p *Producer) fenced(in *transaction) bool {
	return p.transactor != nil && (p.transactor.fenced || in.state != transactionOpen)
}

// produceFault takes the first fault ordered for a topic.
func (c *Cluster) produceFault(topic string) (produceFault, bool) {
	for i, fault := range c.faults.produce {
		if fault.topic == topic {
			c.faults.produce = slices.Delete(c.faults.produce, i, i+1)
			return fault, true
		}
	}
	return produceFault{}, false
}

func (c *Cluster) maxBatch(topic string) int {
	return number(c.topics[topic].config, "max.message.bytes", 1_048_588)
}

func reportsOf(at client.TopicPartition, messages []pending) []client.Report {
	reports := make([]client.Report, len(messages))
	for i := range messages {
		reports[i] = client.Report{Tag: messages[i].tag, Partition: at.Partition, Offset: -1}
	}
	return reports
}

func failed(reports []client.Report, err *client.Error) []client.Report {
	for i := range reports {
		reports[i].Err = err
	}
	return reports
}

func sortedKeys[V any](m map[client.TopicPartition]V) []client.TopicPartition {
	return slices.SortedFunc(maps.Keys(m), compareParts)
}
