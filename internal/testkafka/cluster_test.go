package testkafka

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

// produce writes n records to partition 0 and returns their values once all
// are acknowledged.
func produce(t *testing.T, addr, topic string, n int) []string {
	t.Helper()
	client := newClient(t, addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	records := make([]*kgo.Record, 0, n)
	values := make([]string, 0, n)
	for i := range n {
		value := strconv.Itoa(i)
		values = append(values, value)
		records = append(records, &kgo.Record{Topic: topic, Value: []byte(value)})
	}
	if err := client.ProduceSync(deadline(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return values
}

// consume reads n values from partition 0.
func consume(t *testing.T, addr, topic string, n int) []string {
	t.Helper()
	start := map[int32]kgo.Offset{0: kgo.NewOffset().AtStart()}
	client := newClient(t, addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: start}))
	values := make([]string, 0, n)
	ctx := deadline(t)
	for len(values) < n {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("read %d of %d: %v", len(values), n, fetches.Errors())
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}

func newClient(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(strings.Split(addr, ",")...))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestBrokerKeepsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	addr, isReal := Broker(t)
	if want := os.Getenv(Env) != ""; isReal != want {
		t.Errorf("got real %t, want %t", isReal, want)
	}
	topic := Topic(t, addr, 1)
	want := produce(t, addr, topic, 10)
	if diff := cmp.Diff(want, consume(t, addr, topic, 10)); diff != "" {
		t.Error(diff)
	}
}

func TestApacheKeepsDataAndPortWhenKilled(t *testing.T) {
	t.Parallel()
	c := Apache(t, Options{Tools: true})
	features, err := finalized(t.Context(), c.Addr())
	if err != nil || features["group.version"] != 1 || features["transaction.version"] != 2 {
		t.Errorf("got features %v, %v", features, err)
	}
	topic := Topic(t, c.Addr(), 1)
	want := produce(t, c.Addr(), topic, 100)
	if err := c.Kill(1); err != nil {
		t.Fatal(err)
	}
	if err := c.Err(); err != nil {
		t.Errorf("got %v of a broker that was to be killed", err)
	}
	if err := c.Restart(deadline(t), 1); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, consume(t, c.Addr(), topic, 100)); diff != "" {
		t.Error(diff)
	}
	said, err := c.Tool(deadline(t), "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", c.Addr(), "--list", "--exclude-internal")
	if err != nil || strings.TrimSpace(said) != topic {
		t.Errorf("got topics %q, %v, want %q alone", said, err, topic)
	}
}

func TestApacheSurvivesOneOfThree(t *testing.T) {
	t.Parallel()
	c := Apache(t, Options{Brokers: 3})
	topic := Topic(t, c.Addr(), 1)
	for id := 1; id <= 3; id++ {
		if err := c.Kill(id); err != nil {
			t.Fatal(err)
		}
		want := produce(t, c.Addr(), topic, 10)
		if err := c.Restart(deadline(t), id); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, consume(t, c.Addr(), topic, 10*id)[10*(id-1):]); diff != "" {
			t.Error(diff)
		}
		awaitReplicas(t, c, topic)
	}
}

// awaitReplicas waits until all three replicas are in sync again.
func awaitReplicas(t *testing.T, c *Cluster, topic string) {
	t.Helper()
	client := newClient(t, c.Addr())
	err := poll(deadline(t), 50*time.Millisecond, func() (bool, error) {
		metadata, err := topicMetadata(t.Context(), client, topic)
		return err == nil && len(metadata.Partitions) == 1 && len(metadata.Partitions[0].ISR) == 3, err
	})
	if err != nil {
		t.Fatalf("wait for replicas: %v", err)
	}
}

func TestApacheTellsOfABrokerThatDiedAndOfATakenPort(t *testing.T) {
	t.Parallel()
	c := Apache(t, Options{Dir: filepath.Join(t.TempDir(), "data")})
	taken := Options{Port: c.nodes[0].port}
	if _, err := Start(t.Context(), taken); !errors.Is(err, errPortTaken) { // though a broker answers there
		t.Errorf("started on a taken port: got %v, want %v", err, errPortTaken)
	}
	if err := c.processes[0].kill(); err != nil { // behind its back
		t.Fatal(err)
	}
	if err := c.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "broker 1 ended: signal: killed") {
		t.Errorf("got %v", err)
	}
	if err := c.Kill(4); err == nil {
		t.Error("killed broker 4 of 1")
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if err := c.Restart(t.Context(), 1); !errors.Is(err, ErrStopped) {
		t.Errorf("got %v, want %v", err, ErrStopped)
	}
	for _, log := range c.Logs() {
		if _, err := os.Stat(log); err != nil {
			t.Errorf("the log in the caller's directory is gone: %v", err)
		}
	}
}
