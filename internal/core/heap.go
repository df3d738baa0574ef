package core

// ordered is what a heap can hold.
type ordered[T any] interface{ before(other T) bool }

var (
	_ ordered[timer] = timer{}
	_ ordered[*unit] = (*unit)(nil)
	_ ordered[*Rec]  = (*Rec)(nil)
)

// heap keeps the element on top that comes before all others. The order of
// elements must not change while they are in it.
type heap[T ordered[T]] []T

func (h *heap[T]) push(x T) {
	*h = append(*h, x)
	s := *h
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !s[i].before(s[up]) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// pop takes the top of a heap that is not empty.
func (h *heap[T]) pop() T {
	s := *h
	top := s[0]
	last := len(s) - 1
	var none T // nothing that was popped is kept alive
	s[0], s[last] = s[last], none
	s = s[:last]
	*h = s
	for i := 0; ; {
		low := 2*i + 1
		if low >= last {
			return top
		}
		if right := low + 1; right < last && s[right].before(s[low]) {
			low = right
		}
		if !s[low].before(s[i]) {
			return top
		}
		s[i], s[low] = s[low], s[i]
		i = low
	}
}
