package retry

import (
	"unicode/utf8"
)

// maxReadable bounds the packed headers that are looked at: generous towards
// newer versions, and no work for an attacker's megabyte.
const maxReadable = 16 * maxPacked

// unpack reads the packed header into s and its Meta. A header that cannot be
// read, or of another version, leaves both as they are.
func (s *Stamp) unpack(raw []byte) Problems {
	if len(raw) > maxReadable || !utf8.Valid(raw) {
		return ProblemPacked
	}
	r := jsonReader{raw: raw}
	if r.peek() != '{' {
		return ProblemPacked
	}
	var version, count int64
	var m Meta
	r.object(func(name []byte, from int) {
		switch string(name) {
		case "v":
			version = r.number(0, MaxCount)
		case "count":
			count = r.number(0, MaxCount)
		default:
			if !m.read(&r, name) {
				r.skip()
				m.unknown = append(m.unknown, append([]byte(nil), r.raw[from:r.at]...))
			}
		}
	})
	switch {
	case !r.end():
		return ProblemPacked
	case version != 1:
		return ProblemVersion
	}
	s.Count, s.Meta = int(count), m
	return r.problems
}

// read reads one top-level field, or reports that it is not known.
func (m *Meta) read(r *jsonReader, name []byte) bool { //nolint:cyclop // a table
	switch string(name) {
	case "group":
		m.Group = r.text()
	case "cluster":
		m.Cluster = r.text()
	case "origin":
		m.Origin.read(r)
	case "first":
		m.First = r.number(0, MaxTime)
	case "last":
		m.Last = r.number(0, MaxTime)
	case "attempts":
		m.Attempts = readFailures(r)
	case "type":
		m.ErrorType = r.text()
	case "error":
		m.Error = r.text()
	case "client":
		m.Client = r.text()
	case "hop":
		m.Hop = int(r.number(0, MaxCount))
	case "parked":
		m.Parked = int(r.number(0, MaxCount))
	case "held":
		m.Held = r.number(0, MaxTime)
	case "replay":
		m.Replay = &Replay{}
		m.Replay.read(r)
	case "stack":
		m.Stack = r.text()
	default:
		return false
	}
	return true
}

func (o *Origin) read(r *jsonReader) {
	*o = Origin{LeaderEpoch: -1}
	r.object(func(name []byte, _ int) {
		switch string(name) {
		case "topic":
			o.Topic = r.text()
		case "partition":
			o.Partition = int32(r.number(0, 1<<31-1))
		case "offset":
			o.Offset = r.number(0, 1<<63-1)
		case "ts":
			o.Timestamp = r.number(-1, MaxTime)
		case "tt":
			o.TimestampType = int8(r.number(0, 2))
		case "epoch":
			o.LeaderEpoch = int32(r.number(-1, 1<<31-1))
		default:
			r.skip()
		}
	})
}

func (p *Replay) read(r *jsonReader) {
	r.object(func(name []byte, _ int) {
		switch string(name) {
		case "of":
			p.Of = r.text()
		case "count":
			p.Count = int(r.number(0, MaxCount))
		case "run":
			p.Run = r.text()
		case "target":
			p.Target = &Target{}
			p.Target.read(r)
		default:
			r.skip()
		}
	})
}

func (t *Target) read(r *jsonReader) {
	r.object(func(name []byte, _ int) {
		switch string(name) {
		case "cluster":
			t.Cluster = r.text()
		case "topic":
			t.Topic = r.text()
		case "group":
			t.Group = r.text()
		default:
			r.skip()
		}
	})
}

func readFailures(r *jsonReader) []Failure {
	var list []Failure
	r.list(func() {
		if len(list) == MaxFailures {
			r.wrong()
			return
		}
		var f Failure
		r.object(func(name []byte, _ int) {
			switch string(name) {
			case "at":
				f.At = r.number(0, MaxTime)
			case "class":
				f.Class = r.text()
			case "text":
				f.Text = r.text()
			default:
				r.skip()
			}
		})
		list = append(list, f)
	})
	return list
}
