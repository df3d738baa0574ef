package fake

import (
	"bytes"
	"slices"
	"sort"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// partition is the log of one partition: records at growing offsets with gaps
// where markers and compacted records are.
type partition struct {
	at        client.TopicPartition
	low, high int64
	log       []entry
	open      map[*transaction]int64 // where each open transaction begins here
}

type entry struct {
	message client.Message
	in      *transaction // nil outside transactions
}

// transaction is what its records share: whether readers may see them.
type transaction struct {
	state   transactionState
	touched map[*partition]bool
}

type transactionState uint8

const (
	transactionOpen transactionState = iota
	transactionCommitted
	transactionAborted
)

// append writes one record and returns its offset.
func (p *partition) append(m client.Message, in *transaction, now time.Time, logAppend bool) int64 {
	m = clone(m)
	m.Topic, m.Partition, m.Offset = p.at.Topic, p.at.Partition, p.high
	m.LeaderEpoch = 0
	m.TimestampType = client.TimestampCreate
	if m.Timestamp == 0 {
		m.Timestamp = now.UnixMilli()
	}
	if logAppend {
		m.TimestampType, m.Timestamp = client.TimestampLogAppend, now.UnixMilli()
	}
	if in != nil {
		if _, ok := p.open[in]; !ok {
			p.open[in] = p.high
		}
		in.touched[p] = true
	}
	p.log = append(p.log, entry{message: m, in: in})
	p.high++
	return m.Offset
}

// end writes the marker that ends a transaction on every partition it touched.
func (t *transaction) end(state transactionState) {
	t.state = state
	for p := range t.touched {
		delete(p.open, t)
		p.high++
	}
}

// stable is the last stable offset: no open transaction begins before it.
func (p *partition) stable() int64 {
	stable := p.high
	for _, first := range p.open {
		stable = min(stable, first)
	}
	return stable
}

// end is where a reader of this isolation must stop.
func (p *partition) end(isolation client.Isolation) int64 {
	if isolation == client.ReadUncommitted {
		return p.high
	}
	return p.stable()
}

// index is where the first entry at or after the offset is.
func (p *partition) index(offset int64) int {
	return sort.Search(len(p.log), func(i int) bool { return p.log[i].message.Offset >= offset })
}

// read returns up to limit records from an offset on and the offset to go on
// from.
func (p *partition) read(from int64, isolation client.Isolation, limit int) ([]client.Message, int64) {
	var out []client.Message
	end := p.end(isolation)
	for i := p.index(from); i < len(p.log) && p.log[i].message.Offset < end; i++ {
		e := &p.log[i]
		if isolation == client.ReadCommitted && e.in != nil && e.in.state != transactionCommitted {
			continue
		}
		if len(out) == limit {
			return out, e.message.Offset
		}
		out = append(out, e.message)
	}
	return out, max(from, end)
}

// at or after the time, or -1.
func (p *partition) firstSince(ms int64, isolation client.Isolation) int64 {
	end := p.end(isolation)
	for i := range p.log {
		if m := &p.log[i].message; m.Offset < end && m.Timestamp >= ms {
			return m.Offset
		}
	}
	return -1
}

// trim deletes everything before an offset.
func (p *partition) trim(before int64) {
	p.low = max(p.low, min(before, p.high))
	p.log = slices.Delete(p.log, 0, p.index(p.low))
}

// clone copies all that the caller could change. Null and empty stay apart.
func clone(m client.Message) client.Message {
	m.Key, m.Value = bytes.Clone(m.Key), bytes.Clone(m.Value)
	m.Headers = cloneHeaders(m.Headers)
	return m
}

func cloneHeaders(headers []retry.Header) []retry.Header {
	if len(headers) == 0 {
		return nil
	}
	out := slices.Clone(headers)
	for i := range out {
		out[i].Value = bytes.Clone(out[i].Value)
	}
	return out
}

// size is what a record counts for, with the most that its lengths and deltas
// can take.
func size(m *client.Message) int {
	const overhead = 36
	n := len(m.Key) + len(m.Value) + overhead
	for i := range m.Headers {
		n += len(m.Headers[i].Key) + len(m.Headers[i].Value)
	}
	return n
}
