package consumer

import (
	"math/rand/v2"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// Limits of the lane client's memory. A lane partition keeps a window of what
// waits; past it the lane itself is the queue.
const (
	laneWindowRecords = 4096
	laneWindowBytes   = 1 << 20
	laneBytes         = 64 << 20
	// floorRecords is what every partition may buffer, however full its
	// client: one stuck partition cannot take the room of the others.
	floorRecords = 128
	// sourcePartRecords bounds one source partition, so that a pause and a
	// resume are seconds apart and not milliseconds.
	sourcePartRecords = 8192
)

func (rt *runtime) coreConfig() core.Config {
	cfg := core.Config{
		Slots:          rt.slots(),
		Ahead:          rt.slots() - rt.cfg.Concurrency,
		CommitInterval: rt.cfg.CommitInterval,
		CommitCount:    commitCount,
		DrainTimeout:   rt.cfg.DrainTimeout,
		StopTimeout:    rt.cfg.DrainTimeout,
		MaxUncommitted: rt.cfg.MaxUncommitted,
		Seed:           rand.Uint64(),
	}
	for _, p := range rt.pollers {
		cfg.Clients = append(cfg.Clients, rt.clientLimits(p))
	}
	for _, r := range rt.routes {
		cfg.Routes = append(cfg.Routes, core.Route{
			Ordering:    core.Ordering(r.Ordering),
			Policy:      *r.Retry,
			InPlace:     r.RetryMode == InPlace,
			Breakers:    rt.breakers.declare(r),
			DeadLetters: core.DeadLetters(r.DLQ),
			TooLarge:    core.TooLarge(r.TooLarge),
		})
	}
	return cfg
}

// slots are the workers and a few more: a run that waits for the next free
// worker spares it the way over the loop. Handlers in flight are as many as
// there are workers, whatever waits.
func (rt *runtime) slots() int { return rt.cfg.Concurrency + rt.cfg.Concurrency/4 + 1 }

// commitCount is after how many records a commit comes before its interval: a
// crash repeats no more than about a second's work of a fast consumer.
const commitCount = 200_000

func (rt *runtime) clientLimits(p *poller) core.Client {
	if p.id >= rt.cfg.Clients {
		return core.Client{
			PartRecords: laneWindowRecords, PartBytes: laneWindowBytes,
			MaxRecords: laneBytes / overhead, MaxBytes: laneBytes, Floor: floorRecords,
		}
	}
	return core.Client{
		PartRecords: min(sourcePartRecords, rt.cfg.MaxBuffered), PartBytes: rt.cfg.MaxBufferedBytes / 2,
		MaxRecords: rt.cfg.MaxBuffered, MaxBytes: rt.cfg.MaxBufferedBytes, Floor: floorRecords,
	}
}
