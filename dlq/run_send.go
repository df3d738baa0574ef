package dlq

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// send reads the dead letters of the plan and sends them in batches. One
// goroutine reads the next batch while another is written.
func (r *run) send(ctx context.Context) error {
	bounds, err := r.bounds(ctx)
	if err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	loads := make(chan load, 1) // one batch ahead of the writer
	read := make(chan error, 1) // the reader's end
	go func() {
		defer close(loads)
		read <- r.read(reading, bounds, loads)
	}()
	err = r.write(ctx, loads)
	stop()
	for range loads { // what was read and is not written any more
	}
	if ended := <-read; err == nil {
		err = ended
	}
	r.tell()
	return err
}

// read picks the records of the plan out of the DLQ.
func (r *run) read(ctx context.Context, bounds []Bound, loads chan<- load) error {
	p := newPicker(r.plan.Items, r.decided, r.options.Batch, func(l load) error {
		select {
		case loads <- l:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if _, err := r.cluster.scanWithin(ctx, ScanRequest{Topic: r.plan.DLQ}, bounds, p.take); err != nil {
		return err
	}
	return p.end()
}

// write writes what was read, and says that it lives while there is nothing.
func (r *run) write(ctx context.Context, loads <-chan load) error {
	ticks := time.NewTicker(leaseBeat)
	defer ticks.Stop()
	for {
		select {
		case l, more := <-loads:
			if !more {
				return nil
			}
			for _, s := range l.skipped {
				r.skip(s.reason, s.item)
			}
			if err := r.flush(ctx, l.parcels); err != nil {
				return err
			}
		case <-ticks.C:
			if r.beatDue() {
				if err := r.beat(ctx); err != nil {
					return err
				}
			}
		}
	}
}

// bounds are the first and the last offset of the plan in each partition.
func (r *run) bounds(ctx context.Context) ([]Bound, error) {
	all, err := r.cluster.scanBounds(ctx, r.plan.DLQ, r.dlq.Partitions, nil)
	if err != nil {
		return nil, err
	}
	planned := byPartition(r.plan.Items)
	bounds := make([]Bound, 0, len(planned))
	for _, b := range all {
		items := planned[b.Partition]
		if len(items) == 0 {
			continue
		}
		b.Start = max(b.Start, items[0].Offset)
		b.End = max(b.Start, min(b.End, items[len(items)-1].Offset+1))
		bounds = append(bounds, b)
	}
	return bounds, nil
}

func (r *run) skip(reason SkipReason, item Item) {
	r.result.Skips.add(reason, ID{Topic: r.plan.DLQ, Partition: item.Partition, Offset: item.Offset})
}

// flush sends a batch in one transaction. The rate is waited for before the
// transaction is begun, and once begun it is finished even if the context ends:
// an open one would hold up the readers of its targets.
func (r *run) flush(ctx context.Context, batch []parcel) error {
	if len(batch) == 0 {
		return nil
	}
	if err := r.await(ctx, len(batch)); err != nil {
		return err
	}
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	err := r.commit(work, batch)
	if client.CodeOf(err) == client.MsgSizeTooLarge {
		// The refusal does not tell which record was too large, and takes
		// its neighbours with it.
		err = r.commitEach(work, batch)
	}
	if err != nil {
		return err
	}
	r.tell()
	return nil
}

// await waits until n records may be sent, and goes on saying that it lives.
func (r *run) await(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	reserved := r.limiter.ReserveN(time.Now(), n)
	if !reserved.OK() {
		return fmt.Errorf("batch of %d records is over the rate's burst of %d", n, r.limiter.Burst())
	}
	for {
		delay := reserved.Delay()
		if delay == 0 {
			return nil
		}
		if err := pause(ctx, min(delay, leaseBeat)); err != nil {
			return err
		}
		if r.beatDue() {
			if err := r.beat(ctx); err != nil {
				return err
			}
		}
	}
}

// commit writes records and their ledger entries in one transaction.
func (r *run) commit(ctx context.Context, batch []parcel) error {
	r.sequence++
	entry := r.name + "." + strconv.Itoa(r.sequence)
	messages := make([]client.Message, 0, len(batch)+1)
	for _, p := range batch {
		replay := lineage(p.record, entry, r.plan.Cluster, r.plan.ToSource)
		messages = append(messages, replayMessage(p.record, p.item.Target, p.item.TargetPartition, replay, r.plan.Cluster))
	}
	entries, err := r.entries(entry, batch)
	if err != nil {
		return err
	}
	messages = append(messages, entries...)
	beating := r.beatDue()
	if beating {
		m, err := r.leaseMessage(false)
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	if err := r.tx.write(ctx, messages); err != nil {
		return err
	}
	if beating {
		r.beaten = time.Now()
	}
	r.result.Sent += int64(len(batch))
	for _, p := range batch {
		r.result.Settled += int64(len(p.item.Duplicates))
	}
	return nil
}

// commitEach writes each record in a transaction of its own and skips those
// that are too large even so.
func (r *run) commitEach(ctx context.Context, batch []parcel) error {
	for _, p := range batch {
		err := r.commit(ctx, []parcel{p})
		if client.CodeOf(err) == client.MsgSizeTooLarge {
			r.skip(SkipTooLarge, p.item)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entries are the decisions about a batch, one for each partition and target.
func (r *run) entries(id string, batch []parcel) ([]client.Message, error) {
	type part struct {
		partition int32
		target    string
	}
	sets := map[part]*Set{}
	var order []part
	add := func(at part, offset int64) {
		if sets[at] == nil {
			sets[at] = &Set{}
			order = append(order, at)
		}
		sets[at].Add(offset, offset)
	}
	for _, p := range batch {
		add(part{p.item.Partition, p.item.Target}, p.item.Offset)
		for _, d := range p.item.Duplicates {
			add(part{d.Partition, p.item.Target}, d.Offset)
		}
	}
	messages := make([]client.Message, 0, len(order))
	for _, at := range order {
		e := Entry{
			TopicID: r.plan.TopicID, Partition: at.partition, ID: id, State: StateReplayed,
			Ranges: sets[at].Ranges(), By: r.options.By, At: r.cluster.config.Now(),
			Why: r.options.Reason, Run: r.name, Target: at.target,
		}
		m, err := e.message(r.ledger.Topic, r.ledger.Partitions)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

func (r *run) tell() {
	if r.options.Progress != nil {
		r.options.Progress(RunProgress{
			Planned: r.result.Planned, Sent: r.result.Sent,
			Settled: r.result.Settled, Skipped: r.result.Skips.Total(),
		})
	}
}
