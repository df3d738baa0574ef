package dlq

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/client/confluent"
	"github.com/holdfast-kafka/holdfast/internal/testkafka"
	"github.com/holdfast-kafka/holdfast/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testkafka.Main(m)) }

func quiet() client.Library {
	return confluent.Library{Logger: slog.New(slog.DiscardHandler)}
}

// bed is a cluster with a DLQ, made for one test: on an embedded broker of its
// own, or under names of its own on the real one that the environment asks for.
type bed struct {
	*Cluster

	tb     testing.TB
	addr   string
	id     string // the cluster's
	source string
	dlq    string
	lane   string
	count  int // letters written

	producer *writer
	tx       client.Transactor
	txWriter *writer
}

// newBed makes a source topic of two partitions, its DLQ and its replay lane.
func newBed(tb testing.TB) *bed {
	tb.Helper()
	addr, _ := testkafka.Broker(tb)
	source := testkafka.Topic(tb, addr, 2)
	b := &bed{
		tb: tb, addr: addr, source: source,
		dlq: retry.DLQTopic(source, "billing"), lane: retry.ReplayTopic(source, "billing"),
	}
	b.Cluster = b.open(quiet())
	b.create(b.dlq, b.lane)
	id, err := b.ID(tb.Context())
	b.check(err)
	b.id = id
	return b
}

// create makes topics of two partitions and waits until they are known.
func (b *bed) create(topics ...string) {
	b.tb.Helper()
	for _, topic := range topics {
		b.check(b.admin.CreateTopics(b.tb.Context(), []client.TopicSpec{{Topic: topic, Partitions: 2}}))
		_, err := b.awaitTopic(b.tb.Context(), topic)
		b.check(err)
	}
}

// open connects a second time, with another library.
func (b *bed) open(library client.Library) *Cluster {
	b.tb.Helper()
	c, err := Open(Config{Brokers: b.addr, Library: library})
	if err != nil {
		b.tb.Fatal(err)
	}
	b.tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.tb.Error(err)
		}
	})
	return c
}

// letter makes the n-th dead letter.
func (b *bed) letter(n int) Letter {
	return Letter{
		Key:   fmt.Appendf(nil, "key-%d", n),
		Value: fmt.Appendf(nil, `{"n":%d}`, n),
		User:  []retry.Header{{Key: "trace", Value: fmt.Appendf(nil, "t%d", n)}, {Key: "null"}},
		Stamp: retry.Stamp{
			Count: 5, Disposition: retry.DispositionExhausted, Fingerprint: Fingerprint("*net.OpError", "timeout", ""),
			Meta: retry.Meta{
				Group: "billing", Cluster: b.id,
				Origin: retry.Origin{Topic: b.source, Partition: int32(n % 2), Offset: int64(n), Timestamp: 1790000000000},
				First:  1790000000100, Last: 1790000000900,
				ErrorType: "*net.OpError", Error: "timeout", Hop: 5,
			},
		},
	}
}

// write puts letters into the DLQ, n-th ones to partition n%2.
func (b *bed) write(n int) {
	b.tb.Helper()
	messages := make([]client.Message, n)
	for i := range messages {
		l := b.letter(b.count)
		messages[i] = l.Message(b.dlq, l.Stamp.Meta.Origin.Partition)
		b.count++
	}
	b.produce(messages...)
}

// produce writes messages and waits for them.
func (b *bed) produce(messages ...client.Message) {
	b.tb.Helper()
	if b.producer == nil {
		b.producer = &writer{reports: make(chan error, 1000)}
		p, err := quiet().Producer(client.ProducerConfig{
			Config:    client.Config{"bootstrap.servers": b.addr, "linger.ms": "0"},
			OnReports: b.producer.report,
		})
		b.check(err)
		b.producer.Producer = p
		b.tb.Cleanup(func() { _ = p.Close() })
	}
	b.producer.write(b.tb, messages)
}

// transact writes messages in one transaction and commits or aborts it.
func (b *bed) transact(commit bool, messages ...client.Message) {
	b.tb.Helper()
	ctx := b.tb.Context()
	if b.tx == nil {
		w := &writer{reports: make(chan error, 1000)}
		tx, err := quiet().Transactor(client.ProducerConfig{
			Config:    client.Config{"bootstrap.servers": b.addr, "transactional.id": b.source, "linger.ms": "0"},
			OnReports: w.report,
		})
		b.check(err)
		b.tb.Cleanup(func() { _ = tx.Close() })
		b.check(tx.Init(ctx))
		w.Producer, b.tx, b.txWriter = tx, tx, w
	}
	b.check(b.tx.Begin())
	b.txWriter.write(b.tb, messages)
	if commit {
		b.check(b.tx.CommitTransaction(ctx))
	} else {
		b.check(b.tx.AbortTransaction(ctx))
	}
}

func (b *bed) check(err error) {
	b.tb.Helper()
	if err != nil {
		b.tb.Fatal(err)
	}
}

// writer waits for the reports of what it wrote.
type writer struct {
	client.Producer

	reports chan error
}

func (w *writer) report(reports []client.Report) {
	for _, r := range reports {
		w.reports <- r.Err
	}
}

func (w *writer) write(tb testing.TB, messages []client.Message) {
	tb.Helper()
	for i := range messages {
		if err := w.Produce(&messages[i], nil); err != nil {
			tb.Fatal(err)
		}
		if i >= cap(w.reports)/2 {
			if err := <-w.reports; err != nil {
				tb.Fatal(err)
			}
		}
	}
	for range min(len(messages), cap(w.reports)/2) {
		if err := <-w.reports; err != nil {
			tb.Fatal(err)
		}
	}
}

// read returns all committed records of a topic.
func (b *bed) read(topic string) []*Record {
	b.tb.Helper()
	var records []*Record
	_, err := b.Scan(b.tb.Context(), ScanRequest{Topic: topic}, func(r *Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil {
		b.tb.Fatal(err)
	}
	return records
}

// replayAll plans and carries out a replay of everything.
func replayAll(ctx context.Context, c *Cluster, dlq string, options ReplayOptions) (RunResult, error) {
	plan, err := c.Plan(ctx, PlanRequest{DLQ: dlq})
	if err != nil {
		return RunResult{}, err
	}
	return c.Replay(ctx, plan, options)
}
