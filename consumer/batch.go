package consumer

import (
	"sync"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/core"
)

// arrival is a polled message on its way to the loop.
type arrival struct {
	m    client.Message
	ten  *tenure
	task *task // made by the poller for a copy; nil for a first read
}

// batch is what a poller passes to the loop at once.
type batch struct {
	arrivals [core.MaxRun]arrival
	n        int
	recs     [core.MaxRun]*core.Rec
}

// records makes the tasks that the poller did not make, and returns all.
func (b *batch) records(rt *runtime) []*core.Rec {
	for i := range b.arrivals[:b.n] {
		a := &b.arrivals[i]
		if a.task == nil {
			a.task = rt.newTask(a)
		}
		b.recs[i] = &a.task.rec
	}
	return b.recs[:b.n]
}

// newTask makes the task of an arrival: the one allocation of a record.
func (rt *runtime) newTask(a *arrival) *task {
	t := new(task)
	t.fill(&a.m, a.ten)
	rt.readHeaders(t, &a.m)
	return t
}

// batchPool keeps batches for use again.
type batchPool struct{ pool sync.Pool }

func (p *batchPool) get() *batch {
	if b, ok := p.pool.Get().(*batch); ok {
		return b
	}
	return new(batch)
}

func (p *batchPool) put(b *batch) {
	clear(b.arrivals[:b.n])
	clear(b.recs[:b.n])
	b.n = 0
	p.pool.Put(b)
}
