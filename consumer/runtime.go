package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/core"
)

// eventBuffer lets the shells run ahead of the loop a little; full, they wait.
const eventBuffer = 16

// ballastBytes are allocated while a consumer runs and never touched, so they
// take address space and no memory. Reading Kafka makes garbage at hundreds of
// megabytes a second, nearly all of it dead at once; a program whose heap is
// otherwise small would collect it 4 MB at a time, a hundred times a second.
const ballastBytes = 16 << 20

// runtime is a consumer while it runs: the core and its shells.
type runtime struct {
	cfg      Config
	name     string // this member, on copies
	cluster  string
	uses     map[string]topicUse
	routes   []*route
	log      *reporter
	clock    clock
	base     attemptBase // the values of Run's context, for handlers
	epochs   atomic.Uint64
	buffered atomic.Int64 // records in memory; written by the loop, read by pollers

	core     *core.Core
	events   chan any       // core.Event, or *batch from a poller
	results  chan *core.Run // runs that are done; capacity: the core's slots, so that no worker waits
	work     chan *core.Run // capacity: the core's slots, so that the loop never waits
	unbegun  []*core.Run    // taken back by the loop, to be given to the core
	done     core.Finished  // the loop's event for a run, used again and again
	over     chan struct{}  // closed when the core stopped
	batches  batchPool
	workers  []*worker
	pollers  []*poller
	pub      *publisher
	admin    client.Admin
	breakers *breakers
	report   core.StopReport
	running  sync.WaitGroup // all goroutines but the pollers
	polling  sync.WaitGroup // the pollers: one may hang in Close for ever
	ballast  []byte         // see ballastBytes
}

// send brings an event or a batch to the loop. Once the runtime is over it is
// dropped.
func (rt *runtime) send(ev any) {
	select {
	case rt.events <- ev:
	case <-rt.over:
	}
}

// finished reports that the runtime is over.
func (rt *runtime) finished() bool {
	select {
	case <-rt.over:
		return true
	default:
		return false
	}
}

// loop owns the core: it alone steps it, until it stopped.
func (rt *runtime) loop(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	armed := core.Never
	ended := ctx.Done()
	for {
		select {
		case ev := <-rt.events:
			rt.accept(ev)
		case run := <-rt.results:
			rt.take(run)
			for n := len(rt.results); n > 0 && !rt.finished(); n-- {
				rt.take(<-rt.results)
			}
		case <-timer.C:
			armed = core.Never
			rt.step(nil)
		case <-ended:
			ended = nil
			rt.step(&core.StopAsked{})
		}
		if rt.finished() {
			return
		}
		if next := rt.core.Next(); next != armed {
			armed = next
			timer.Reset(max(0, next.Sub(rt.clock.now())))
		}
	}
}

// take gives the core a run that is done. What the workers did to breakers
// meanwhile was sent before, and the core must know it first.
func (rt *runtime) take(run *core.Run) {
	for n := len(rt.events); n > 0 && !rt.finished(); n-- {
		rt.accept(<-rt.events)
	}
	if !rt.finished() {
		rt.done.Run = run
		rt.step(&rt.done)
	}
}

// accept steps the core with what was sent.
func (rt *runtime) accept(sent any) {
	switch s := sent.(type) {
	case *batch:
		rt.step(&core.Arrived{Recs: s.records(rt)})
		rt.batches.put(s)
	case core.Event:
		rt.step(s)
	}
}

func (rt *runtime) step(ev core.Event) {
	actions := rt.core.Step(rt.clock.now(), ev)
	rt.buffered.Store(int64(rt.core.Buffered()))
	for _, action := range actions {
		rt.perform(action)
	}
	for len(rt.unbegun) > 0 {
		run := rt.unbegun[0]
		rt.unbegun = rt.unbegun[1:]
		rt.step(&core.Finished{Run: run})
	}
}

// perform does what the core wants. Nothing here waits.
func (rt *runtime) perform(action core.Action) {
	switch a := action.(type) {
	case *core.Dispatch:
		rt.work <- a.Run
	case *core.Publish:
		rt.pub.copies.put(a)
	case *core.Store:
		rt.pollers[a.Client].commands.put(a)
	case *core.SetPaused:
		rt.pollers[a.Client].commands.put(a)
	case *core.FinishAssign:
		rt.pollers[a.Client].commands.put(a)
	case *core.FinishRevoke:
		rt.pollers[a.Client].commands.put(a)
	case *core.CloseClient:
		rt.pollers[a.Client].commands.put(a)
	case *core.Bar:
		tenureOf(a.Part).barred.Store(true)
		rt.takeBack(a.Part)
	case *core.Cancel:
		rt.cancel(a)
	case *core.Notice:
		rt.log.notice(a)
	case *core.Stopped:
		rt.report = a.Report
		close(rt.over)
	}
}

func tenureOf(p *core.Part) *tenure {
	ten, _ := p.Handle.(*tenure)
	return ten
}

// takeBack takes the runs of a partition that wait for a free worker: whoever
// waits for the partition must not wait for the workers of others.
func (rt *runtime) takeBack(part *core.Part) {
	for range len(rt.work) {
		select {
		case run := <-rt.work:
			if run.Part == part {
				rt.unbegun = append(rt.unbegun, run)
				continue
			}
			rt.work <- run // there is room: only the loop sends
		default:
			return
		}
	}
}

// cancel ends the running attempts of a partition. A worker announces an
// attempt before it looks at the tenure's cause, and the cause is set before
// the announcements are read, so none is missed.
func (rt *runtime) cancel(a *core.Cancel) {
	ten := tenureOf(a.Part)
	cause := ErrRevoked
	if a.Cause == core.CauseShutdown {
		cause = ErrStopping
	}
	ten.cancel(cause)
	for _, w := range rt.workers {
		if t := w.running.Load(); t != nil && t.tenure == ten {
			t.attempt.end(cause)
		}
	}
}

// startWorker runs a worker, again after a handler ended its goroutine.
func (rt *runtime) startWorker(w *worker) {
	rt.running.Go(func() {
		defer w.lastRites()
		w.run()
	})
}

// start makes and starts the shells. On an error nothing is left running.
func (rt *runtime) start() error {
	clients, err := rt.makeClients()
	if err != nil {
		return err
	}
	rt.pollers = clients
	rt.ballast = make([]byte, ballastBytes)
	rt.core = core.New(rt.coreConfig())
	rt.work = make(chan *core.Run, rt.slots())
	rt.results = make(chan *core.Run, rt.slots())
	for range rt.cfg.Concurrency {
		w := &worker{rt: rt}
		rt.workers = append(rt.workers, w)
		rt.startWorker(w)
	}
	rt.running.Go(rt.pub.run)
	for _, p := range rt.pollers {
		rt.polling.Go(p.run)
		rt.polling.Go(p.commit)
	}
	return nil
}

// makeClients makes the source clients and the lane client.
func (rt *runtime) makeClients() ([]*poller, error) {
	var made []*poller
	add := func(name string, config client.Config, topics []string) error {
		kafka, err := rt.cfg.library.Consumer(config)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		made = append(made, newPoller(rt, len(made), name, kafka, topics))
		return nil
	}
	var err error
	for i := 0; i < rt.cfg.Clients && err == nil; i++ {
		err = add(fmt.Sprintf("source client %d", i), rt.cfg.sourceClient(i), rt.cfg.sourceTopics())
	}
	if lanes := rt.laneTopics(); len(lanes) > 0 && err == nil {
		err = add("lane client", rt.cfg.laneClient(), lanes)
	}
	if err == nil {
		return made, nil
	}
	for _, p := range made {
		err = errors.Join(err, p.kafka.Close())
	}
	return nil, err
}

// laneTopics are the names in uses that are read by the lane client.
func (rt *runtime) laneTopics() []string {
	var existing []string
	for name := range rt.uses {
		existing = append(existing, name)
	}
	return rt.cfg.laneTopics(existing)
}

// stop ends what the core's shutdown leaves: workers, publisher, breakers. It
// waits for no handler and no client that hangs.
func (rt *runtime) stop() {
	rt.breakers.stop()
	rt.ballast = nil
	close(rt.work)
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	if waitFor(&rt.running, patience) {
		waitFor(&rt.polling, patience)
	}
}

// stopPatience bounds the waiting for goroutines that have nothing left to do
// but end. Those that hang were named in the report.
const stopPatience = time.Second

// waitFor reports whether a group ended before the patience did.
func waitFor(group *sync.WaitGroup, patience *time.Timer) bool {
	ended := make(chan struct{})
	go func() {
		group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-patience.C:
		return false
	}
}
