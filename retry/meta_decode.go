package retry

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// maxReadable bounds the packed headers that are looked at: generous towards
// newer versions, and no work for an attacker's megabyte.
const maxReadable = 16 * maxPacked

// unpack reads the packed header into s and its Meta. A header of another
// version leaves both as they are.
func (s *Stamp) unpack(raw []byte) Problems {
	if len(raw) > maxReadable || !utf8.Valid(raw) || !json.Valid(raw) {
		return ProblemPacked
	}
	var (
		version, count int64
		meta           Meta
		read           reader
	)
	ok := eachField(raw, func(name, value, field []byte) {
		switch string(name) {
		case "v":
			version = read.number(value, 0, MaxCount)
		case "count":
			count = read.number(value, 0, MaxCount)
		default:
			if !meta.set(&read, name, value) {
				meta.unknown = append(meta.unknown, append([]byte(nil), field...))
			}
		}
	})
	switch {
	case !ok:
		return ProblemPacked
	case version != 1:
		return ProblemVersion
	}
	s.Count, s.Meta = int(count), meta
	return read.problems
}

// set stores one top-level field and reports whether it is known.
func (m *Meta) set(read *reader, name, value []byte) bool {
	switch string(name) {
	case "group":
		m.Group = read.text(value)
	case "cluster":
		m.Cluster = read.text(value)
	case "origin":
		m.Origin = read.origin(value)
	case "first":
		m.First = read.number(value, 0, MaxTime)
	case "last":
		m.Last = read.number(value, 0, MaxTime)
	case "attempts":
		m.Attempts = read.attempts(value)
	case "type":
		m.ErrorType = read.text(value)
	case "error":
		m.Error = read.text(value)
	case "client":
		m.Client = read.text(value)
	case "hop":
		m.Hop = int(read.number(value, 0, MaxCount))
	case "parked":
		m.Parked = int(read.number(value, 0, MaxCount))
	case "replay":
		m.Replay = read.replay(value)
	case "stack":
		m.Stack = read.text(value)
	default:
		return false
	}
	return true
}

// reader reads JSON values that are known to be valid and notes what does not
// fit.
type reader struct{ problems Problems }

func (r *reader) number(value []byte, low, high int64) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	switch {
	case err != nil && value[0] != '-' && allDigits(value):
		n = high
	case err != nil:
		n = max(low, min(0, high))
	case n < low:
		n = low
	case n > high:
		n = high
	default:
		return n
	}
	r.problems |= ProblemField
	return n
}

func (r *reader) text(value []byte) string {
	s, ok := unquote(value)
	if !ok {
		r.problems |= ProblemField
	}
	return s
}

func (r *reader) object(value []byte, each func(name, value []byte)) {
	if !eachField(value, func(name, value, _ []byte) { each(name, value) }) {
		r.problems |= ProblemField
	}
}

func (r *reader) origin(value []byte) Origin {
	o := Origin{LeaderEpoch: -1}
	r.object(value, func(name, value []byte) {
		switch string(name) {
		case "topic":
			o.Topic = r.text(value)
		case "partition":
			o.Partition = int32(r.number(value, 0, 1<<31-1))
		case "offset":
			o.Offset = r.number(value, 0, 1<<63-1)
		case "ts":
			o.Timestamp = r.number(value, -1, MaxTime)
		case "tt":
			o.TimestampType = int8(r.number(value, 0, 2))
		case "epoch":
			o.LeaderEpoch = int32(r.number(value, -1, 1<<31-1))
		}
	})
	return o
}

func (r *reader) replay(value []byte) *Replay {
	replay := &Replay{}
	r.object(value, func(name, value []byte) {
		switch string(name) {
		case "of":
			replay.Of = r.text(value)
		case "count":
			replay.Count = int(r.number(value, 0, MaxCount))
		case "run":
			replay.Run = r.text(value)
		case "target":
			replay.Target = r.target(value)
		}
	})
	return replay
}

func (r *reader) target(value []byte) *Target {
	target := &Target{}
	r.object(value, func(name, value []byte) {
		switch string(name) {
		case "cluster":
			target.Cluster = r.text(value)
		case "topic":
			target.Topic = r.text(value)
		case "group":
			target.Group = r.text(value)
		}
	})
	return target
}

func (r *reader) attempts(value []byte) []Failure {
	var list []Failure
	ok := eachItem(value, func(value []byte) {
		if len(list) == MaxFailures {
			r.problems |= ProblemField
			return
		}
		var f Failure
		r.object(value, func(name, value []byte) {
			switch string(name) {
			case "at":
				f.At = r.number(value, 0, MaxTime)
			case "class":
				f.Class = r.text(value)
			case "text":
				f.Text = r.text(value)
			}
		})
		list = append(list, f)
	})
	if !ok {
		r.problems |= ProblemField
	}
	return list
}
