package consumer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/holdfast-kafka/holdfast/dlq"
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

// alonePatience bounds the waiting for others before and after a copy that is
// to be written alone.
const alonePatience = 10 * time.Second

// publisher writes copies to lanes and dead-letter topics. It owns the
// producer, and makes a new one when the old one is of no more use.
type publisher struct {
	rt       *runtime
	copies   *mailbox[*core.Publish]
	producer client.Producer
	config   client.Config
	broken   atomic.Bool    // a fatal error was reported: the next copy needs a new producer
	targets  map[string]int // partitions of the topics written to
	taken    []*core.Publish
}

func newPublisher(rt *runtime, config client.Config, targets map[string]int) *publisher {
	return &publisher{rt: rt, copies: newMailbox[*core.Publish](), config: config, targets: targets}
}

// run writes what the core asks for until the runtime is over.
func (p *publisher) run() {
	for {
		select {
		case <-p.copies.bell:
		case <-p.rt.over:
			p.close()
			return
		}
		for batch := p.copies.take(p.taken); batch != nil; batch = p.copies.take(nil) {
			for _, what := range batch {
				p.write(what)
			}
			p.taken = batch
		}
	}
}

func (p *publisher) close() {
	if p.producer != nil {
		if err := p.producer.Close(); err != nil {
			p.rt.log.closeFailed("producer", err)
		}
	}
}

// write hands one copy to the producer. Its fate comes as a report.
func (p *publisher) write(what *core.Publish) {
	t, _ := what.Rec.Payload.(*task)
	alone := what.Alone // what is the core's again as soon as its report is out
	m, err := p.message(t, what)
	if err == nil {
		err = p.ready()
	}
	if err == nil && alone {
		p.wait()
	}
	if err == nil {
		err = p.producer.Produce(m, what.Rec)
	}
	if err != nil {
		p.rt.log.publishFailed(t, p.topic(t, what), err)
		p.rt.send(&core.Published{Acks: []core.Ack{{Rec: what.Rec, Result: resultOf(err)}}})
		return
	}
	if alone {
		p.wait()
	}
}

// ready sees to a producer that works.
func (p *publisher) ready() error {
	if p.producer != nil && !p.broken.Load() {
		return nil
	}
	if p.producer != nil {
		// What it still has is reported as failed and published again, with
		// the same hop, which tells a reader what it is.
		p.close()
		p.producer = nil
	}
	p.broken.Store(false)
	producer, err := p.rt.cfg.library.Producer(client.ProducerConfig{
		Config: p.config, OnReports: p.reported, OnError: p.failed,
	})
	if err != nil {
		return err
	}
	p.producer = producer
	return nil
}

func (p *publisher) wait() {
	ctx, cancel := context.WithTimeout(context.Background(), alonePatience)
	defer cancel()
	if err := p.producer.Flush(ctx); err != nil {
		p.rt.log.flushFailed(err)
	}
}

// reported passes the fates of copies to the core.
func (p *publisher) reported(reports []client.Report) {
	acks := make([]core.Ack, len(reports))
	for i, r := range reports {
		rec, _ := r.Tag.(*core.Rec)
		acks[i] = core.Ack{Rec: rec, Result: resultOf(r.Err)}
		if r.Err != nil {
			t, _ := rec.Payload.(*task)
			p.noteFatal(r.Err)
			p.rt.log.publishFailed(t, "", r.Err)
		}
	}
	p.rt.send(&core.Published{Acks: acks})
}

func (p *publisher) failed(err *client.Error) {
	p.noteFatal(err)
	p.rt.log.clientError("producer", err)
}

func (p *publisher) noteFatal(err error) {
	if client.IsFatal(err) {
		p.broken.Store(true)
	}
}

// resultOf judges by the error's code: the library's own "retriable" is false
// for nearly every error.
func resultOf(err error) core.PublishResult {
	switch {
	case err == nil:
		return core.PublishAcked
	case client.CodeOf(err) == client.MsgSizeTooLarge:
		return core.PublishTooLarge
	default:
		return core.PublishFailed
	}
}

func (p *publisher) topic(t *task, what *core.Publish) string {
	topic := t.tenure.use.origin
	if what.Target == core.ToDeadLetters {
		return retry.DLQTopic(topic, p.rt.cfg.Group)
	}
	return retry.LaneTopic(topic, p.rt.cfg.Group, t.tenure.route.Retry.Lanes[what.Lane])
}

// message makes the copy. Key, value and the user's headers go byte for byte.
func (p *publisher) message(t *task, what *core.Publish) (*client.Message, error) {
	topic := p.topic(t, what)
	partitions, err := p.partitions(topic)
	if err != nil {
		return nil, err
	}
	now := p.rt.clock.wall().UnixMilli()
	stamp := t.nextStamp(p.rt, what, now)
	m := &client.Message{
		Topic: topic, Partition: stamp.Meta.Origin.Partition % int32(partitions), Timestamp: now,
		Key: t.record.Key, Value: t.record.Value,
	}
	user := t.record.Headers
	if what.Omit && what.Target == core.ToDeadLetters {
		m.Key, m.Value, user = nil, nil, nil
	}
	m.Headers = retry.Encode(user, stamp)
	return m, nil
}

// partitions returns how many a target has.
func (p *publisher) partitions(topic string) (int, error) {
	if n := p.targets[topic]; n > 0 {
		return n, nil
	}
	n, err := p.rt.countPartitions(topic)
	if err != nil {
		return 0, err
	}
	p.targets[topic] = n
	return n, nil
}

// nextStamp says on a copy what became of its record. Made again for a copy
// that is written again, it is the same, hop included.
func (t *task) nextStamp(rt *runtime, what *core.Publish, now int64) retry.Stamp {
	s := retry.Stamp{Kind: retry.StampLane, Count: int(what.Rec.Attempts)}
	if t.stamp != nil {
		s.Meta = t.stamp.Meta
	}
	m := &s.Meta
	m.Group, m.Cluster, m.Client = rt.cfg.Group, rt.cluster, rt.name
	m.Origin = t.origin()
	m.Hop++
	if f := t.failed; f != nil {
		for _, failure := range f.attempts {
			*m = m.WithFailure(failure)
		}
		m.ErrorType, m.Error, m.Stack = errorType(f.err), f.err.Error(), string(f.stack)
	}
	if what.Target == core.ToDeadLetters {
		s.Kind = retry.StampDeadLetter
		s.Disposition = what.Disposition
		s.Fingerprint = dlq.Fingerprint(m.ErrorType, m.Error, m.Stack)
		return s
	}
	m.Held = what.Rec.Held.Milliseconds()
	if !what.Charged {
		m.Parked++
		m.Held += what.Wait.Milliseconds()
	}
	s.Due = now + (what.Wait.Nanoseconds()+999_999)/1_000_000
	return s
}
