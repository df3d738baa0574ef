package dlq

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The state of a dead letter is the last decision in ledger order that covers
// it; an outcome counts only while the replay it names is that decision.
func TestLedgerAgainstAModel(t *testing.T) {
	t.Parallel()
	const limit = 20
	rapid.Check(t, func(t *rapid.T) {
		var ledger Ledger
		model := map[int64]Decision{}
		var ids []string
		n := rapid.IntRange(1, 30).Draw(t, "entries")
		for i := range n {
			e := &Entry{ID: fmt.Sprint(i)}
			for range rapid.IntRange(1, 3).Draw(t, "ranges") {
				from := rapid.Int64Range(0, limit).Draw(t, "from")
				e.Ranges = append(e.Ranges, Range{from, from + rapid.Int64Range(0, 6).Draw(t, "length")})
			}
			if len(ids) > 0 && rapid.Bool().Draw(t, "outcome") {
				e.Of = rapid.SampledFrom(ids).Draw(t, "of")
				e.State = rapid.SampledFrom([]State{OutcomeDone, OutcomeDead}).Draw(t, "outcome state")
			} else {
				e.State = rapid.SampledFrom([]State{StateOpen, StateReplayed, StateReplayed, StateResolved}).Draw(t, "state")
				ids = append(ids, e.ID)
			}
			ledger.Apply(e)
			for _, r := range e.Ranges {
				for o := r.From; o <= r.To; o++ {
					d := model[o]
					switch {
					case e.Of == "":
						model[o] = Decision{Entry: e}
					case d.Entry != nil && d.Entry.ID == e.Of && d.Entry.State == StateReplayed:
						model[o] = Decision{Entry: d.Entry, Outcome: e}
					}
				}
			}
		}
		var decided int64
		for o := int64(0); o <= limit+8; o++ {
			if got := ledger.Decision(0, o); got != model[o] {
				t.Fatalf("offset %d: %v, want %v", o, got.State(), model[o].State())
			}
			if model[o].State() != StateOpen {
				decided++
			}
		}
		if got := ledger.Decided(0, 0, limit+8); got != decided {
			t.Fatalf("decided %d, want %d", got, decided)
		}
		if ledger.State(1, 0) != StateOpen {
			t.Fatal("another partition is decided too")
		}
	})
}

func TestEntryOnTheWire(t *testing.T) {
	t.Parallel()
	e := &Entry{
		TopicID: "q1Nv2yO0RrWcZf0aTgWk8A", Partition: 3, ID: "r1.7", State: StateReplayed,
		Ranges: []Range{{3, 7}, {9, 9}}, By: "kim", At: time.UnixMilli(1790000000000),
		Why: "gateway is back", Run: "r1", Target: "payments.billing.replay",
	}
	m, err := e.message("l", 8)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(m.Key), "q1Nv2yO0RrWcZf0aTgWk8A/3/3/r1.7"; got != want {
		t.Errorf("key %q, want %q", got, want)
	}
	want := `{"v":1,"state":"replayed","ranges":[[3,7],[9,9]],"by":"kim","at":1790000000000,` +
		`"why":"gateway is back","run":"r1","target":"payments.billing.replay"}`
	if string(m.Value) != want || m.Partition != 3 {
		t.Errorf("partition %d, value %s\nwant %s", m.Partition, m.Value, want)
	}
	got, err := parseEntry(m.Key, m.Value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestLedgerRecordsThatDoNotCount(t *testing.T) {
	t.Parallel()
	value := []byte(`{"v":1,"state":"replayed","ranges":[[0,0]],"at":1}`)
	tests := []struct {
		name, key  string
		value      []byte
		state      State
		unreadable int
	}{
		{"ours", "id/0/0/e", value, StateReplayed, 0},
		{"of a topic that was deleted", "other/0/0/e", value, StateOpen, 0},
		{"of an id that begins like ours", "id2/0/0/e", value, StateOpen, 0},
		{"a tombstone", "id/0/0/e", nil, StateOpen, 0},
		{"no JSON", "id/0/0/e", []byte("{"), StateOpen, 1},
		{"a newer version", "id/0/0/e", []byte(`{"v":2}`), StateOpen, 1},
		{"no ranges", "id/0/0/e", []byte(`{"v":1,"state":"replayed"}`), StateOpen, 1},
		{"another first offset", "id/0/1/e", value, StateOpen, 1},
		{"a backward range", "id/0/5/e", []byte(`{"v":1,"ranges":[[5,4]]}`), StateOpen, 1},
		{"a negative partition", "id/-1/0/e", value, StateOpen, 1},
		{"a short key", "id/0", value, StateOpen, 1},
	}
	for _, tt := range tests {
		var l Ledger
		l.read("id", []byte(tt.key), tt.value)
		if l.State(0, 0) != tt.state || l.Unreadable != tt.unreadable {
			t.Errorf("%s: state %s, %d unreadable; want %s, %d", tt.name, l.State(0, 0), l.Unreadable, tt.state, tt.unreadable)
		}
	}
}

func TestLeaseIsLiveForTwentySeconds(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1790000000000)
	tests := []struct {
		name string
		l    lease
		want bool
	}{
		{"none", lease{}, false},
		{"fresh", lease{Run: "r", At: now}, true},
		{"just before", lease{Run: "r", At: now.Add(-leaseStale + 1)}, true},
		{"at the edge", lease{Run: "r", At: now.Add(-leaseStale)}, false},
		{"over", lease{Run: "r", At: now, Over: true}, false},
		{"a fast clock", lease{Run: "r", At: now.Add(leaseStale - 1)}, true},
		{"from the far future", lease{Run: "r", At: now.Add(time.Hour)}, false},
	}
	for _, tt := range tests {
		if got := tt.l.live(now); got != tt.want {
			t.Errorf("%s: live %v, want %v", tt.name, got, tt.want)
		}
	}
}

// FuzzLedgerRead holds for any bytes in the ledger of a DLQ: reading does not
// panic, and what was read is written back so that it reads the same.
func FuzzLedgerRead(f *testing.F) {
	f.Add([]byte("id/0/0/e"), []byte(`{"v":1,"state":"replayed","ranges":[[0,0]],"at":1}`))
	f.Add([]byte("id/lease"), []byte(`{"v":1,"run":"r","at":1}`))
	f.Add([]byte("id/2147483648/0/"), []byte(`{"v":1,"ranges":[[0,9223372036854775807]]}`))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		var l Ledger
		l.read("id", key, value)
		l.State(0, 0)
		e, err := parseEntry(key, value)
		if err != nil {
			return
		}
		m, err := e.message("l", 1)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseEntry(m.Key, m.Value)
		if err != nil || !cmp.Equal(e, again) {
			t.Fatalf("%+v read back as %+v: %v", e, again, err)
		}
	})
}
