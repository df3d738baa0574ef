package dlq

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// parcel is one record that is ready to be sent.
type parcel struct {
	item   Item
	record *Record
}

// load is what was picked for one transaction, and what was skipped on the way.
type load struct {
	parcels []parcel
	skipped []skippedItem
}

type skippedItem struct {
	reason SkipReason
	item   Item
}

// picker picks the records of a plan out of the DLQ, in order within a
// partition, and packs them into loads.
type picker struct {
	pending map[int32][]Item // what is not picked yet, by offset
	decided *Ledger
	size    int // records in a load
	load    load
	send    func(load) error
}

func newPicker(items []Item, decided *Ledger, size int, send func(load) error) *picker {
	return &picker{pending: byPartition(items), decided: decided, size: size, send: send}
}

func byPartition(items []Item) map[int32][]Item {
	pending := map[int32][]Item{}
	for _, item := range items {
		pending[item.Partition] = append(pending[item.Partition], item)
	}
	return pending
}

// take takes in the next record of the DLQ.
func (p *picker) take(m *client.Message) error {
	items := p.pending[m.Partition]
	at, found := slices.BinarySearchFunc(items, m.Offset, func(i Item, offset int64) int {
		return cmp.Compare(i.Offset, offset)
	})
	p.expire(items[:at]) // the scan has passed them
	items = items[at:]
	p.pending[m.Partition] = items
	if !found {
		return nil
	}
	item := items[0]
	p.pending[m.Partition] = items[1:]
	if reason := p.refuse(item); reason != "" {
		p.load.skipped = append(p.load.skipped, skippedItem{reason, item})
		return nil
	}
	p.load.parcels = append(p.load.parcels, parcel{item: item, record: recordOf(m)})
	if len(p.load.parcels) < p.size {
		return nil
	}
	return p.flush()
}

// refuse says why an item of the plan is not sent after all: another run was
// there between the plan and us.
func (p *picker) refuse(item Item) SkipReason {
	if p.decided.State(item.Partition, item.Offset) != StateOpen {
		return SkipDecided
	}
	for _, d := range item.Duplicates {
		if p.decided.State(d.Partition, d.Offset) != StateOpen {
			return SkipDuplicate
		}
	}
	return ""
}

// expire skips items whose records are not there any more.
func (p *picker) expire(items []Item) {
	for _, item := range items {
		p.load.skipped = append(p.load.skipped, skippedItem{SkipExpired, item})
	}
}

// end sends what is left, once the scan has passed everything.
func (p *picker) end() error {
	for _, partition := range slices.Sorted(maps.Keys(p.pending)) {
		p.expire(p.pending[partition])
	}
	return p.flush()
}

func (p *picker) flush() error {
	l := p.load
	p.load = load{}
	return p.send(l)
}
