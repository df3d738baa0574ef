package consumer

import (
	goruntime "runtime"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/core"
)

const (
	// quietPoll is how long a poll waits when nothing comes. Nothing but an
	// event wakes it, so a command to the client can wait this long.
	quietPoll = 50 * time.Millisecond
	// paceFrom is how many records may be buffered before a poller rests for
	// paceRest after each batch: well under what pauses a partition, and at a
	// rest for a batch a poller still polls 100,000 records a second.
	paceFrom = 4096
	paceRest = 500 * time.Microsecond
)

// poller owns a Kafka consumer: it alone polls, pauses, stores, assigns and
// closes it. It never waits for a handler, an acknowledgement or a commit,
// except inside a rebalance callback, where the group waits for us and the
// core bounds the time.
type poller struct {
	rt       *runtime
	id       int
	name     string
	kafka    client.Consumer
	topics   []string
	commands *mailbox[core.Action]
	commits  chan struct{} // capacity one: one commit outstanding at most
	answered chan struct{} // closed when the last commit was answered

	parts   map[client.TopicPartition]*tenure
	last    client.TopicPartition // of the last record, and its tenure
	lastTen *tenure
	batch   *batch
	closing bool
	broken  bool
	rest    *time.Timer
	taken   []core.Action // commands taken from the mailbox
}

func newPoller(rt *runtime, id int, name string, kafka client.Consumer, topics []string) *poller {
	return &poller{
		rt: rt, id: id, name: name, kafka: kafka, topics: topics,
		commands: newMailbox[core.Action](),
		commits:  make(chan struct{}, 1),
		answered: make(chan struct{}),
		parts:    map[client.TopicPartition]*tenure{},
		rest:     time.NewTimer(0),
		batch:    rt.batches.get(),
	}
}

// run polls until the core says close, or the client breaks.
func (p *poller) run() {
	if err := p.kafka.Subscribe(p.topics, p.rebalance); err != nil {
		close(p.commits)
		p.breakDown(err)
		return
	}
	wait := quietPoll
	for !p.closing && !p.broken {
		p.serve()
		// A rebalance callback inside Poll passes the batch on; Poll then
		// brings nothing, so next is never written to after that.
		next := &p.batch.arrivals[p.batch.n]
		kind, err := p.kafka.Poll(wait, &next.m)
		switch kind {
		case client.Record:
			p.accept(next)
			wait = 0
		case client.Nothing:
			p.flush()
			wait = quietPoll
			if p.rt.finished() {
				p.closing = true // left behind by a shutdown that is over
			}
		case client.Failure:
			p.flush()
			p.failure(err)
			wait = quietPoll
		case client.Statistics:
			wait = 0
		}
	}
	p.leave()
}

// leave closes the client. One that broke is left as it is, and one whose
// commit is unanswered until it is answered: closing it would never return.
func (p *poller) leave() {
	close(p.commits)
	if p.broken {
		return
	}
	<-p.answered
	if err := p.kafka.Close(); err != nil {
		p.rt.log.closeFailed(p.name, err)
	}
	p.rt.send(&core.ClientClosed{Client: p.id})
}

// accept adds what was polled into the batch's next place to the batch. Copies
// are read here, where there is time; for first reads the loop makes the tasks,
// since the poll is what limits the rate.
func (p *poller) accept(a *arrival) {
	ten := p.lastTen
	if m := &a.m; m.Partition != p.last.Partition || m.Topic != p.last.Topic || ten == nil {
		p.last = client.TopicPartition{Topic: m.Topic, Partition: m.Partition}
		ten = p.parts[p.last]
		p.lastTen = ten
	}
	if ten == nil {
		return // of a partition that was just given up
	}
	a.ten = ten
	if ten.use.role != core.Source {
		a.task = p.rt.newTask(a)
	}
	p.batch.n++
	if p.batch.n == len(p.batch.arrivals) {
		p.flush()
	}
}

// flush passes the batch to the loop.
func (p *poller) flush() {
	if p.batch.n == 0 {
		return
	}
	p.rt.send(p.batch)
	p.batch = p.rt.batches.get()
	p.pace()
}

// pace lets the others have the processor. When quick handlers fall behind it
// is for want of it, and a moment's rest is cheaper than a pause, which throws
// the prefetch away. It is bounded, so slow handlers do not hold up the poll:
// for them the partitions are paused.
func (p *poller) pace() {
	goruntime.Gosched()
	if p.rt.buffered.Load() < paceFrom {
		return
	}
	p.rest.Reset(paceRest)
	select {
	case <-p.rest.C:
	case <-p.rt.over:
	}
}

// failure is an error of the client as a whole.
func (p *poller) failure(err error) {
	if client.IsFatal(err) {
		p.breakDown(err)
		return
	}
	p.rt.log.clientError(p.name, err)
}

func (p *poller) breakDown(err error) {
	p.broken = true
	p.rt.send(&core.Broke{Client: p.id, Err: &clientError{client: p.name, err: err}})
}

// serve does what the core asked for meanwhile.
func (p *poller) serve() {
	commands := p.commands.take(p.taken)
	if commands == nil {
		return
	}
	for _, command := range commands {
		p.obey(command)
	}
	p.taken = commands
}

func (p *poller) obey(command core.Action) {
	switch a := command.(type) {
	case *core.Store:
		p.store(a)
	case *core.SetPaused:
		p.setPaused(a)
	case *core.CloseClient:
		p.closing = true
	}
}

// store puts the positions into the client and lets the committer commit.
// A partition that is no longer ours is refused, and that is well.
func (p *poller) store(a *core.Store) {
	if p.closing {
		return // left over from a shutdown that is over
	}
	offsets := make([]client.Offset, len(a.Positions))
	for i, at := range a.Positions {
		offsets[i] = client.Offset{
			TopicPartition: client.TopicPartition{Topic: at.Part.Topic, Partition: at.Part.Partition},
			Offset:         at.Offset, LeaderEpoch: at.LeaderEpoch,
		}
	}
	if err := p.kafka.Store(offsets); err != nil {
		p.rt.log.storeFailed(p.name, err)
	}
	for _, o := range offsets {
		if o.Err != nil {
			p.rt.log.storeRefused(o)
		}
	}
	p.commits <- struct{}{}
}

func (p *poller) setPaused(a *core.SetPaused) {
	at := client.TopicPartition{Topic: a.Part.Topic, Partition: a.Part.Partition}
	if ten := p.parts[at]; ten == nil || ten.part != a.Part {
		return // given up meanwhile
	}
	p.pauseOrResume(at, a.Paused)
}

func (p *poller) pauseOrResume(at client.TopicPartition, paused bool) {
	call := p.kafka.Resume
	if paused {
		call = p.kafka.Pause
	}
	if err := call([]client.TopicPartition{at}); err != nil {
		p.rt.log.pauseFailed(at, err)
	}
}

// commit runs the commits of one client, one at a time. A commit blocks for
// as long as the coordinator needs, which is why it has a goroutine.
func (p *poller) commit() {
	defer close(p.answered)
	for range p.commits {
		err := p.kafka.Commit()
		if err != nil {
			p.rt.log.commitFailed(p.name, err)
		}
		p.rt.send(&core.CommitAnswered{Client: p.id, Err: err})
	}
}
