package consumer

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// poisoned fails for ever for the values that begin with x.
func poisoned(_ context.Context, rec *Record) error {
	if bytes.HasPrefix(rec.Value, []byte("x")) {
		return retry.Poison(errDown)
	}
	return nil
}

// topic creates a topic with settings of its own.
func (r *rig) topic(name string, partitions int, settings map[string]string) {
	r.t.Helper()
	admin, _ := r.cluster.Admin(nil)
	err := admin.CreateTopics(context.Background(), []client.TopicSpec{{Topic: name, Partitions: partitions, Config: settings}})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) deleteTopic(name string) {
	r.t.Helper()
	admin, _ := r.cluster.Admin(nil)
	if err := admin.DeleteTopics(context.Background(), []string{name}); err != nil {
		r.t.Fatal(err)
	}
}

func TestSourceWaitsForTheCopysAcknowledgement(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"dead letter": retry.Poison(errDown), "lane": errDown} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				release := r.cluster.HoldReports()
				r.put(0, "a", "x", "b", "c")
				m := r.run(func(_ context.Context, rec *Record) error {
					if string(rec.Value) == "x" && rec.Attempt() == 1 {
						return err
					}
					return nil
				})
				r.untilCommitted("orders", 0, 1)
				pass(30 * time.Second)
				r.wantCommitted("orders", 0, 1)
				if p := m.partition("orders", 0); p.Publishing != 1 || p.Position != 1 {
					t.Errorf("publishing %d, position %d; want 1, 1", p.Publishing, p.Position)
				}
				if n := len(r.of(0, 3)); n != 1 {
					t.Errorf("the last record was handled %d times while the copy is written, want 1", n)
				}
				release()
				r.untilCommitted("orders", 0, 4)
				m.stop()
			})
		})
	}
}

func TestDeadLetterTopicOutOfOrderForAMinute(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		m := r.run(poisoned)
		m.owns(2)
		r.cluster.FailProduce(deadLetters, client.NotEnoughReplicas, 16)
		began := time.Now()
		r.put(0, "a", "x", "b", "c")
		for second := int64(1); second <= 50; second++ {
			r.put(1, "a")
			pass(time.Second)
			if second < 3 {
				continue // the first commit
			}
			if r.count(EventPublishRetry) >= 16 {
				break
			}
			r.wantCommitted("orders", 0, 1)
			if !slices.Contains(m.gates("orders", 0), "publish") || slices.Contains(m.gates("orders", 1), "publish") {
				t.Fatalf("gates %v and %v after %d s, want publish on the first alone", m.gates("orders", 0), m.gates("orders", 1), second)
			}
			if got := r.committed("orders", 1); got < second-2 {
				t.Fatalf("the other partition is at %d after %d s", got, second)
			}
		}
		r.untilCommitted("orders", 0, 4)
		if down := time.Since(began); down < 40*time.Second {
			t.Errorf("16 tries took %v: the waits do not grow", down)
		}
		if l := r.letter(); l.Count != 1 || l.Meta.Hop != 1 {
			t.Errorf("count %d, hop %d; want 1, 1", l.Count, l.Meta.Hop)
		}
		if gates := m.gates("orders", 0); len(gates) > 0 {
			t.Errorf("gates %v after the recovery", gates)
		}
		if n := len(r.of(0, 1)); n != 1 {
			t.Errorf("%d attempts of the dead record, want 1: a copy that is not written charges nothing", n)
		}
		m.stop()
	})
}

func TestLostAcknowledgementsRepeatTheCopyWithTheSameHop(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.cluster.LoseAcks(deadLetters, 2)
		r.put(0, "x")
		m := r.run(poisoned)
		r.untilCommitted("orders", 0, 1)
		m.stop()
		letters := r.letters()
		if len(letters) != 3 {
			t.Fatalf("%d dead letters after two lost acknowledgements, want 3", len(letters))
		}
		for _, l := range letters {
			if l.Meta.Hop != 1 || l.OriginID != letters[0].OriginID || l.Count != 1 {
				t.Errorf("hop %d, origin %s, count %d", l.Meta.Hop, l.OriginID, l.Count)
			}
		}
	})
}

func TestFatalProducerErrorMeansANewProducer(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		m := r.run(poisoned)
		r.put(0, "x")
		r.untilCommitted("orders", 0, 1)
		release := r.cluster.HoldReports()
		r.put(0, "x", "a")
		r.until("a copy in flight", time.Second, func() bool { return m.partition("orders", 0).Publishing == 1 })
		r.cluster.Producers()[0].Fail(client.Error{Code: client.Fenced, Text: "fenced", Fatal: true})
		r.until("a second producer", 10*time.Second, func() bool { return r.library.producersMade() == 2 })
		release()
		r.untilCommitted("orders", 0, 3)
		r.put(0, "x")
		r.untilCommitted("orders", 0, 4)
		m.stop()
		copies := map[int64]int{}
		for _, l := range r.letters() {
			copies[l.Meta.Origin.Offset]++
			if l.Meta.Hop != 1 {
				t.Errorf("hop %d of offset %d, want 1", l.Meta.Hop, l.Meta.Origin.Offset)
			}
		}
		if copies[0] != 1 || copies[1] == 0 || copies[3] != 1 {
			t.Errorf("copies by offset: %v", copies)
		}
		if n := r.library.producersMade(); n != 2 {
			t.Errorf("%d producers were made, want 2", n)
		}
	})
}

// smallTopics makes lanes that hold little and a dead-letter topic that holds
// less than a record of the source.
func (r *rig) smallTopics() func(*Config) {
	limit := map[string]string{"max.message.bytes": "10000"}
	r.topic(deadLetters, 1, limit)
	r.topic(lane(time.Second), 1, limit)
	r.topic(lane(10*time.Second), 1, limit)
	r.topic(replays, 1, nil)
	return func(c *Config) { c.Provision = ProvisionOff }
}

func TestTooLargeIsHeldUntilSomebodyRaisesTheLimit(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"dead letter": "x", "lane": "y"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(2), func(t *testing.T, r *rig) {
				large := first + string(bytes.Repeat([]byte("v"), 20_000))
				r.put(0, "a", large, "b")
				m := r.run(func(_ context.Context, rec *Record) error {
					switch {
					case rec.Value[0] == 'x':
						return retry.Poison(errDown)
					case rec.Value[0] == 'y' && rec.Attempt() == 1:
						return errDown
					}
					return nil
				}, r.smallTopics(), func(c *Config) {
					c.Routes[0].TooLarge = map[string]TooLarge{"x": TooLargeHold, "y": TooLargeOmit}[first]
				})
				for range 20 {
					pass(15 * time.Second)
					r.put(1, "a")
				}
				r.untilCommitted("orders", 1, 20)
				r.wantCommitted("orders", 0, 1)
				if gates := m.gates("orders", 0); !slices.Contains(gates, "publish") {
					t.Errorf("gates %v, want publish", gates)
				}
				topic := map[string]string{"x": deadLetters, "y": lane(time.Second)}[first]
				if n := len(r.in(topic)); n > 0 {
					t.Errorf("%d copies of a record that does not fit", n)
				}
				r.deleteTopic(topic)
				r.topic(topic, 1, nil)
				r.untilCommitted("orders", 0, 3)
				if got := r.in(topic); len(got) != 1 || string(got[0].Value) != large {
					t.Errorf("%d copies after the limit was raised, want 1 with its value", len(got))
				}
				m.stop()
			})
		})
	}
}

func TestTooLargeOmitKeepsTheCoordinates(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		large := append([]byte("x"), bytes.Repeat([]byte("v"), 20_000)...)
		r.cluster.Append(at("orders", 0), client.Message{
			Key: []byte("k"), Value: large, Headers: []retry.Header{{Key: "h", Value: []byte("v")}},
		}, client.Message{Value: []byte("a")})
		m := r.run(poisoned, r.smallTopics(), func(c *Config) { c.Routes[0].TooLarge = TooLargeOmit })
		r.untilCommitted("orders", 0, 2)
		m.stop()
		l := r.letter()
		got := r.in(deadLetters)[0]
		user, _, _ := retry.Decode(got.Headers)
		if got.Key != nil || got.Value != nil || len(user) > 0 {
			t.Errorf("key %q, %d bytes of value, headers %v; want none", got.Key, len(got.Value), user)
		}
		if l.Meta.Origin.Topic != "orders" || l.Meta.Origin.Offset != 0 || l.Disposition != retry.DispositionPoison {
			t.Errorf("origin %+v, disposition %s", l.Meta.Origin, l.Disposition)
		}
	})
}

func TestABatchTooLargeIsTriedRecordByRecord(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		for range 10 {
			r.put(0, "x"+string(bytes.Repeat([]byte("v"), 3000)))
		}
		m := r.run(poisoned, r.smallTopics())
		r.untilCommitted("orders", 0, 10)
		m.stop()
		seen := map[int64]int{}
		for _, l := range r.letters() {
			seen[l.Meta.Origin.Offset]++
		}
		if len(seen) != 10 || len(r.letters()) != 10 {
			t.Errorf("dead letters by offset: %v, want one of each of 10", seen)
		}
	})
}

func TestFailuresRememberedAreBounded(t *testing.T) {
	t.Parallel()
	var tsk task
	for range 1000 {
		tsk.note(errDown, retry.ClassTransient)
	}
	if n := len(tsk.failed.attempts); n > retry.MaxFailures {
		t.Errorf("%d failures are remembered of a record that fails for ever, want at most %d", n, retry.MaxFailures)
	}
}

func TestDeadLetterTellsTheFirstAndTheLatestFailures(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a")
		m := r.run(func(_ context.Context, rec *Record) error { return fmt.Errorf("attempt %d", rec.Attempt()) },
			func(c *Config) { c.Routes[0].RetryMode, c.Retry.MaxAttempts = InPlace, 20 })
		r.until("a dead letter", 5*time.Minute, func() bool { return len(r.letters()) == 1 })
		m.stop()
		var texts []string
		for _, f := range r.letter().Meta.Attempts {
			texts = append(texts, f.Text)
		}
		want := []string{"attempt 1"}
		for i := 14; i <= 20; i++ {
			want = append(want, fmt.Sprintf("attempt %d", i))
		}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
	})
}

func TestDLQDropIsDone(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a", "x", "b")
		m := r.run(poisoned, func(c *Config) { c.Routes[0].DLQ = DLQDrop })
		r.untilCommitted("orders", 0, 3)
		if s := m.state(); s.Dropped != 1 || s.Dead != 0 {
			t.Errorf("dropped %d, dead %d; want 1, 0", s.Dropped, s.Dead)
		}
		m.stop()
		if r.partitions(deadLetters) != 0 {
			t.Error("a dead-letter topic was created for a route that drops")
		}
	})
}

func TestDLQBlockKeepsTheUnitWaiting(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		r.put(0, "a", "x", "b", "x", "c")
		r.put(1, "a", "b")
		var healed bool
		m := r.run(func(ctx context.Context, rec *Record) error {
			if healed {
				return nil
			}
			return poisoned(ctx, rec)
		}, func(c *Config) { c.Routes[0].DLQ = DLQBlock })
		pass(time.Minute)
		r.wantCommitted("orders", 0, 1)
		r.wantCommitted("orders", 1, 2)
		if n := len(r.of(0, 2)) + len(r.of(0, 3)) + len(r.of(0, 4)); n > 0 {
			t.Errorf("%d calls for the records behind a blocked one", n)
		}
		if calls := r.of(0, 1); len(calls) < 5 || calls[len(calls)-1].attempt != 1 {
			t.Errorf("%d calls of the blocked record in a minute, want one each 10 s", len(calls))
		}
		healed = true
		r.untilCommitted("orders", 0, 5)
		m.stop()
	})
}
