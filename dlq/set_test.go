package dlq

import (
	"testing"

	"pgregory.net/rapid"
)

// A Set behaves as a set of numbers, and keeps its ranges in order, apart and
// not touching.
func TestSetAgainstAModel(t *testing.T) {
	t.Parallel()
	const limit = 60
	rapid.Check(t, func(t *rapid.T) {
		var set Set
		model := map[int64]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				from, to := rapid.Int64Range(0, limit).Draw(t, "from"), rapid.Int64Range(0, limit).Draw(t, "to")
				set.Add(from, to)
				for i := from; i <= to; i++ {
					model[i] = true
				}
			},
			"remove": func(t *rapid.T) {
				from, to := rapid.Int64Range(0, limit).Draw(t, "from"), rapid.Int64Range(0, limit).Draw(t, "to")
				set.Remove(from, to)
				for i := from; i <= to; i++ {
					delete(model, i)
				}
			},
			"": func(t *rapid.T) {
				if set.Len() != int64(len(model)) {
					t.Fatalf("len %d, want %d", set.Len(), len(model))
				}
				for i := int64(-1); i <= limit+1; i++ {
					if set.Contains(i) != model[i] {
						t.Fatalf("contains %d: %v in %v", i, !model[i], set.Ranges())
					}
				}
				ranges := set.Ranges()
				for i, r := range ranges {
					if r.From > r.To || i > 0 && ranges[i-1].To+1 >= r.From {
						t.Fatalf("ranges %v", ranges)
					}
				}
			},
		})
	})
}
