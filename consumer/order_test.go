package consumer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// moody handlers take a random time and fail now and then, repeatably.
type moody struct {
	mu      sync.Mutex // guards random
	random  *rand.Rand
	failing float64
}

func (h *moody) handle(_ context.Context, rec *Record) error {
	h.mu.Lock()
	took := time.Duration(h.random.Int64N(int64(20 * time.Millisecond)))
	fails, holds := h.random.Float64() < h.failing && rec.Attempt() < 3, h.random.Float64() < h.failing
	h.mu.Unlock()
	pause(took)
	switch {
	case fails:
		return errDown
	case holds:
		return retry.Hold(errDown, took)
	}
	return nil
}

// keyed appends n records to a partition with keys of a few, a twelfth of them nil.
func (r *rig) keyed(partition int32, n int, random *rand.Rand) {
	for i := range n {
		m := client.Message{Value: fmt.Append(nil, i)}
		if k := random.IntN(12); k > 0 {
			m.Key = fmt.Append(nil, "key", k)
		}
		r.cluster.Append(at("orders", partition), m)
	}
}

// inOrder checks that the calls of each unit are one at a time and, as far as
// they succeed, in the order of offsets.
func inOrder(t *testing.T, calls []call, unit func(call) string) {
	t.Helper()
	last := map[string]call{}
	newest := map[string]int64{}
	for _, c := range calls {
		u := unit(c)
		if before, ok := last[u]; ok && (before.ended.IsZero() || c.began.Before(before.ended)) {
			t.Errorf("%s: offset %d began at %v, before offset %d ended", u, c.offset, c.began, before.offset)
		}
		last[u] = c
		if c.err != nil {
			continue
		}
		if before, ok := newest[u]; ok && c.offset <= before {
			t.Errorf("%s: offset %d succeeded after offset %d", u, c.offset, before)
		}
		newest[u] = c.offset
	}
}

// most is the largest number of calls at once.
func most(calls []call) int {
	n := 0
	for _, c := range calls {
		at := 0
		for _, other := range calls {
			if !other.began.After(c.began) && other.ended.After(c.began) {
				at++
			}
		}
		n = max(n, at)
	}
	return n
}

func TestOrderIsKeptWithinTheUnit(t *testing.T) {
	t.Parallel()
	partition := func(c call) string { return fmt.Sprintf("partition %d", c.partition) }
	key := func(c call) string { return fmt.Sprintf("partition %d key %s", c.partition, c.key) }
	cases := map[string]struct {
		ordering Ordering
		unit     func(call) string
		failing  float64
	}{
		"by partition":                   {ByPartition, partition, 0},
		"by partition, retries in place": {ByPartition, partition, 0.2},
		"by key":                         {ByKey, key, 0},
		"by key, retries in place":       {ByKey, key, 0.2},
	}
	for name, test := range cases {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				bubble(t, orders(3), func(t *testing.T, r *rig) {
					random := rand.New(rand.NewPCG(seed, 1))
					h := &moody{random: random, failing: test.failing}
					for p := range int32(3) {
						r.keyed(p, 60, random)
					}
					m := r.run(h.handle, func(c *Config) {
						c.Routes[0].Ordering, c.Routes[0].RetryMode = test.ordering, InPlace
						c.Retry.Initial = 30 * time.Millisecond
					})
					for p := range int32(3) {
						r.untilCommitted("orders", p, 60)
					}
					m.stop()
					calls := r.made()
					if test.ordering == ByKey {
						calls = slices.DeleteFunc(calls, func(c call) bool { return c.key == "" })
					}
					inOrder(t, calls, test.unit)
				})
			})
		}
	}
}

func TestQuickRecordsWaitBehindOneThatFailedInPlace(t *testing.T) {
	t.Parallel()
	for name, ordering := range map[string]Ordering{"by partition": ByPartition, "by key": ByKey} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				records := make([]client.Message, 60)
				for i := range records {
					records[i].Key = []byte("key")
				}
				r.cluster.Append(at("orders", 0), records...) // one run of them
				m := r.run(func(_ context.Context, rec *Record) error {
					if rec.Offset%7 == 3 && rec.Attempt() < 3 {
						return errDown
					}
					return nil
				}, func(c *Config) { c.Routes[0].RetryMode, c.Routes[0].Ordering = InPlace, ordering })
				r.until("all committed", 5*time.Minute, func() bool { return r.committed("orders", 0) == 60 })
				m.stop()
				inOrder(t, r.made(), func(call) string { return "the unit" })
				if n := len(r.made()); n != 60+2*9 {
					t.Errorf("%d calls, want each once and nine of them three times", n)
				}
			})
		})
	}
}

func TestByKeyOtherKeysProceedBehindAStuckOne(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		release := make(chan struct{})
		m := r.run(func(_ context.Context, rec *Record) error {
			if string(rec.Key) == "stuck" {
				<-release
			}
			return nil
		}, func(c *Config) { c.Routes[0].Ordering = ByKey })
		for i := range 50 {
			key := []byte("free")
			if i%5 == 0 {
				key = []byte("stuck")
			}
			r.cluster.Append(at("orders", 0), client.Message{Key: key})
		}
		r.until("the free ones done", 10*time.Second, func() bool { return m.state().Handled == 40 })
		if n := len(slices.DeleteFunc(r.made(), func(c call) bool { return c.key != "stuck" })); n != 1 {
			t.Errorf("%d calls for the stuck key, want 1", n)
		}
		r.wantCommitted("orders", 0, client.OffsetStored)
		close(release)
		r.untilCommitted("orders", 0, 50)
		m.stop()
	})
}

func TestByKeyEmptyIsAKeyAndNilIsNone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key  []byte
		want int
	}{"nil": {nil, 8}, "empty": {[]byte{}, 1}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				m := r.run(deaf(time.Second), func(c *Config) { c.Routes[0].Ordering, c.Concurrency = ByKey, 8 })
				for range 16 {
					r.cluster.Append(at("orders", 0), client.Message{Key: test.key})
				}
				r.untilCommitted("orders", 0, 16)
				m.stop()
				if got := most(r.made()); got != test.want {
					t.Errorf("%d at once, want %d", got, test.want)
				}
			})
		})
	}
}

func TestUnorderedUsesEverySlot(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		m := r.run(deaf(time.Second), func(c *Config) { c.Routes[0].Ordering, c.Concurrency = Unordered, 8 })
		r.putN(0, 40)
		r.untilCommitted("orders", 0, 40)
		m.stop()
		if got := most(r.made()); got != 8 {
			t.Errorf("%d at once, want 8", got)
		}
	})
}

func TestConcurrencyBoundsAllRoutesAndLanes(t *testing.T) {
	bubble(t, map[string]int{"orders": 6, "refunds": 6}, func(t *testing.T, r *rig) {
		h := func(_ context.Context, rec *Record) error {
			pause(300 * time.Millisecond)
			if rec.Attempt() == 1 && rec.Offset%2 == 0 {
				return errDown
			}
			return nil
		}
		m := r.run(h, func(c *Config) {
			c.Concurrency = 5
			c.Routes = append(c.Routes, Route{Topics: []string{"refunds"}, Handler: HandlerFunc(h), Ordering: Unordered})
		})
		for p := range int32(6) {
			r.putN(p, 6)
			r.cluster.Append(at("refunds", p), make([]client.Message, 6)...)
		}
		r.until("all done", time.Minute, func() bool { return m.state().Handled == 72 })
		m.stop()
		if got := most(r.made()); got != 5 {
			t.Errorf("%d at once, want 5", got)
		}
	})
}

func TestReplaysTakeAQuarterOfTheSlotsWhileOthersWait(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		m := r.run(deaf(time.Second), func(c *Config) { c.Routes[0].Ordering, c.Concurrency = Unordered, 8 })
		m.owns(1)
		for i := range 40 {
			r.cluster.Append(at(replays, 0), copyOf(func(s *retry.Stamp) {
				s.Kind, s.Count, s.Meta.Origin.Offset = retry.StampReplay, 0, int64(1000+i)
			}))
		}
		r.putN(0, 40)
		r.until("all handled", time.Minute, func() bool { return m.state().Handled == 80 })
		m.stop()
		var sources, replayed []call
		for _, c := range r.made() {
			if c.offset >= 1000 {
				replayed = append(replayed, c)
			} else {
				sources = append(sources, c)
			}
		}
		busy := sources[len(sources)-1].began // until then a source record waited
		first := sources[0].began
		early := slices.DeleteFunc(slices.Clone(replayed), func(c call) bool {
			return c.began.Before(first.Add(2*time.Second)) || !c.began.Before(busy)
		})
		if got := most(early); got == 0 || got > 3 { // a quarter of the ten runs that are out
			t.Errorf("%d replays at once while others waited, want at most 3", got)
		}
		if got := most(replayed); got != 8 {
			t.Errorf("%d replays at once when nobody waited, want 8", got)
		}
	})
}
