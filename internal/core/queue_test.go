package core

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRecQueue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var q recQueue
		var model []*Rec
		t.Repeat(map[string]func(*rapid.T){
			"push": func(*rapid.T) {
				r := new(Rec)
				q.push(r)
				model = append(model, r)
			},
			"pushFront": func(*rapid.T) {
				r := new(Rec)
				q.pushFront(r)
				model = slices.Insert(model, 0, r)
			},
			"pop": func(t *rapid.T) {
				var want *Rec
				if len(model) > 0 {
					want, model = model[0], model[1:]
				}
				if got := q.pop(); got != want {
					t.Fatalf("popped %p, want %p", got, want)
				}
				if want != nil && want.next != nil {
					t.Fatal("a popped record keeps its link")
				}
			},
			"": func(t *rapid.T) {
				if q.n != len(model) {
					t.Fatalf("n %d, want %d", q.n, len(model))
				}
				r := q.head
				for _, want := range model {
					if r != want {
						t.Fatalf("listed %p, want %p", r, want)
					}
					r = r.next
				}
				if r != nil || (q.tail == nil) != (len(model) == 0) {
					t.Fatal("the list does not end where it must")
				}
			},
		})
	})
}

// TestUnitHeap: the unit with the oldest record is on top.
func TestUnitHeap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h heap[*unit]
		model := map[uint64]*unit{}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				seq := rapid.Uint64Range(0, 1000).Filter(func(s uint64) bool { return model[s] == nil }).Draw(t, "seq")
				u := new(unit)
				u.queue.push(&Rec{seq: seq})
				h.push(u)
				model[seq] = u
			},
			"pop": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				oldest := slices.Min(slices.Collect(maps.Keys(model)))
				if got := h.pop(); got != model[oldest] {
					t.Fatalf("popped %+v, want the unit with %d", got, oldest)
				}
				delete(model, oldest)
			},
		})
	})
}

func TestPartQueue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var q partQueue
		var model []*Part
		t.Repeat(map[string]func(*rapid.T){
			"push": func(*rapid.T) {
				p := new(Part)
				q.push(p)
				model = append(model, p)
			},
			"pop": func(t *rapid.T) {
				var want *Part
				if len(model) > 0 {
					want, model = model[0], model[1:]
				}
				if got := q.pop(); got != want || got != nil && got.next != nil {
					t.Fatalf("popped %p, want %p, unlinked", got, want)
				}
			},
		})
	})
}

// TestDueHeap: the record due first is on top, and of those due at once the
// one with the lowest offset.
func TestDueHeap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h heap[*Rec]
		var model []*Rec
		offset := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				offset++
				r := &Rec{Due: Instant(rapid.Int64Range(-2, 6).Draw(t, "due")), Offset: offset}
				h.push(r)
				model = append(model, r)
			},
			"pop": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				first := slices.MinFunc(model, func(a, b *Rec) int {
					if a.Due != b.Due {
						return int(a.Due - b.Due)
					}
					return int(a.Offset - b.Offset)
				})
				model = slices.DeleteFunc(model, func(r *Rec) bool { return r == first })
				if got := h.pop(); got != first {
					t.Fatalf("popped %d due %d, want %d due %d", got.Offset, got.Due, first.Offset, first.Due)
				}
				if len(h) != len(model) || cap(h) > len(h) && h[:len(h)+1][len(h)] != nil {
					t.Fatal("a popped record is kept alive")
				}
			},
		})
	})
}

func TestTimerHeap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h heap[timer]
		var model []Instant
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				at := Instant(rapid.Int64Range(0, 20).Draw(t, "at"))
				h.push(timer{at: at, part: new(Part)})
				model = append(model, at)
				slices.Sort(model)
			},
			"pop": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				if got := h.pop(); got.at != model[0] || got.part == nil {
					t.Fatalf("popped %+v, want one at %d", got, model[0])
				}
				model = model[1:]
				if cap(h) > len(h) && h[:len(h)+1][len(h)].part != nil {
					t.Fatal("a popped timer keeps its partition alive")
				}
			},
		})
	})
}
