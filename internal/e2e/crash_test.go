package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/holdfast-kafka/holdfast/consumer"
	"github.com/holdfast-kafka/holdfast/internal/testkafka"
)

// Environment of the process that is killed: this test binary again.
const (
	childEnv   = "HOLDFAST_E2E_CHILD"
	childTopic = "HOLDFAST_E2E_TOPIC"
	childGate  = "HOLDFAST_E2E_GATEWAY"
)

const (
	crashes         = 20
	crashSeed       = 20261201
	crashPartitions = 6
	crashPerRound   = 400
)

// child is a payment processor that somebody will kill.
func child() int {
	gateway := os.Getenv(childGate)
	c, err := consumer.New(consumer.Config{
		Brokers: os.Getenv(childEnv), Group: "billing-" + os.Getenv(childTopic), Retry: quickRetry(), Provision: consumer.Create,
		CommitInterval: 100 * time.Millisecond,
		Kafka:          map[string]string{"session.timeout.ms": "1000", "heartbeat.interval.ms": "200"},
		Logger:         slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Routes: []consumer.Route{{
			Topics: []string{os.Getenv(childTopic)}, Ordering: consumer.ByKey,
			Handler: consumer.HandlerFunc(func(ctx context.Context, r *consumer.Record) error {
				return charge(ctx, gateway, r)
			}),
		}},
	})
	if err == nil {
		err = c.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, "child:", err)
	return 1
}

func charge(ctx context.Context, gateway string, r *consumer.Record) error {
	form := url.Values{
		"key": {r.Origin().ID()}, "payment": {string(r.Value)}, "attempt": {strconv.Itoa(r.Attempt())},
		"partition": {strconv.Itoa(int(r.Partition))}, "offset": {strconv.FormatInt(r.Offset, 10)},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway+"?"+form.Encode(), nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("gateway answered %s", res.Status)
	}
	return nil
}

// gateway charges each idempotency key once and remembers every call.
type gateway struct {
	mu        sync.Mutex
	charges   map[string]string // payment of each key
	payments  map[string]int    // charges of each payment
	committed map[int32]int64   // what the group had committed at the last kill
	repeated  []string          // first attempts of what was committed before
	calls     int
	again     int // calls for a key that was charged before
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	partition, _ := strconv.Atoi(q.Get("partition"))
	offset, _ := strconv.ParseInt(q.Get("offset"), 10, 64)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls++
	if q.Get("attempt") == "1" && offset < g.committed[int32(partition)] {
		g.repeated = append(g.repeated, q.Get("key"))
	}
	// One in ten payments fails at first, so that lanes are in use too.
	if q.Get("attempt") == "1" && offset%10 == 0 {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if _, done := g.charges[q.Get("key")]; done {
		g.again++
		return
	}
	g.charges[q.Get("key")] = q.Get("payment")
	g.payments[q.Get("payment")]++
}

func (g *gateway) charged() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.payments)
}

func (g *gateway) callCount() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls
}

// TestKilledAtAnyMoment kills the consumer's process with SIGKILL 20 times at
// seeded random moments. Nothing may be lost, no payment charged twice, and
// nothing handled again that had been committed.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	addr, _ := testkafka.Broker(t)
	topic := testkafka.Topic(t, addr, crashPartitions)
	g := &gateway{charges: map[string]string{}, payments: map[string]int{}, committed: map[int32]int64{}}
	server := httptest.NewServer(g)
	defer server.Close()
	cl := plain(t, addr)
	admin := kadm.NewClient(cl)
	random := rand.New(rand.NewPCG(crashSeed, 0))
	n := 0
	for range crashes {
		n = writePayments(t, cl, topic, n, crashPerRound)
		c := startChild(t, addr, topic, server.URL)
		// At a random moment of its work: after so many calls.
		until := g.callCount() + random.IntN(crashPerRound)
		eventually(t, "the child works", func() bool { return g.callCount() >= until || g.charged() >= n })
		kill(t, c)
		remember(t, g, admin, topic)
	}
	c := startChild(t, addr, topic, server.URL)
	eventually(t, "every payment charged", func() bool { return g.charged() == n })
	kill(t, c)
	g.mu.Lock()
	defer g.mu.Unlock()
	for payment, times := range g.payments {
		if times != 1 {
			t.Errorf("%s was charged %d times", payment, times)
		}
	}
	if len(g.repeated) > 0 {
		t.Errorf("%d first attempts of records that were committed before, like %s", len(g.repeated), g.repeated[0])
	}
	t.Logf("%d payments, %d kills, %d calls, %d of them for a payment charged before", n, crashes, g.calls, g.again)
}

func writePayments(t *testing.T, cl *kgo.Client, topic string, from, n int) int {
	t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{
			Topic: topic, Partition: int32((from + i) % crashPartitions),
			Key: fmt.Appendf(nil, "account-%d", (from+i)%50), Value: id(from + i),
		}
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return from + n
}

func startChild(t *testing.T, addr, topic, gateway string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), childEnv+"="+addr, childTopic+"="+topic, childGate+"="+gateway)
	c.Stderr = t.Output()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

func kill(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatalf("kill: %v", err)
	}
	_ = c.Wait() // it was killed
}

// remember asks what the group had committed when its member was killed.
func remember(t *testing.T, g *gateway, admin *kadm.Client, topic string) {
	t.Helper()
	offsets, err := admin.FetchOffsetsForTopics(t.Context(), "billing-"+topic, topic)
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Topic == topic && o.At > g.committed[o.Partition] {
			g.committed[o.Partition] = o.At
		}
	})
}
