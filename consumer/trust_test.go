package consumer

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

func header(name, value string) Header { return Header{Key: name, Value: []byte(value)} }

// visible compares headers with what the producer sent.
func visible(t *testing.T, what string, want, got []Header) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(equal)); diff != "" {
		t.Errorf("headers %s (-want +got):\n%s", what, diff)
	}
}

func TestRetryHeadersOnASourceRecordAreLuggage(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"text": "many", "negative": "-7", "huge": "9223372036854775808", "count": "2",
		"a megabyte": strings.Repeat("9", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				headers := []Header{
					header("trace", "1"), header(retry.HeaderCount, value), header(retry.HeaderDue, "99999999999999"),
					header(retry.HeaderOrigin, "other/0/1@2/x"), header(retry.HeaderPacked, `{"v":1,"group":"billing","hop":4}`),
					header(retry.HeaderCount, value),
				}
				r.cluster.Append(at("orders", 0), client.Message{Value: []byte("v"), Headers: headers})
				var seen [][]Header
				m := r.run(func(_ context.Context, rec *Record) error {
					seen = append(seen, rec.Headers)
					if rec.Attempt() == 1 {
						return errDown
					}
					return retry.Poison(errDown)
				}, func(c *Config) { c.Provision = ProvisionOff }, r.allTopics())
				r.until("a dead letter", 10*time.Second, func() bool { return len(r.letters()) == 1 })
				m.stop()
				calls := r.of(0, 0)
				if len(calls) != 2 || calls[0].attempt != 1 || calls[1].attempt != 2 {
					t.Fatalf("calls %+v, want attempts 1 and 2", calls)
				}
				for i, got := range seen {
					visible(t, fmt.Sprintf("at attempt %d", i+1), headers, got)
				}
				for _, topic := range []string{lane(time.Second), deadLetters} {
					copied := r.in(topic)[0]
					user, stamp, problems := retry.Decode(copied.Headers)
					visible(t, "on "+topic, headers, user)
					if problems != 0 || stamp.Meta.Origin.Topic != "orders" {
						t.Errorf("%s: problems %v, origin %+v", topic, problems, stamp.Meta.Origin)
					}
					if n := strings.Count(fmt.Sprint(names(copied.Headers)), retry.ShadowPrefix); n != 5 {
						t.Errorf("%s: %d shadowed headers, want 5", topic, n)
					}
				}
			})
		})
	}
}

func names(headers []Header) []string {
	var out []string
	for _, h := range headers {
		out = append(out, h.Key)
	}
	return out
}

// allTopics makes lanes and dead letters that hold anything.
func (r *rig) allTopics() func(*Config) {
	large := map[string]string{"max.message.bytes": "10000000"}
	for _, name := range []string{deadLetters, replays, lane(time.Second), lane(10 * time.Second)} {
		r.topic(name, r.partitions("orders"), large)
	}
	return func(*Config) {}
}

// copyOf is a copy as this group would have written it.
func copyOf(change func(*retry.Stamp)) client.Message {
	s := retry.Stamp{Kind: retry.StampLane, Count: 1, Meta: retry.Meta{
		Group: billing, Cluster: "fake", Hop: 1,
		Origin: retry.Origin{Topic: "orders", Partition: 0, Offset: 7, Timestamp: 1000, TimestampType: 1, LeaderEpoch: -1},
	}}
	now := time.Now().UnixMilli()
	s.Due = now
	change(&s)
	return client.Message{Timestamp: now, Value: []byte("v"), Headers: retry.Encode(nil, s)}
}

// set replaces a header's value on a message.
func set(m client.Message, name, value string) client.Message {
	for i := range m.Headers {
		if m.Headers[i].Key == name {
			m.Headers[i].Value = []byte(value)
		}
	}
	return m
}

func TestHostileCountsOnALaneAreClampedAndNeverLower(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		count    string
		attempts int // of the one call
	}{
		"text": {"many", 2}, "negative": {"-7", 2}, "lower": {"0", 2}, "huge": {"9223372036854775808", retry.MaxCount + 1},
		"a megabyte": {strings.Repeat("9", 1<<20), 2}, "higher": {"2", 3},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				m := r.run(always(retry.Poison(errDown)), func(c *Config) { c.Provision = ProvisionOff }, r.allTopics())
				m.owns(1)
				r.cluster.Append(at(lane(time.Second), 0), set(copyOf(func(*retry.Stamp) {}), retry.HeaderCount, test.count))
				r.until("a dead letter", 30*time.Second, func() bool { return len(r.letters()) == 1 })
				m.stop()
				got := r.of(0, 7)
				if len(got) != 1 || got[0].attempt < min(test.attempts, 2) || got[0].attempt > retry.MaxCount+1 {
					t.Fatalf("calls %+v", got)
				}
				if name != "huge" && name != "a megabyte" && got[0].attempt != test.attempts {
					t.Errorf("attempt %d, want %d", got[0].attempt, test.attempts)
				}
				if l := r.letter(); l.Count < 2 || l.Count > retry.MaxCount {
					t.Errorf("count %d on the dead letter", l.Count)
				}
			})
		})
	}
}

func TestHostileDueNeverDelaysBeyondTheLane(t *testing.T) {
	t.Parallel()
	for name, due := range map[string]string{
		"a day":    fmt.Sprint(time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC).UnixMilli()),
		"for ever": fmt.Sprint(retry.MaxTime), "overflow": "9223372036854775807", "beyond": "92233720368547758070",
		"negative": "-5", "text": "tomorrow", "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				m := r.run(done)
				m.owns(1)
				r.cluster.Append(at(lane(10*time.Second), 0), set(copyOf(func(*retry.Stamp) {}), retry.HeaderDue, due))
				began := time.Now()
				acted := func() bool { return len(r.made())+r.count(EventParked) > 0 }
				r.until("handled or moved on", 13*time.Second, acted)
				if took := time.Since(began); took > 12*time.Second+100*time.Millisecond {
					t.Errorf("the first lane kept it %v, want at most 1.2 times its 10 s", took)
				}
				m.stop()
			})
		})
	}
}

func TestWhatIsNotOursOnOurLaneStops(t *testing.T) {
	t.Parallel()
	garbage := func(headers ...Header) func(time.Time) client.Message {
		return func(time.Time) client.Message { return client.Message{Value: []byte("v"), Headers: headers} }
	}
	changed := func(change func(*retry.Stamp)) func(time.Time) client.Message {
		return func(time.Time) client.Message { return copyOf(change) }
	}
	for name, message := range map[string]func(time.Time) client.Message{
		"another group":   changed(func(s *retry.Stamp) { s.Meta.Group = "shipping" }),
		"another cluster": changed(func(s *retry.Stamp) { s.Meta.Cluster = "elsewhere" }),
		"another topic":   changed(func(s *retry.Stamp) { s.Meta.Origin.Topic = "refunds" }),
		"no headers":      garbage(),
		"no packed":       garbage(header(retry.HeaderCount, "1")),
		"packed garbage":  garbage(header(retry.HeaderPacked, "\xff\x00{")),
		"of the future":   garbage(header(retry.HeaderPacked, `{"v":99,"group":"billing"}`)),
		"other origin": func(time.Time) client.Message {
			return set(copyOf(func(*retry.Stamp) {}), retry.HeaderOrigin, "orders/0/8@1000/billing")
		},
	} {
		for _, topic := range []string{lane(time.Second), replays} {
			t.Run(name+" on "+topic, func(t *testing.T) {
				bubble(t, orders(2), func(t *testing.T, r *rig) {
					m := r.run(done)
					m.owns(2)
					r.cluster.Append(at(topic, 0), copyOf(func(*retry.Stamp) {}))
					r.untilCommitted(topic, 0, 1)
					r.cluster.Append(at(topic, 0), message(time.Now()), copyOf(func(*retry.Stamp) {}))
					r.cluster.Append(at(topic, 1), copyOf(func(*retry.Stamp) {}))
					r.untilCommitted(topic, 1, 1)
					pass(30 * time.Second)
					r.wantCommitted(topic, 0, 1)
					if gates := m.gates(topic, 0); !slices.Contains(gates, "foreign") {
						t.Errorf("gates %v, want foreign", gates)
					}
					if n := len(r.made()); n != 2 || r.count(EventForeign) != 1 {
						t.Errorf("%d calls and %d alarms, want 2 and 1", n, r.count(EventForeign))
					}
					m.stop()
					r.wantCommitted(topic, 0, 1)
				})
			})
		}
	}
}

// replayed is a record replayed to the source for a group.
func replayed(group, cluster, topic string) client.Message {
	m := copyOf(func(s *retry.Stamp) {
		s.Kind, s.Count = retry.StampReplay, 0
		s.Meta.Replay = &retry.Replay{Of: "d/0/1", Count: 1, Run: "r", Target: &retry.Target{Cluster: cluster, Topic: topic, Group: group}}
		s.Meta.Group, s.Meta.Cluster = group, cluster
	})
	return m
}

func TestReplayToTheSource(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		message client.Message
		handled bool
		offset  int64 // as the handler sees it
	}{
		"for another group":            {replayed("shipping", "fake", "orders"), false, 0},
		"for us":                       {replayed(billing, "fake", "orders"), true, 7},
		"for another cluster":          {replayed("shipping", "elsewhere", "orders"), true, 0},
		"for another topic":            {replayed("shipping", "fake", "refunds"), true, 0},
		"for us, from another cluster": {replayed(billing, "elsewhere", "orders"), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				r.cluster.Append(at("orders", 0), test.message)
				r.put(0, "a")
				m := r.run(done)
				r.untilCommitted("orders", 0, 2)
				m.stop()
				want := 1
				if test.handled {
					want = 2
				}
				calls := r.made()
				if len(calls) != want || r.count(EventPassed) != 2-want {
					t.Fatalf("%d calls, %d passed by; want %d calls", len(calls), r.count(EventPassed), want)
				}
				if test.handled && (calls[0].offset != test.offset || calls[0].attempt != 1) {
					t.Errorf("offset %d, attempt %d; want %d, 1", calls[0].offset, calls[0].attempt, test.offset)
				}
			})
		})
	}
}

// bytesOrNil draws null, empty and other bytes.
func bytesOrNil() *rapid.Generator[[]byte] {
	return rapid.OneOf(rapid.Just([]byte(nil)), rapid.Just([]byte{}), rapid.SliceOfN(rapid.Byte(), 1, 20))
}

func TestCopiesAreByteForByte(t *testing.T) {
	t.Parallel()
	name := rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "a", "trace", retry.HeaderCount, retry.HeaderPacked, retry.HeaderOrigin,
			retry.ShadowPrefix, retry.ShadowPrefix + retry.HeaderCount, retry.HeaderDisposition,
		}),
		rapid.StringN(0, 10, 40).Filter(func(s string) bool { return !strings.Contains(s, "\x00") }))
	draw := rapid.Custom(func(t *rapid.T) client.Message {
		m := client.Message{Key: bytesOrNil().Draw(t, "key"), Value: bytesOrNil().Draw(t, "value")}
		for range rapid.IntRange(0, 5).Draw(t, "headers") {
			m.Headers = append(m.Headers, Header{Key: name.Draw(t, "name"), Value: bytesOrNil().Draw(t, "header")})
		}
		return m
	})
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfN(draw, 1, 10).Draw(rt, "records")
		rapid.SyncTest(rt, func(rt *rapid.T) {
			r := newRig(rt, orders(1))
			r.cluster.Append(at("orders", 0), want...)
			seen := map[int64][]client.Message{}
			c, err := New(r.config(func(_ context.Context, rec *Record) error {
				r.mu.Lock()
				seen[rec.Offset] = append(seen[rec.Offset], client.Message{Key: rec.Key, Value: rec.Value, Headers: rec.Headers})
				r.mu.Unlock()
				return errDown
			}, func(c *Config) {
				c.Routes[0].Ordering = Unordered
				c.Retry.Initial, c.Retry.Max = 10*time.Millisecond, 100*time.Millisecond
			}))
			if err != nil {
				rt.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Run(context.Background()) }()
			r.until("dead", time.Minute, func() bool { return len(r.letters()) == len(want) })
			if err := c.Stop(context.Background()); err != nil || <-ended != nil {
				rt.Errorf("did not stop: %v", err)
			}
			for _, letter := range r.in(deadLetters) {
				user, stamp, _ := retry.Decode(letter.Headers)
				o := stamp.Meta.Origin.Offset
				seen[o] = append(seen[o], client.Message{Key: letter.Key, Value: letter.Value, Headers: user})
			}
			for i, w := range want {
				if len(seen[int64(i)]) != 4 {
					rt.Fatalf("record %d was seen %d times, want in 3 attempts and the dead letter", i, len(seen[int64(i)]))
				}
				for at, got := range seen[int64(i)] {
					same(rt, fmt.Sprintf("record %d, sight %d", i, at), w, got)
				}
			}
		})
	})
}

// equal tells null and empty apart.
func equal(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// same compares all that a copy must keep.
func same(t *rapid.T, what string, want, got client.Message) {
	if !equal(want.Key, got.Key) || !equal(want.Value, got.Value) || len(want.Headers) != len(got.Headers) {
		t.Fatalf("%s: got %q %q with %d headers, want %q %q with %d", what,
			got.Key, got.Value, len(got.Headers), want.Key, want.Value, len(want.Headers))
	}
	for i, h := range want.Headers {
		if g := got.Headers[i]; g.Key != h.Key || !equal(g.Value, h.Value) {
			t.Fatalf("%s: header %d is %q=%q, want %q=%q", what, i, g.Key, g.Value, h.Key, h.Value)
		}
	}
}
