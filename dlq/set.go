package dlq

import (
	"slices"
	"sort"
)

// Range is a run of offsets, both ends included.
type Range struct{ From, To int64 }

// Set is a set of offsets of one partition, kept as ranges, so that a million
// neighbours cost as much as one. The zero value is empty. Not safe for
// concurrent use.
type Set struct {
	ranges []Range // sorted, disjoint and not touching
}

// Add puts the offsets from..to into the set. An empty range adds nothing.
func (s *Set) Add(from, to int64) {
	if from > to {
		return
	}
	if n := len(s.ranges); n == 0 || from > s.ranges[n-1].To {
		s.push(from, to) // offsets mostly come in order
		return
	}
	// All ranges in [low, high) touch the new one and become part of it.
	low := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].To >= from-1 })
	high := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].From-1 > to })
	if low < high {
		from, to = min(from, s.ranges[low].From), max(to, s.ranges[high-1].To)
	}
	s.ranges = slices.Replace(s.ranges, low, high, Range{from, to})
}

func (s *Set) push(from, to int64) {
	if n := len(s.ranges); n > 0 && s.ranges[n-1].To == from-1 {
		s.ranges[n-1].To = to
		return
	}
	s.ranges = append(s.ranges, Range{from, to})
}

// Remove takes the offsets from..to out of the set.
func (s *Set) Remove(from, to int64) {
	if from > to {
		return
	}
	low := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].To >= from })
	high := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].From > to })
	if low >= high {
		return
	}
	var rest []Range
	if first := s.ranges[low]; first.From < from {
		rest = append(rest, Range{first.From, from - 1})
	}
	if last := s.ranges[high-1]; last.To > to {
		rest = append(rest, Range{to + 1, last.To})
	}
	s.ranges = slices.Replace(s.ranges, low, high, rest...)
}

// Contains reports whether an offset is in the set.
func (s *Set) Contains(offset int64) bool {
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].To >= offset })
	return i < len(s.ranges) && s.ranges[i].From <= offset
}

// Len returns how many offsets are in the set.
func (s *Set) Len() int64 {
	var n int64
	for _, r := range s.ranges {
		n += r.To - r.From + 1
	}
	return n
}

// Ranges returns a copy of the set's ranges in order.
func (s *Set) Ranges() []Range { return slices.Clone(s.ranges) }
