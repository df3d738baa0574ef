package fake_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/client/fake"
)

// writer is a producer with its reports. They arrive on one goroutine and are
// read when the bubble is at rest.
type writer struct {
	*fake.Producer

	t       *testing.T
	reports []client.Report
	errors  []*client.Error
}

func produce(t *testing.T, c *fake.Cluster) *writer {
	t.Helper()
	w := &writer{t: t}
	made, err := c.Producer(client.ProducerConfig{
		OnReports: func(reports []client.Report) { w.reports = append(w.reports, reports...) },
		OnError:   func(err *client.Error) { w.errors = append(w.errors, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	inner, ok := made.(*fake.Producer)
	if !ok {
		t.Fatalf("got a %T", made)
	}
	w.Producer = inner
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func (w *writer) put(partition int32, tags ...int) {
	w.t.Helper()
	for _, tag := range tags {
		if err := w.Produce(&client.Message{Topic: "t", Partition: partition}, tag); err != nil {
			w.t.Fatal(err)
		}
	}
}

// rest lets everything happen that is going to.
func (w *writer) rest() {
	timer := time.NewTimer(time.Minute)
	<-timer.C
	synctest.Wait()
}

func (w *writer) tags(code client.Code) []int {
	var tags []int
	for _, r := range w.reports {
		if client.CodeOf(r.Err) == code {
			tags = append(tags, r.Tag.(int))
		}
	}
	return tags
}

func wantTags(t *testing.T, what string, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got tags %v, want %v", what, got, want)
	}
}

func TestBatchFailsWholeAndIsNotWritten(t *testing.T) {
	bubble(t, fake.Config{}, 2, func(t *testing.T, c *fake.Cluster) {
		w := produce(t, c)
		c.FailProduce("t", client.NotEnoughReplicas, 1)
		w.put(0, 1, 2, 3)
		w.put(1, 4)
		w.rest()
		wantTags(t, "failed", w.tags(client.NotEnoughReplicas), 1, 2, 3)
		wantTags(t, "written", w.tags(0), 4)
		if got := len(c.Records(at(0), client.ReadCommitted)); got != 0 {
			t.Errorf("%d records of the failed batch are in the log", got)
		}
	})
}

func TestLostAckIsWrittenAndTimesOut(t *testing.T) {
	bubble(t, fake.Config{}, 1, func(t *testing.T, c *fake.Cluster) {
		w := produce(t, c)
		c.LoseAcks("t", 1)
		w.put(0, 1, 2)
		w.rest()
		wantTags(t, "timed out", w.tags(client.MsgTimedOut), 1, 2)
		if got := len(c.Records(at(0), client.ReadCommitted)); got != 2 {
			t.Errorf("%d records are in the log, want both", got)
		}
	})
}

func TestHeldReportsComeAtReleaseAndOnce(t *testing.T) {
	bubble(t, fake.Config{}, 1, func(t *testing.T, c *fake.Cluster) {
		w := produce(t, c)
		release := c.HoldReports()
		w.put(0, 1, 2)
		w.rest()
		if len(w.reports) != 0 || w.Outstanding() != 2 {
			t.Errorf("got %d reports with %d outstanding, want none with 2", len(w.reports), w.Outstanding())
		}
		release()
		release()
		w.rest()
		wantTags(t, "reported", w.tags(0), 1, 2)
		if got := w.Outstanding(); got != 0 {
			t.Errorf("%d outstanding", got)
		}
	})
}

func TestCloseGivesUpWhatIsHeld(t *testing.T) {
	bubble(t, fake.Config{}, 1, func(t *testing.T, c *fake.Cluster) {
		w := produce(t, c)
		defer c.HoldReports()()
		w.put(0, 1, 2)
		w.rest()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		wantTags(t, "in flight", w.tags(client.PurgeInflight), 1, 2)
	})
}

// Within a partition reports keep their order, between partitions they do not.
func TestReportsAreOutOfOrderBetweenPartitionsOnly(t *testing.T) {
	bubble(t, fake.Config{Seed: 3, Delays: fake.Delays{Report: time.Second}}, 8, func(t *testing.T, c *fake.Cluster) {
		w := produce(t, c)
		for i := range 80 {
			w.put(int32(i%8), i)
			if i%8 == 7 {
				timer := time.NewTimer(50 * time.Millisecond)
				<-timer.C
			}
		}
		w.rest()
		got := w.tags(0)
		if len(got) != 80 {
			t.Fatalf("got %d reports, want 80", len(got))
		}
		if slices.IsSorted(got) {
			t.Error("all reports came in the order of writing")
		}
		for p := range 8 {
			of := slices.DeleteFunc(slices.Clone(got), func(tag int) bool { return tag%8 != p })
			if !slices.IsSorted(of) {
				t.Errorf("partition %d was reported as %v", p, of)
			}
		}
	})
}

func TestFatalProducerReportsAllAndRefuses(t *testing.T) {
	bubble(t, fake.Config{}, 1, func(t *testing.T, c *fake.Cluster) {
		w := produce(t, c)
		release := c.HoldReports()
		defer release()
		w.put(0, 1)
		w.rest()
		w.Fail(client.Error{Code: client.ClusterAuthorization, Text: "no right", Fatal: true})
		w.rest()
		wantTags(t, "given up", w.tags(client.ClusterAuthorization), 1)
		if len(w.errors) != 1 || !w.errors[0].Fatal {
			t.Errorf("told of %v, want the fatal error", w.errors)
		}
		if err := w.Produce(&client.Message{Topic: "t"}, 2); !client.IsFatal(err) {
			t.Errorf("produce: got %v, want a fatal error", err)
		}
	})
}

func TestAbandonedTransactionEndsAtItsTimeout(t *testing.T) {
	bubble(t, fake.Config{}, 1, func(t *testing.T, c *fake.Cluster) {
		tx, err := c.Transactor(client.ProducerConfig{Config: client.Config{
			"transactional.id": "x", "transaction.timeout.ms": "8000",
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Close() }()
		for _, err := range []error{tx.Init(t.Context()), tx.Begin(), tx.Produce(&client.Message{Topic: "t"}, 1), tx.Flush(t.Context())} {
			if err != nil {
				t.Fatal(err)
			}
		}
		c.Append(at(0), client.Message{Value: []byte("behind")})
		began := time.Now()
		s := consume(t, c, nil)
		defer s.close()
		if err := s.Assign([]client.Offset{position(0, 0)}); err != nil {
			t.Fatal(err)
		}
		var m client.Message
		if kind, _ := s.Poll(time.Minute, &m); kind != client.Record || string(m.Value) != "behind" {
			t.Fatalf("got event %d, %q", kind, m.Value)
		}
		if took := time.Since(began).Round(time.Second); took != 8*time.Second {
			t.Errorf("the record behind came after %v, want 8 s", took)
		}
		if err := tx.CommitTransaction(t.Context()); !client.IsFatal(err) {
			t.Errorf("commit: got %v, want a fatal error", err)
		}
	})
}

func TestTransactionsFailAsOrdered(t *testing.T) {
	bubble(t, fake.Config{}, 1, func(t *testing.T, c *fake.Cluster) {
		tx, err := c.Transactor(client.ProducerConfig{Config: client.Config{"transactional.id": "x"}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Close() }()
		for _, err := range []error{tx.Init(t.Context()), tx.Begin(), tx.Produce(&client.Message{Topic: "t"}, 1)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		c.FailTransactions(1, client.Error{Code: client.TimedOut, Retry: true})
		wantCode(t, "commit", tx.CommitTransaction(t.Context()), client.TimedOut)
		wantCode(t, "commit again", tx.CommitTransaction(t.Context()), 0)
	})
}

func TestAdminFailsAsOrdered(t *testing.T) {
	bubble(t, fake.Config{}, 1, func(t *testing.T, c *fake.Cluster) {
		admin, err := c.Admin(nil)
		if err != nil {
			t.Fatal(err)
		}
		c.FailAdmin(fake.CallTopicConfig, client.TopicAuthorization, 1)
		_, err = admin.TopicConfig(t.Context(), "t")
		wantCode(t, "settings", err, client.TopicAuthorization)
		_, err = admin.TopicConfig(t.Context(), "t")
		wantCode(t, "settings again", err, 0)
	})
}
