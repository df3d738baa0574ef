package consumer

import (
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/breaker"
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/client/fake"
)

// A dead letter that could not be written by the end is told, although every
// client closed in peace and nothing is lost.
func TestStopTellsOfADeadLetterThatWasNeverWritten(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.cluster.FailProduce(deadLetters, client.NotEnoughReplicas, 1_000_000)
		m := r.run(poisoned, func(c *Config) { c.DrainTimeout = time.Second })
		m.owns(1)
		r.put(0, "x")
		r.until("a call", 5*time.Second, func() bool { return len(r.made()) == 1 })
		stop, took := m.stopError()
		if stop.Publishing != 1 || len(stop.Unclosed) != 0 {
			t.Errorf("%+v, want one copy not acknowledged and every client closed", stop)
		}
		if took > 11*time.Second {
			t.Errorf("stopped after %v, want at most 11 s", took)
		}
		r.wantCommitted("orders", 0, client.OffsetStored)
	})
}

// A stop while no broker answers is heeded, however long the start may take.
func TestStopWhileNoBrokerAnswers(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.cluster.FailAdmin(fake.CallClusterID, client.TimedOut, 1_000_000)
		cfg := r.config(done)
		cfg.StartTimeout = time.Hour
		m := r.start(cfg)
		pass(10 * time.Second)
		began := time.Now()
		if err := m.end(); err != nil {
			t.Errorf("Run returned %v", err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("stopped after %v", took)
		}
	})
}

func TestNilMiddlewareIsAMistake(t *testing.T) {
	t.Parallel()
	_, err := New(Config{
		Brokers: "fake:9092", Group: billing, Use: []Middleware{nil},
		Routes: []Route{{Topics: []string{"orders"}, Handler: HandlerFunc(nil), Breakers: []*breaker.Breaker{nil}}},
	})
	if err == nil {
		t.Fatal("got no error")
	}
	wantText(t, err.Error(), "use 0: nil", "handler: required", "breaker 0: nil")
}
