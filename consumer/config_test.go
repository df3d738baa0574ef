package consumer

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/breaker"
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

// valid is the smallest configuration.
func valid() Config {
	return Config{
		Brokers: "localhost:9092", Group: billing,
		Routes: []Route{{Topics: []string{"orders"}, Handler: HandlerFunc(done)}},
	}
}

func TestEveryMistakeIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	bad := retry.Policy{MaxAttempts: -1}
	_, err := New(Config{
		Concurrency: -1, Clients: 17, CommitInterval: time.Millisecond, DrainTimeout: time.Hour,
		MaxUncommitted: -1, MaxBuffered: -1, MaxBufferedBytes: 1, StartTimeout: -1, Provision: 9,
		Retry: bad, Kafka: map[string]string{"enable.auto.commit": "true", "go.delivery.reports": "false"},
		Routes: []Route{
			{},
			{
				Topics:  []string{"", "^or.*", "a.billing.dlq", "or ders", strings.Repeat("x", 240), "twice", "twice"},
				Handler: HandlerFunc(done), Ordering: 7, RetryMode: 7, DLQ: 7, TooLarge: 7, Timeout: -7,
				Retry: &bad, Breakers: []*breaker.Breaker{nil},
			},
			{Topics: []string{"twice"}, Handler: HandlerFunc(done)},
		},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"brokers: required", "group: required", "concurrency -1", "clients 17", "commit interval 1ms", "drain timeout 1h",
		"max uncommitted -1", "max buffered -1", "max buffered bytes 1", "start timeout -1ns", "provision 9", "retry: ",
		"kafka enable.auto.commit: cannot be set", "kafka go.delivery.reports: cannot be set",
		"route 0: handler: required", "route 0: topics: at least one", `route 1: topic: empty name`,
		`topic "^or.*": regular expressions`, `topic "a.billing.dlq"`, `topic "twice": already belongs to route 1`,
		"ordering 7", "retry mode 7", "dlq 7", "too large 7", "timeout -7ns", "route 1: retry: ", "breaker 0: nil",
		`route 2: topic "twice": already belongs to route 1`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not reported: %s", want)
		}
	}
	if t.Failed() {
		t.Logf("reported:\n%v", err)
	}
}

func TestNamesThatKafkaDoesNotAllowAreMistakes(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"or ders", strings.Repeat("x", 240), "a.billing.retry.10s", "b.replay", "c.dlq.ledger"} {
		cfg := valid()
		cfg.Routes[0].Topics = []string{topic}
		if _, err := New(cfg); err == nil {
			t.Errorf("topic %q was taken", topic)
		}
	}
}

func TestOwnedKafkaKeysAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for key, reason := range ownedReasons() {
		cfg := valid()
		cfg.Kafka = map[string]string{key: "1"}
		_, err := New(cfg)
		if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want it refused because %q", key, err, reason)
		}
	}
}

func TestZeroValuesAreTheDefaults(t *testing.T) {
	t.Parallel()
	got := valid().withDefaults()
	want := map[string]any{
		"concurrency": 16, "clients": 1, "commit": time.Second, "drain": 10 * time.Second, "uncommitted": 10_000,
		"buffered": 50_000, "bytes": 64 << 20, "start": 30 * time.Second, "timeout": time.Minute,
		"policy": retry.Policy{}.WithDefaults(), "ordering": ByPartition, "mode": Lanes, "dlq": ToDLQ, "large": TooLargeHold,
		"provision": Verify,
	}
	have := map[string]any{
		"concurrency": got.Concurrency, "clients": got.Clients, "commit": got.CommitInterval, "drain": got.DrainTimeout,
		"uncommitted": got.MaxUncommitted, "buffered": got.MaxBuffered, "bytes": got.MaxBufferedBytes, "start": got.StartTimeout,
		"timeout": got.Routes[0].Timeout, "policy": *got.Routes[0].Retry, "ordering": got.Routes[0].Ordering,
		"mode": got.Routes[0].RetryMode, "dlq": got.Routes[0].DLQ, "large": got.Routes[0].TooLarge, "provision": got.Provision,
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if got.Classifier == nil || got.Logger == nil || got.Observer == nil {
		t.Error("classifier, logger or observer is nil")
	}
	if _, err := New(valid()); err != nil {
		t.Errorf("the smallest configuration: %v", err)
	}
}

func TestDrainTimeoutFollowsThePollInterval(t *testing.T) {
	t.Parallel()
	cfg := valid()
	cfg.Kafka = map[string]string{"max.poll.interval.ms": "6000"}
	if got := cfg.withDefaults().DrainTimeout; got != 2*time.Second {
		t.Errorf("drain timeout %v, want a third of 6 s", got)
	}
	cfg.DrainTimeout = 3 * time.Second
	if _, err := New(cfg); err == nil {
		t.Error("a drain timeout over a third of the poll interval was taken")
	}
}

func TestNewTakesACopy(t *testing.T) {
	t.Parallel()
	cfg := valid()
	cfg.Kafka = map[string]string{"client.id": "a"}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Kafka["client.id"] = "b"
	cfg.Routes[0].Topics[0] = "refunds"
	cfg.Routes[0].Handler = nil
	if c.cfg.Kafka["client.id"] != "a" || c.cfg.Routes[0].Topics[0] != "orders" || c.cfg.Routes[0].Handler == nil {
		t.Errorf("the consumer follows the caller's configuration: %v %v", c.cfg.Kafka, c.cfg.Routes[0].Topics)
	}
}

// wantKeys compares some keys of a client's configuration; an empty value
// means the key must be absent.
func wantKeys(t *testing.T, what string, got client.Config, want client.Config) {
	t.Helper()
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: %s is %q, want %q", what, key, got[key], value)
		}
	}
}

func TestClientConfigurations(t *testing.T) {
	t.Parallel()
	cfg := valid()
	cfg.Kafka = map[string]string{
		"auto.offset.reset": "latest", "isolation.level": "read_uncommitted", "fetch.message.max.bytes": "1",
		"queued.min.messages": "7", "fetch.queue.backoff.ms": "99", "group.instance.id": "host-1", "security.protocol": "ssl",
		"linger.ms": "50", "compression.type": "zstd", "max.poll.interval.ms": "60000", "socket.timeout.ms": "60000",
	}
	cfg = cfg.withDefaults()
	owned := client.Config{
		"bootstrap.servers": "localhost:9092", "group.id": billing, "enable.auto.commit": "false",
		"enable.auto.offset.store": "false", "check.crcs": "true", "security.protocol": "ssl",
		"partition.assignment.strategy": "cooperative-sticky", "linger.ms": "", "compression.type": "",
		"max.poll.interval.ms": "60000",
	}
	wantKeys(t, "source", cfg.sourceClient(0), owned)
	wantKeys(t, "lanes", cfg.laneClient(), owned)
	wantKeys(t, "source", cfg.sourceClient(0), client.Config{
		"auto.offset.reset": "latest", "isolation.level": "read_uncommitted", "fetch.queue.backoff.ms": "99",
		"group.instance.id": "host-1", "queued.min.messages": "7",
	})
	wantKeys(t, "second source", cfg.sourceClient(1), client.Config{"group.instance.id": "host-1-2"})
	wantKeys(t, "lanes", cfg.laneClient(), client.Config{
		"auto.offset.reset": "earliest", "isolation.level": "read_committed", "fetch.message.max.bytes": "65536",
		"queued.min.messages": "1000", "queued.max.messages.kbytes": "16384", "fetch.queue.backoff.ms": "50",
		"group.instance.id": "host-1-lanes",
	})
	wantKeys(t, "producer", cfg.producer(0), client.Config{
		"enable.idempotence": "true", "acks": "all", "message.timeout.ms": "0", "batch.size": "1000000",
		"socket.timeout.ms": "10000", "linger.ms": "50", "compression.type": "zstd", "security.protocol": "ssl",
		"group.id": "", "group.instance.id": "", "auto.offset.reset": "", "max.poll.interval.ms": "", "fetch.queue.backoff.ms": "",
	})
	wantKeys(t, "producer of small topics", cfg.producer(20_000), client.Config{"batch.size": "18976"})
	wantKeys(t, "admin", cfg.admin(), client.Config{"security.protocol": "ssl", "group.id": "", "linger.ms": "", "auto.offset.reset": ""})
}

func TestClientDefaultsAndTheNewProtocol(t *testing.T) {
	t.Parallel()
	cfg := valid().withDefaults()
	wantKeys(t, "source", cfg.sourceClient(0), client.Config{
		"auto.offset.reset": "earliest", "fetch.queue.backoff.ms": "10", "group.instance.id": "",
	})
	cfg.Kafka = map[string]string{"group.protocol": "consumer"}
	wantKeys(t, "source", cfg.sourceClient(0), client.Config{"partition.assignment.strategy": "", "group.protocol": "consumer"})
	cfg.Kafka = map[string]string{"partition.assignment.strategy": "range"}
	wantKeys(t, "source", cfg.sourceClient(0), client.Config{"partition.assignment.strategy": "range"})
	wantKeys(t, "lanes", cfg.laneClient(), client.Config{"partition.assignment.strategy": "range"})
}

func TestWhatEachTopicIsUsedFor(t *testing.T) {
	t.Parallel()
	cfg := valid()
	cfg.Retry = quick()
	cfg.Routes = append(cfg.Routes, Route{
		Topics: []string{"refunds"}, Handler: HandlerFunc(done), RetryMode: InPlace, DLQ: DLQDrop,
	})
	cfg = cfg.withDefaults()
	old := retry.LaneTopic("orders", billing, 90*time.Second)
	existing := []string{"orders", "refunds", old, retry.LaneTopic("orders", "shipping", time.Minute), lane(time.Second)}
	uses := cfg.uses(existing)
	want := map[string]topicUse{
		"orders":                 {role: core.Source, route: 0, origin: "orders"},
		"refunds":                {role: core.Source, route: 1, origin: "refunds"},
		lane(time.Second):        {role: core.Lane, route: 0, origin: "orders", delay: time.Second},
		lane(10 * time.Second):   {role: core.Lane, route: 0, origin: "orders", delay: 10 * time.Second},
		old:                      {role: core.Lane, route: 0, origin: "orders", delay: 90 * time.Second},
		replays:                  {role: core.Replay, route: 0, origin: "orders"},
		"refunds.billing.replay": {role: core.Replay, route: 1, origin: "refunds"},
	}
	if diff := cmp.Diff(want, uses, cmp.AllowUnexported(topicUse{})); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
	lanes := cfg.laneTopics(existing)
	slices.Sort(lanes)
	wantLanes := []string{lane(time.Second), lane(10 * time.Second), old, replays}
	slices.Sort(wantLanes)
	if diff := cmp.Diff(wantLanes, lanes); diff != "" {
		t.Errorf("lane topics (-want +got):\n%s", diff)
	}
}

func TestMembersAndClientsOfARun(t *testing.T) {
	bubble(t, orders(6), func(t *testing.T, r *rig) {
		m := r.run(done, func(c *Config) { c.Clients = 3 })
		m.owns(6)
		for p := range int32(6) {
			r.putN(p, 10)
		}
		for p := range int32(6) {
			r.untilCommitted("orders", p, 10)
		}
		made := r.library.made()
		if len(made) != 4 || !slices.Contains(made[3].subscribed(), lane(time.Second)) || !slices.Contains(made[0].subscribed(), "orders") {
			t.Errorf("%d clients", len(made))
		}
		for _, c := range r.cluster.Consumers(billing)[:3] {
			if n := len(c.Assignment()); n != 2 {
				t.Errorf("a source client has %d partitions, want 2 of 6", n)
			}
		}
		m.stop()
		if n := len(r.made()); n != 60 {
			t.Errorf("%d calls for 60 records", n)
		}
	})
}

func TestOldLanesAreStillRead(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		old := lane(90 * time.Second)
		r.topic(old, 1, nil)
		r.cluster.Append(at(old, 0), copyOf(func(s *retry.Stamp) { s.Due += 5000 }))
		m := r.run(done)
		r.untilCommitted(old, 0, 1)
		m.stop()
		if calls := r.of(0, 7); len(calls) != 1 || calls[0].attempt != 2 {
			t.Errorf("calls %+v, want attempt 2", calls)
		}
	})
}

func TestMiddlewareOrderAndValues(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		type key struct{}
		var order []string
		use := func(name string) Middleware {
			return func(next Handler) Handler {
				return HandlerFunc(func(ctx context.Context, rec *Record) error {
					order = append(order, name)
					return next.Handle(ctx, rec)
				})
			}
		}
		r.put(0, "a")
		c, err := New(r.config(func(ctx context.Context, _ *Record) error {
			if ctx.Value(key{}) != "value" {
				t.Error("the handler's context has not the values of Run's")
			}
			if _, ok := ctx.Deadline(); !ok {
				t.Error("the handler's context has no deadline")
			}
			order = append(order, "handler")
			return nil
		}, func(c *Config) { c.Use = append(c.Use, use("first"), use("second")) }))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Run(context.WithValue(context.Background(), key{}, "value")) }()
		r.untilCommitted("orders", 0, 1)
		if err := c.Stop(t.Context()); err != nil || <-ended != nil {
			t.Errorf("did not stop: %v", err)
		}
		if diff := cmp.Diff([]string{"first", "second", "handler"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}
