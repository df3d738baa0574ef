//go:build cgo

package confluent

import (
	"log/slog"
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
	"go.uber.org/goleak"

	"github.com/holdfast-kafka/holdfast/consumer/consumertest"
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/testkafka"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testkafka.Main(m)) }

func quiet() Library { return Library{Logger: slog.New(slog.DiscardHandler)} }

func newTestConsumer(t *testing.T, addr string) *consumer {
	t.Helper()
	made, err := quiet().Consumer(client.Config{
		"bootstrap.servers": addr, "group.id": "g", "auto.offset.reset": "earliest",
		"enable.auto.commit": "false", "enable.auto.offset.store": "false",
		"partition.assignment.strategy": "cooperative-sticky",
		"statistics.interval.ms":        "50",
	})
	if err != nil {
		t.Fatal(err)
	}
	c, ok := made.(*consumer)
	if !ok {
		t.Fatalf("got %T", made)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// await polls until a poll brings this kind, and fails at the test's deadline.
func await(t *testing.T, c *consumer, kind client.EventKind, into *client.Message) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		got, err := c.Poll(100*time.Millisecond, into)
		if got == client.Failure {
			t.Logf("failure: %v", err)
		}
		if got == kind {
			return
		}
	}
	t.Fatalf("no event of kind %d", kind)
}

func TestPollBringsStatistics(t *testing.T) {
	t.Parallel()
	c := newTestConsumer(t, consumertest.StartBroker(t).Addr())
	var m client.Message
	await(t, c, client.Statistics, &m)
	if len(m.Value) == 0 || m.Value[0] != '{' {
		t.Errorf("statistics are not JSON: %d bytes", len(m.Value))
	}
}

func TestPollAfterCloseIsRefused(t *testing.T) {
	t.Parallel()
	c := newTestConsumer(t, consumertest.StartBroker(t).Addr())
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	kind, err := c.Poll(0, new(client.Message))
	if kind != client.Failure || client.CodeOf(err) != client.State {
		t.Errorf("got kind %d, %v, want a failure with code State", kind, err)
	}
}

func TestUnansweredRebalanceIsAnswered(t *testing.T) {
	t.Parallel()
	broker := consumertest.StartBroker(t, consumertest.Topic{Name: "t", Partitions: 1})
	c := newTestConsumer(t, broker.Addr())
	var kinds []client.RebalanceKind
	err := c.Subscribe([]string{"t"}, func(r client.Rebalance) {
		kinds = append(kinds, r.Kind)
		kind, err := c.Poll(0, new(client.Message))
		if kind != client.Failure || client.CodeOf(err) != client.State {
			t.Errorf("poll inside the callback: got kind %d, %v, want a failure with code State", kind, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	produceOne(t, broker.Addr())
	await(t, c, client.Record, new(client.Message))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if len(kinds) < 2 || kinds[len(kinds)-1] != client.Revoked {
		t.Errorf("got callbacks %v, want an assignment and a revocation", kinds)
	}
}

// A fatal error leaves a consumer that the library cannot close.
func TestCloseAfterFatalErrorReturns(t *testing.T) {
	t.Parallel()
	c := newTestConsumer(t, consumertest.StartBroker(t).Addr())
	if kind, err := c.failure(kafka.NewError(kafka.ErrFencedInstanceID, "", true)); kind != client.Failure || !client.IsFatal(err) {
		t.Errorf("got kind %d, %v", kind, err)
	}
	if err := c.Close(); client.CodeOf(err) != client.State {
		t.Errorf("got %v, want code State", err)
	}
	c.closed.Store(false)
	c.fatal = false // it was no real one: let the cleanup close
}

// Inside Close the first rebalance of any kind is the caller's last word about
// all it has, and there is no second.
func TestRebalanceInsideCloseIsOneRevocation(t *testing.T) {
	t.Parallel()
	c := newTestConsumer(t, consumertest.StartBroker(t).Addr())
	held := client.TopicPartition{Topic: "t", Partition: 1}
	if err := c.Assign([]client.Offset{{TopicPartition: held}}); err != nil {
		t.Fatal(err)
	}
	var told []client.Rebalance
	tell := func(r client.Rebalance) { told = append(told, r) }
	c.closed.Store(true)
	c.rebalance(kafka.AssignedPartitions{}, tell)
	c.rebalance(kafka.RevokedPartitions{}, tell)
	c.closed.Store(false)
	if len(told) != 1 || told[0].Kind != client.Revoked || len(told[0].Partitions) != 1 || told[0].Partitions[0] != held {
		t.Errorf("told of %+v, want one revocation of %v", told, held)
	}
	if len(c.held) != 0 || len(c.pending) != 0 {
		t.Errorf("holds %v with failures %v, want neither", c.held, c.pending)
	}
}

func produceOne(t *testing.T, addr string) {
	t.Helper()
	p, err := quiet().Producer(client.ProducerConfig{Config: client.Config{"bootstrap.servers": addr}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Produce(&client.Message{Topic: "t", Value: []byte("v")}, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// The binding allocates about eight times per record; what is added here must
// not be a ninth.
func TestRecordAllocatesNothing(t *testing.T) {
	topic, epoch := "t", int32(3)
	in := &kafka.Message{
		TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: 1, Offset: 7, LeaderEpoch: &epoch},
		Value:          []byte("v"), Key: []byte("k"), Timestamp: time.UnixMilli(5), TimestampType: kafka.TimestampCreateTime,
		Headers: []kafka.Header{{Key: "a", Value: []byte("1")}, {Key: "a"}},
	}
	var c consumer
	var out client.Message
	if n := testing.AllocsPerRun(100, func() { _, _ = c.record(in, &out) }); n != 0 {
		t.Errorf("got %v allocations per record, want none", n)
	}
	if len(out.Headers) != 2 || out.Headers[0].Key != "a" || string(out.Headers[0].Value) != "1" || out.Headers[1].Value != nil {
		t.Errorf("headers not carried over: %v", out.Headers)
	}
	if out.Topic != topic || out.LeaderEpoch != 3 || out.Timestamp != 5 || out.TimestampType != client.TimestampCreate {
		t.Errorf("got %+v", out)
	}
	c.closed.Store(true)
}
