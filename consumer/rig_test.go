package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/client/fake"
	"github.com/holdfast-kafka/holdfast/retry"
)

const billing = "billing"

var errDown = errors.New("downstream is down")

// rig is a cluster in virtual time with any number of members on it. It notes
// what handlers are given, and audits each position that a member stores: a
// position past a record that is neither done nor copied fails the test.
type rig struct {
	t       tester
	cluster *fake.Cluster
	library *spy

	mu     sync.Mutex // guards what follows
	calls  []*call
	done   map[string]bool // by origin id: a handler returned nil
	gone   map[string]bool // by place: dropped or passed, as the observer was told
	events []Event
	lines  []string // warnings and errors logged
}

// tester is what a test and a property have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
	Cleanup(f func())
	Context() context.Context
}

// call is one call of a handler.
type call struct {
	id         string // origin id
	topic      string
	partition  int32
	offset     int64
	key, value string
	attempt    int
	began      time.Time
	ended      time.Time // zero while it runs
	err        error
	cause      error // of its context, when it ended
}

// bubble runs f in virtual time on a fresh cluster.
func bubble(t *testing.T, topics map[string]int, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t, topics)) })
}

func newRig(t tester, topics map[string]int) *rig {
	r := &rig{t: t, done: map[string]bool{}, gone: map[string]bool{}}
	r.cluster = fake.New(fake.Config{
		Seed: 1, Topics: topics,
		Delays: fake.Delays{
			Fetch: 20 * time.Millisecond, Commit: 10 * time.Millisecond,
			Report: 5 * time.Millisecond, Join: 50 * time.Millisecond,
		},
		OnMisuse: func(err error) { t.Errorf("%v", err) },
	})
	r.library = &spy{Library: r.cluster, rig: r}
	return r
}

// one topic with so many partitions.
func orders(partitions int) map[string]int { return map[string]int{"orders": partitions} }

// quick waits 1 s, then 10 s, then gives up.
func quick() retry.Policy {
	return retry.Policy{MaxAttempts: 3, Initial: time.Second, Multiplier: 10, Max: 10 * time.Second, DisableJitter: true}
}

// config consumes orders with h; change may adjust it.
func (r *rig) config(h HandlerFunc, change ...func(*Config)) Config {
	cfg := Config{
		Brokers: "fake:9092", Group: billing,
		Routes:    []Route{{Topics: []string{"orders"}, Handler: h}},
		Retry:     quick(),
		Use:       []Middleware{r.record},
		Provision: Create,
		Logger:    slog.New(&logs{rig: r}),
		Observer:  ObserverFunc(r.observe),
		library:   r.library,
	}
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

func done(context.Context, *Record) error { return nil }

// record is the middleware that notes calls.
func (r *rig) record(next Handler) Handler {
	return HandlerFunc(func(ctx context.Context, rec *Record) error {
		c := &call{
			id: rec.Origin().ID(), topic: rec.Topic, partition: rec.Partition, offset: rec.Offset,
			key: string(rec.Key), value: string(rec.Value), attempt: rec.Attempt(), began: time.Now(),
		}
		r.mu.Lock()
		r.calls = append(r.calls, c)
		r.mu.Unlock()
		err := errors.New("the handler did not return")
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			c.ended, c.err, c.cause = time.Now(), err, context.Cause(ctx)
			if err == nil {
				r.done[c.id] = true
			}
		}()
		err = next.Handle(ctx, rec)
		return err
	})
}

func (r *rig) observe(ev Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, ev)
	if ev.Kind == EventDropped || ev.Kind == EventPassed {
		r.gone[place(ev.Topic, ev.Partition, ev.Offset)] = true
	}
}

func place(topic string, partition int32, offset int64) string {
	return fmt.Sprintf("%s/%d/%d", topic, partition, offset)
}

// made returns the calls so far, in the order they began.
func (r *rig) made() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]call, len(r.calls))
	for i, c := range r.calls {
		out[i] = *c
	}
	return out
}

// of returns the calls for one record.
func (r *rig) of(partition int32, offset int64) []call {
	return slices.DeleteFunc(r.made(), func(c call) bool { return c.partition != partition || c.offset != offset })
}

// count returns how many events of a kind were observed.
func (r *rig) count(kind EventKind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, ev := range r.events {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}

// seen returns the events of a kind.
func (r *rig) seen(kind EventKind) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.events), func(ev Event) bool { return ev.Kind != kind })
}

func at(topic string, partition int32) client.TopicPartition {
	return client.TopicPartition{Topic: topic, Partition: partition}
}

// put appends values to a partition of orders.
func (r *rig) put(partition int32, values ...string) {
	for _, v := range values {
		r.cluster.Append(at("orders", partition), client.Message{Value: []byte(v)})
	}
}

// putN appends n numbered values to a partition of orders.
func (r *rig) putN(partition int32, n int) {
	for i := range n {
		r.put(partition, fmt.Sprint(i))
	}
}

func (r *rig) committed(topic string, partition int32) int64 {
	return r.cluster.Committed(billing, at(topic, partition))
}

func (r *rig) wantCommitted(topic string, partition int32, want int64) {
	r.t.Helper()
	if got := r.committed(topic, partition); got != want {
		r.t.Errorf("committed %s/%d is %d, want %d", topic, partition, got, want)
	}
}

// in returns all records of a topic, by partition.
func (r *rig) in(topic string) []client.Message {
	var out []client.Message
	for p := range r.partitions(topic) {
		out = append(out, r.cluster.Records(at(topic, int32(p)), client.ReadCommitted)...)
	}
	return out
}

func (r *rig) partitions(topic string) int {
	admin, _ := r.cluster.Admin(nil)
	infos, err := admin.Describe(context.Background(), []string{topic})
	if err != nil || infos[0].Err != nil {
		return 0
	}
	return infos[0].Partitions
}

func lane(delay time.Duration) string { return retry.LaneTopic("orders", billing, delay) }

var deadLetters, replays = retry.DLQTopic("orders", billing), retry.ReplayTopic("orders", billing)

// letters returns the stamps of the dead letters of orders.
func (r *rig) letters() []retry.Stamp {
	var out []retry.Stamp
	for _, m := range r.in(deadLetters) {
		_, stamp, _ := retry.Decode(m.Headers)
		out = append(out, stamp)
	}
	return out
}

// letter is the only dead letter.
func (r *rig) letter() retry.Stamp {
	r.t.Helper()
	letters := r.letters()
	if len(letters) != 1 {
		r.t.Fatalf("there are %d dead letters, want 1", len(letters))
	}
	return letters[0]
}

// pass lets virtual time pass.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

// until lets time pass until cond holds, and fails when it does not in time.
func (r *rig) until(what string, within time.Duration, cond func() bool) {
	r.t.Helper()
	const tick = 5 * time.Millisecond
	synctest.Wait()
	for spent := time.Duration(0); !cond(); spent += tick {
		if spent > within {
			r.t.Fatalf("after %v still not: %s", within, what)
		}
		pass(tick)
	}
}

// untilCommitted waits for a position.
func (r *rig) untilCommitted(topic string, partition int32, want int64) {
	r.t.Helper()
	r.until(fmt.Sprintf("%s/%d committed to %d", topic, partition, want), time.Minute, func() bool {
		return r.committed(topic, partition) == want
	})
}

// member is a running consumer.
type member struct {
	*Consumer

	rig    *rig
	cancel context.CancelFunc
	result error // of Run, once over is closed
	over   chan struct{}
}

// start runs a consumer, which is stopped with the test.
func (r *rig) start(cfg Config) *member {
	r.t.Helper()
	c, err := New(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	m := &member{Consumer: c, rig: r, cancel: cancel, over: make(chan struct{})}
	go func() {
		m.result = c.Run(ctx)
		close(m.over)
	}()
	r.t.Cleanup(func() { m.end() })
	return m
}

// run is start with a handler for orders.
func (r *rig) run(h HandlerFunc, change ...func(*Config)) *member {
	r.t.Helper()
	return r.start(r.config(h, change...))
}

// end stops the consumer and returns what Run returned.
func (m *member) end() error {
	m.cancel()
	<-m.over
	return m.result
}

// stop stops the consumer, which must leave nothing behind.
func (m *member) stop() {
	m.rig.t.Helper()
	if err := m.end(); err != nil {
		m.rig.t.Errorf("Run returned %v, want nil", err)
	}
}

func (m *member) state() State {
	m.rig.t.Helper()
	s, err := m.State(m.rig.t.Context())
	if err != nil {
		m.rig.t.Fatalf("state: %v", err)
	}
	return s
}

// partition returns the state of one partition of a topic.
func (m *member) partition(topic string, partition int32) PartitionState {
	m.rig.t.Helper()
	for _, p := range m.state().Partitions {
		if p.Topic == topic && p.Partition == partition {
			return p
		}
	}
	m.rig.t.Fatalf("%s/%d is not owned", topic, partition)
	return PartitionState{}
}

// gates names the closed gates of a partition of orders.
func (m *member) gates(topic string, partition int32) []string {
	m.rig.t.Helper()
	var names []string
	for _, g := range m.partition(topic, partition).Gates {
		names = append(names, g.Gate)
	}
	return names
}

// owns waits until the member owns so many partitions of orders.
func (m *member) owns(n int) {
	m.rig.t.Helper()
	m.rig.until(fmt.Sprintf("%d partitions owned", n), time.Minute, func() bool {
		s, err := m.State(context.Background())
		if err != nil {
			return false
		}
		have := 0
		for _, p := range s.Partitions {
			if p.Topic == "orders" {
				have++
			}
		}
		return have == n
	})
}
