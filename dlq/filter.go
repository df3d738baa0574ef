package dlq

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-kafka/holdfast/retry"
)

// Filter selects dead letters. The zero value selects all; every field that is
// set must match.
type Filter struct {
	// IDs selects the named records. Where a topic is given it must match.
	IDs []ID
	// Partitions selects by partition of the DLQ.
	Partitions []int32
	// From and To bound the offsets, both included. Zero From and nil To
	// leave an end open.
	From int64
	To   *int64
	// Since and Until bound the time of death: at or after, and before.
	Since, Until time.Time
	// Key must equal the record's; a nil slice here asks for nothing, so a
	// null key cannot be selected by it.
	Key     []byte
	Headers []HeaderMatch
	// Dispositions selects by any of them.
	Dispositions []retry.Disposition
	// Fingerprint selects by a fingerprint or the beginning of one, with or
	// without its version.
	Fingerprint string
	// Group and Source select by the group that gave up and the topic the
	// record was first read from.
	Group  string
	Source string
	// States selects by what was decided.
	States []State
}

// Match reports whether the filter selects a record in this state.
func (f *Filter) Match(r *Record, state State) bool {
	return f.matchID(r) && f.matchPlace(r) && f.matchOrigin(r) && f.matchContent(r) &&
		(len(f.States) == 0 || slices.Contains(f.States, state))
}

func (f *Filter) matchID(r *Record) bool {
	return len(f.IDs) == 0 || slices.ContainsFunc(f.IDs, func(id ID) bool {
		return id.Partition == r.Partition && id.Offset == r.Offset && (id.Topic == "" || id.Topic == r.Topic)
	})
}

func (f *Filter) matchPlace(r *Record) bool {
	return (len(f.Partitions) == 0 || slices.Contains(f.Partitions, r.Partition)) &&
		r.Offset >= f.From && (f.To == nil || r.Offset <= *f.To) &&
		(f.Since.IsZero() || !r.Timestamp.Before(f.Since)) &&
		(f.Until.IsZero() || r.Timestamp.Before(f.Until))
}

func (f *Filter) matchOrigin(r *Record) bool {
	s := &r.Stamp
	return (f.Group == "" || s.Meta.Group == f.Group) &&
		(f.Source == "" || s.Meta.Origin.Topic == f.Source) &&
		(len(f.Dispositions) == 0 || slices.Contains(f.Dispositions, s.Disposition)) &&
		(f.Fingerprint == "" || matchFingerprint(s.Fingerprint, f.Fingerprint))
}

func matchFingerprint(fingerprint, want string) bool {
	_, digits, _ := strings.Cut(fingerprint, ":")
	return strings.HasPrefix(fingerprint, want) || digits != "" && strings.HasPrefix(digits, want)
}

func (f *Filter) matchContent(r *Record) bool {
	if f.Key != nil && (r.Key == nil || !bytes.Equal(f.Key, r.Key)) {
		return false
	}
	for i := range f.Headers {
		if !f.Headers[i].Match(r.Headers) {
			return false
		}
	}
	return true
}

// bounds returns the offsets of a partition that the filter can select, both
// included; ok is false for none.
func (f *Filter) bounds(partition int32) (from int64, to *int64, ok bool) {
	if len(f.Partitions) > 0 && !slices.Contains(f.Partitions, partition) {
		return 0, nil, false
	}
	from, to = f.From, f.To
	if len(f.IDs) == 0 {
		return from, to, true
	}
	var low, high int64 = -1, -1
	for _, id := range f.IDs {
		if id.Partition != partition {
			continue
		}
		if low < 0 || id.Offset < low {
			low = id.Offset
		}
		high = max(high, id.Offset)
	}
	if low < 0 {
		return 0, nil, false
	}
	from = max(from, low)
	if to == nil || *to > high {
		to = &high
	}
	return from, to, true
}

// HeaderMatch asks something of a record's headers: of the user's and of ours,
// by the name they bear on the dead letter.
type HeaderMatch struct {
	Name string
	// Value must equal the header's, Pattern must match it. With neither it
	// is enough that the header is there.
	Value   *string
	Pattern *regexp.Regexp
}

// ParseHeaderMatch reads k=v, k~regular expression, or k. A name cannot hold =
// or ~.
func ParseHeaderMatch(text string) (HeaderMatch, error) {
	at := strings.IndexAny(text, "=~")
	if at == 0 || text == "" {
		return HeaderMatch{}, fmt.Errorf("header %q: want name, name=value or name~expression", text)
	}
	if at < 0 {
		return HeaderMatch{Name: text}, nil
	}
	m, rest := HeaderMatch{Name: text[:at]}, text[at+1:]
	if text[at] == '=' {
		m.Value = &rest
		return m, nil
	}
	pattern, err := regexp.Compile(rest)
	if err != nil {
		return HeaderMatch{}, fmt.Errorf("header %q: %w", text, err)
	}
	m.Pattern = pattern
	return m, nil
}

// Match reports whether any header of that name fits.
func (m *HeaderMatch) Match(headers []retry.Header) bool {
	return slices.ContainsFunc(headers, func(h retry.Header) bool {
		switch {
		case h.Key != m.Name:
			return false
		case m.Value != nil:
			return h.Value != nil && string(h.Value) == *m.Value
		case m.Pattern != nil:
			return h.Value != nil && m.Pattern.Match(h.Value)
		default:
			return true
		}
	})
}
