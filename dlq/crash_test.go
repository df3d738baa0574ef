package dlq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

var errKilled = errors.New("killed")

// mortal is a library whose transactional producer dies at its n-th call, as
// if the process were killed there: with the call done or not done, and
// nothing after it.
type mortal struct {
	client.Library

	at    int  // the call to die at, counted from 1
	after bool // die when the call is done instead of before
	dead  bool // it died
	calls []string
}

type mortalTransactor struct {
	client.Transactor

	life *mortal
}

func (m *mortal) Transactor(config client.ProducerConfig) (client.Transactor, error) {
	tx, err := m.Library.Transactor(config)
	return &mortalTransactor{Transactor: tx, life: m}, err
}

// live makes a call unless the process is dead.
func (m *mortal) live(name string, call func() error) error {
	if m.dead {
		return errKilled
	}
	m.calls = append(m.calls, name)
	if len(m.calls) < m.at {
		return call()
	}
	m.dead = true
	if m.after {
		if err := call(); err != nil {
			return err
		}
	}
	return errKilled
}

func (t *mortalTransactor) Init(ctx context.Context) error {
	return t.life.live("init", func() error { return t.Transactor.Init(ctx) })
}

func (t *mortalTransactor) Begin() error { return t.life.live("begin", t.Transactor.Begin) }

func (t *mortalTransactor) Produce(m *client.Message, tag any) error {
	return t.life.live("produce to "+m.Topic, func() error { return t.Transactor.Produce(m, tag) })
}

func (t *mortalTransactor) CommitTransaction(ctx context.Context) error {
	return t.life.live("commit", func() error { return t.Transactor.CommitTransaction(ctx) })
}

func (t *mortalTransactor) AbortTransaction(ctx context.Context) error {
	return t.life.live("abort", func() error { return t.Transactor.AbortTransaction(ctx) })
}

// A run that is killed at any step, whatever it had done by then, is carried on
// by the next one: a reader of committed records sees each record once.
func TestExactlyOnceWhenKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	const letters, workers = 5, 8
	type death struct {
		at    int
		after bool
	}
	deaths := make(chan death)
	var wait sync.WaitGroup
	var mu sync.Mutex
	survived := false // guarded by mu: a run ended before it was to die
	for range workers {
		wait.Go(func() {
			for d := range deaths {
				t.Run(fmt.Sprintf("call %d after %v", d.at, d.after), func(t *testing.T) {
					b := newBed(t)
					b.write(letters)
					life := &mortal{Library: quiet(), at: d.at, after: d.after}
					_, err := replayAll(t.Context(), b.open(life), b.dlq, ReplayOptions{Batch: 2, By: "first"})
					if !life.dead && err == nil {
						mu.Lock()
						survived = true
						mu.Unlock()
					} else if !errors.Is(err, errKilled) {
						t.Fatalf("run that dies at %v: %v", life.calls, err)
					}
					if _, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{Batch: 2, By: "second", Takeover: true}); err != nil {
						t.Fatal(err)
					}
					expectOnce(t, b, letters, life.calls)
				})
			}
		})
	}
	for at := 1; ; at++ {
		for _, after := range []bool{false, true} {
			deaths <- death{at, after}
		}
		mu.Lock()
		done := survived
		mu.Unlock()
		if done || at > 100 {
			break
		}
	}
	close(deaths)
	wait.Wait()
	if !survived {
		t.Error("no run came to its end: not every step was tried")
	}
}

// expectOnce checks that each letter was sent once, that each is replayed in
// the ledger, and that a further replay sends nothing.
func expectOnce(t *testing.T, b *bed, letters int, calls []string) {
	t.Helper()
	seen := map[int64]int{}
	for _, r := range b.read(b.lane) {
		seen[r.Stamp.Meta.Origin.Offset]++
	}
	for n := range letters {
		if seen[int64(n)] != 1 {
			t.Errorf("record %d was sent %d times, want once; died at %v", n, seen[int64(n)], calls)
		}
	}
	again, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if again.Planned != 0 {
		t.Errorf("%d records are still to be sent", again.Planned)
	}
}

// gate is a library whose transactor stops before each commit until told, or
// before each begin.
type gate struct {
	client.Library

	begin   bool
	arrived chan struct{}
	proceed chan struct{}
}

type gatedTransactor struct {
	client.Transactor

	gate *gate
}

func (g *gate) Transactor(config client.ProducerConfig) (client.Transactor, error) {
	tx, err := g.Library.Transactor(config)
	return &gatedTransactor{Transactor: tx, gate: g}, err
}

func (g *gate) stop() {
	select {
	case g.arrived <- struct{}{}:
		<-g.proceed
	case <-g.proceed:
	}
}

func (t *gatedTransactor) Begin() error {
	if t.gate.begin {
		t.gate.stop()
	}
	return t.Transactor.Begin()
}

func (t *gatedTransactor) CommitTransaction(ctx context.Context) error {
	if !t.gate.begin {
		t.gate.stop()
	}
	return t.Transactor.CommitTransaction(ctx)
}

// A run that hangs, in a transaction or between two, is taken over from. It
// stops when it wakes up, and has sent nothing twice.
func TestTakenOverRunStops(t *testing.T) {
	t.Parallel()
	for stopAt := 1; stopAt <= 3; stopAt++ {
		for _, begin := range []bool{true, false} {
			t.Run(fmt.Sprintf("transaction %d before begin %v", stopAt, begin), func(t *testing.T) {
				t.Parallel()
				takeOver(t, stopAt, begin)
			})
		}
	}
}

func takeOver(t *testing.T, stopAt int, begin bool) {
	t.Helper()
	const letters = 6
	b := newBed(t)
	b.write(letters)
	g := &gate{Library: quiet(), begin: begin, arrived: make(chan struct{}), proceed: make(chan struct{})}
	slow := b.open(g)
	ended := make(chan error, 1)
	go func() {
		_, err := replayAll(context.WithoutCancel(t.Context()), slow, b.dlq, ReplayOptions{Batch: 2, By: "slow"})
		ended <- err
	}()
	for i := range stopAt {
		<-g.arrived
		if i < stopAt-1 {
			g.proceed <- struct{}{}
		}
	}
	if stopAt > 1 { // the lease was committed
		_, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{Batch: 2})
		if held, ok := errors.AsType[*LeaseError](err); !ok || held.By != "slow" {
			t.Fatalf("got %v, want a lease held by slow", err)
		}
	}
	if _, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{Batch: 2, Takeover: true}); err != nil {
		t.Fatal(err)
	}
	close(g.proceed)
	if err := <-ended; !errors.Is(err, ErrFenced) {
		t.Errorf("the slow run ended with %v, want %v", err, ErrFenced)
	}
	expectOnce(t, b, letters, nil)
}

// Two runs that start together: each record is sent once, whoever wins.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	const letters = 40
	b := newBed(t)
	b.write(letters)
	errs := make(chan error, 2)
	for range 2 {
		c := b.open(quiet())
		go func() {
			_, err := replayAll(context.WithoutCancel(t.Context()), c, b.dlq, ReplayOptions{Batch: 1, Takeover: true})
			errs <- err
		}()
	}
	fencedRuns := 0
	for range 2 {
		err := <-errs
		if errors.Is(err, ErrFenced) {
			fencedRuns++
		} else if err != nil {
			t.Error(err)
		}
	}
	if fencedRuns == 2 {
		t.Error("both runs were fenced")
	}
	expectOnce(t, b, letters, nil)
}
