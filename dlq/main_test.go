package dlq

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-kafka/holdfast/consumer/consumertest"
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/client/confluent"
	"github.com/holdfast-kafka/holdfast/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() client.Library {
	return confluent.Library{Logger: slog.New(slog.DiscardHandler)}
}

// bed is a cluster with a DLQ, made for one test.
type bed struct {
	*Cluster
	tb    testing.TB
	addr  string
	id    string // the cluster's
	dlq   string
	lane  string
	count int // letters written
}

// newBed starts a broker with a source topic of two partitions, its DLQ and
// its replay lane.
func newBed(tb testing.TB) *bed {
	tb.Helper()
	b := &bed{tb: tb, dlq: retry.DLQTopic("payments", "billing"), lane: retry.ReplayTopic("payments", "billing")}
	broker := consumertest.StartBroker(tb,
		consumertest.Topic{Name: "payments", Partitions: 2},
		consumertest.Topic{Name: b.dlq, Partitions: 2},
		consumertest.Topic{Name: b.lane, Partitions: 2},
	)
	b.addr = broker.Addr()
	b.Cluster = b.open(quiet())
	id, err := b.ID(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	b.id = id
	return b
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
				Origin: retry.Origin{Topic: "payments", Partition: int32(n % 2), Offset: int64(n), Timestamp: 1790000000000},
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
	failed := make(chan error, len(messages))
	p, err := quiet().Producer(client.ProducerConfig{
		Config: client.Config{"bootstrap.servers": b.addr, "linger.ms": "1"},
		OnReports: func(reports []client.Report) {
			for _, r := range reports {
				if r.Err != nil {
					failed <- r.Err
				}
			}
		},
	})
	if err != nil {
		b.tb.Fatal(err)
	}
	for i := range messages {
		if err := p.Produce(&messages[i], nil); err != nil {
			b.tb.Fatal(err)
		}
	}
	if err := p.Flush(b.tb.Context()); err != nil {
		b.tb.Fatal(err)
	}
	if err := p.Close(); err != nil {
		b.tb.Fatal(err)
	}
	select {
	case err := <-failed:
		b.tb.Fatal(err)
	default:
	}
}

// transact writes messages in one transaction and commits or aborts it.
func (b *bed) transact(commit bool, messages ...client.Message) {
	b.tb.Helper()
	tx, err := quiet().Transactor(client.ProducerConfig{
		Config:    client.Config{"bootstrap.servers": b.addr, "transactional.id": "test", "linger.ms": "1"},
		OnReports: func([]client.Report) {},
	})
	if err != nil {
		b.tb.Fatal(err)
	}
	ctx := b.tb.Context()
	check := func(err error) {
		b.tb.Helper()
		if err != nil {
			b.tb.Fatal(err)
		}
	}
	check(tx.Init(ctx))
	check(tx.Begin())
	for i := range messages {
		check(tx.Produce(&messages[i], nil))
	}
	check(tx.Flush(ctx))
	if commit {
		check(tx.CommitTransaction(ctx))
	} else {
		check(tx.AbortTransaction(ctx))
	}
	check(tx.Close())
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
