package core

import (
	"testing"

	"pgregory.net/rapid"
)

// naiveTracker is what the tracker must do, said plainly.
type naiveTracker struct {
	offsets []int64
	epochs  []int32
	done    []bool
}

func (n *naiveTracker) position() (int64, int32) {
	epoch := int32(-1)
	for i := range n.offsets {
		if !n.done[i] {
			return n.offsets[i], epoch
		}
		epoch = n.epochs[i]
	}
	return n.offsets[len(n.offsets)-1] + 1, epoch
}

func (n *naiveTracker) span() int {
	for i, done := range n.done {
		if !done {
			return len(n.done) - i
		}
	}
	return 0
}

func TestTracker(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tr tracker
		var model naiveTracker
		seqs := map[int]uint64{} // of the unfinished, by index in the model
		next := rapid.Int64Range(0, 1<<40).Draw(t, "start")
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "n") {
					next += rapid.Int64Range(0, 3).Draw(t, "gap")
					epoch := rapid.Int32Range(0, 3).Draw(t, "epoch")
					seqs[len(model.offsets)] = tr.add(next, epoch)
					model.offsets = append(model.offsets, next)
					model.epochs = append(model.epochs, epoch)
					model.done = append(model.done, false)
					next++
				}
			},
			"done": func(t *rapid.T) {
				if len(seqs) == 0 {
					t.Skip("nothing is unfinished")
				}
				var open []int
				for i := range model.done {
					if !model.done[i] {
						open = append(open, i)
					}
				}
				i := rapid.SampledFrom(open).Draw(t, "which")
				model.done[i] = true
				tr.done(seqs[i])
				delete(seqs, i)
			},
			"reset": func(*rapid.T) {
				tr.reset()
				model, seqs = naiveTracker{}, map[int]uint64{}
			},
			"": func(t *rapid.T) {
				if len(model.offsets) == 0 {
					if tr.begun {
						t.Fatal("begun without a record")
					}
					return
				}
				at, epoch := tr.position()
				wantAt, wantEpoch := model.position()
				if at != wantAt || epoch != wantEpoch {
					t.Fatalf("position %d in epoch %d, want %d in %d", at, epoch, wantAt, wantEpoch)
				}
				if got, want := tr.span(), model.span(); got != want {
					t.Fatalf("span %d, want %d", got, want)
				}
			},
		})
	})
}
