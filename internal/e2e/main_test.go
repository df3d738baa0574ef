package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/holdfast-kafka/holdfast/consumer"
	"github.com/holdfast-kafka/holdfast/internal/testkafka"
	"github.com/holdfast-kafka/holdfast/retry"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	os.Exit(testkafka.Main(m).Run())
}

// patience bounds every wait of a test. It is for machines that are busy.
const patience = 2 * time.Minute

// look is how often a condition of the world outside is looked at.
const look = 20 * time.Millisecond

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(look)
	defer tick.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func logger(t *testing.T, name string) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})).With("member", name)
}

// plain is a franz-go client, independent of what is tested.
func plain(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// quick are settings with which a group notices changes soon.
func quick(protocol map[string]string) map[string]string {
	settings := map[string]string{"topic.metadata.refresh.interval.ms": "5000"}
	if protocol["group.protocol"] != "consumer" {
		settings["session.timeout.ms"] = "6000"
		settings["heartbeat.interval.ms"] = "200"
	}
	maps.Copy(settings, protocol)
	return settings
}

func quickRetry() retry.Policy {
	return retry.Policy{Lanes: retry.Lanes{100 * time.Millisecond, 500 * time.Millisecond}}
}

// member is a running consumer.
type member struct {
	*consumer.Consumer

	ended chan error
}

func start(t *testing.T, cfg consumer.Config) *member {
	t.Helper()
	c, err := consumer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{Consumer: c, ended: make(chan error, 1)}
	go func() { m.ended <- c.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() { _ = m.Stop(context.Background()) })
	return m
}

// stop stops a member and wants nothing left behind.
func (m *member) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := m.Stop(ctx); err != nil {
		t.Fatalf("stop: %v", err)
	}
	if err := <-m.ended; err != nil {
		t.Errorf("run returned %v", err)
	}
}

// owns returns the member's partitions of a topic.
func (m *member) owns(t *testing.T, topic string) []int32 {
	t.Helper()
	state, err := m.State(t.Context())
	if err != nil {
		return nil
	}
	var owned []int32
	for _, p := range state.Partitions {
		if p.Topic == topic {
			owned = append(owned, p.Partition)
		}
	}
	return owned
}

func id(i int) []byte { return fmt.Appendf(nil, "payment-%06d", i) }
