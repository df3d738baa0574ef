package retry

import (
	"strconv"
	"strings"
)

// The reserved header names, version 1. Ours stand after the user's headers.
// A header costs about a microsecond in the Kafka client, so there are four
// on a lane copy and five on a dead letter, and the rest is packed in one.
const (
	// HeaderCount holds the failed attempts so far, in decimal.
	HeaderCount = "x-retry-count"
	// HeaderDue holds the time before which a lane copy must not be
	// handled, in Unix milliseconds.
	HeaderDue = "x-retry-due"
	// HeaderOrigin holds [Origin.ID]: the same for every copy of a record,
	// and so its idempotency key.
	HeaderOrigin = "x-origin-id"
	// HeaderDisposition says why a dead letter is dead.
	HeaderDisposition = "x-dlq-disposition"
	// HeaderFingerprint groups dead letters with the same cause.
	HeaderFingerprint = "x-dlq-fingerprint"
	// HeaderPacked holds a [Meta] as compact JSON.
	HeaderPacked = "x-holdfast"
	// ShadowPrefix is put before a user's header that bears a reserved name
	// or this prefix, and taken off again when the record is read back.
	ShadowPrefix = "x-shadowed-"
)

const (
	// MaxCount bounds the counts read from headers: far above any policy,
	// and far from overflow in sums.
	MaxCount = 1 << 30
	// MaxTime bounds the times read from headers: the end of year 9999 in
	// Unix milliseconds.
	MaxTime int64 = 253402300799999
)

// StampKind says which copy of a record a stamp belongs to.
type StampKind uint8

// The kinds of copy. The zero Kind is none: a record without our headers.
const (
	StampLane StampKind = iota + 1
	StampDeadLetter
	StampReplay
)

// Stamp is everything our headers say about one copy of a record.
type Stamp struct {
	// Count is how many attempts failed so far.
	Count int
	// Due is the time before which a lane copy must not be handled, in Unix
	// milliseconds; zero is none. Only a lane copy carries it.
	Due int64
	// OriginID is [Origin.ID] as it was read. Encode computes it anew.
	OriginID string
	// Disposition and Fingerprint are on dead letters only.
	Disposition Disposition
	Fingerprint string
	Kind        StampKind
	Meta        Meta
}

// Trusted reports whether the stamp was written by this group in this
// cluster: its packed group and cluster match and its origin agrees with
// HeaderOrigin. A cluster that is "" on either side matches, because a cluster
// id is not always known. Everywhere else our headers are only forwarded
// luggage and the record is a first attempt.
func Trusted(s Stamp, group, cluster string) bool {
	m := &s.Meta
	switch {
	case s.Kind == 0 || m.Origin.Topic == "" || m.Group != clip(group, maxGroup):
		return false
	case m.Cluster != "" && cluster != "" && m.Cluster != clip(cluster, maxCluster):
		return false
	default:
		return s.originAgrees()
	}
}

// originAgrees reports whether HeaderOrigin says what the packed header says.
func (s *Stamp) originAgrees() bool {
	var buf [384]byte
	return s.OriginID == string(s.Meta.Origin.appendID(buf[:0], s.Meta.Group))
}

// PassesBy reports whether a record read from topic is a replay meant for
// another group than this one. Any doubt, an unknown cluster for one, is
// answered with false: a record handled once too often is better than one that
// nobody handles.
func PassesBy(s Stamp, group, cluster, topic string) bool {
	if s.Meta.Replay == nil || s.Meta.Replay.Target == nil {
		return false
	}
	t := s.Meta.Replay.Target
	return t.Cluster != "" && t.Cluster == clip(cluster, maxCluster) &&
		t.Topic != "" && t.Topic == clip(topic, maxTopic) &&
		t.Group != "" && t.Group != clip(group, maxGroup)
}

// Problems is the set of things that were wrong with our headers on a record.
// What was wrong was clamped or left out; it never stops the record.
type Problems uint16

// What can be wrong.
const (
	// ProblemMissing: there is no HeaderPacked, so the record is not a copy
	// of ours; its headers are all the user's.
	ProblemMissing Problems = 1 << iota
	// ProblemPacked: HeaderPacked is too large, not UTF-8 or no JSON object.
	ProblemPacked
	// ProblemVersion: HeaderPacked is of a version this one cannot read.
	ProblemVersion
	// ProblemField: a packed field had the wrong type or was out of range.
	ProblemField
	// ProblemCount: HeaderCount was missing, no number or out of range.
	ProblemCount
	// ProblemDue: HeaderDue was no number or out of range.
	ProblemDue
	// ProblemOrigin: HeaderOrigin was missing or contradicts the packed one.
	ProblemOrigin
	// ProblemRepeated: a reserved name stood more than once; the last is
	// ours, the others count as the user's.
	ProblemRepeated
)

// Has reports whether any of these problems is in the set.
func (p Problems) Has(which Problems) bool { return p&which != 0 }

// String lists the problems, separated by commas.
func (p Problems) String() string {
	names := [...]string{"missing", "packed", "version", "field", "count", "due", "origin", "repeated"}
	var list []string
	for i, name := range names {
		if p.Has(1 << i) {
			list = append(list, name)
		}
	}
	return strings.Join(list, ",")
}

// slot numbers a reserved header; see slotOf.
type slot int8

const (
	slotUser slot = iota - 1
	slotCount
	slotDue
	slotOrigin
	slotDisposition
	slotFingerprint
	slotPacked
	slots
)

// slotOf tells which reserved header a name is, slotUser for none. Every
// header of every record passes here, so the first byte decides mostly.
func slotOf(name string) slot {
	if len(name) < len(HeaderPacked) || name[0] != 'x' || name[1] != '-' {
		return slotUser
	}
	switch name {
	case HeaderCount:
		return slotCount
	case HeaderDue:
		return slotDue
	case HeaderOrigin:
		return slotOrigin
	case HeaderDisposition:
		return slotDisposition
	case HeaderFingerprint:
		return slotFingerprint
	case HeaderPacked:
		return slotPacked
	default:
		return slotUser
	}
}

// mustShadow reports whether a user's header cannot travel under its own name.
func mustShadow(name string) bool {
	return slotOf(name) != slotUser || strings.HasPrefix(name, ShadowPrefix)
}

// parseNumber reads a decimal number in [0, limit]. Text is not a number; a
// number out of range is clamped to the nearer end.
func parseNumber(value []byte, limit int64) (n int64, ok bool) {
	const longest = 20 // digits and sign of the largest 64-bit number
	if len(value) == 0 {
		return 0, false
	}
	if len(value) > longest {
		if allDigits(value) {
			return limit, false
		}
		return 0, false
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	switch {
	case err != nil && allDigits(value):
		return limit, false
	case err != nil || n < 0:
		return 0, false
	case n > limit:
		return limit, false
	default:
		return n, true
	}
}

func allDigits(value []byte) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
