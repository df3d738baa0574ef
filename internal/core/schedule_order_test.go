package core_test

import (
	"testing"

	"github.com/holdfast-kafka/holdfast/internal/core"
)

// TestOldestFirst: of the keys that may run, the one with the oldest record
// goes first. Going round the keys instead would leave a key's second record
// behind the first ones of all others, the position with it, and repeat
// thousands of records after a crash.
func TestOldestFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) {
		c.Slots = 1
		c.Routes[0].Ordering = core.ByKey
	})
	r.slow = true
	p := r.assign(0, core.Source, 0)
	var recs []*core.Rec
	for i, key := range []string{"a", "b", "a", "c", "", "a", "d"} {
		rec := &core.Rec{Part: p, Offset: int64(i), Size: 10}
		if key != "" {
			rec.Key = []byte(key)
		}
		recs = append(recs, rec)
	}
	r.step(&core.Arrived{Recs: recs})
	for _, want := range []string{"dispatch 0", "dispatch 1", "dispatch 2", "dispatch 3", "dispatch 4", "dispatch 5", "dispatch 6"} {
		r.expect(want)
		r.finish("d")
	}
}
