package retry

import "strconv"

// Encode returns the headers of a copy: the user's byte for byte and in order,
// ours behind them. A user's header with a reserved name travels under
// [ShadowPrefix]. The user's values are shared with the result, the slice and
// our values are new. A stamp without a kind is encoded as a lane copy.
func Encode(user []Header, s Stamp) []Header {
	out := make([]Header, 0, len(user)+5)
	for _, h := range user {
		if mustShadow(h.Key) {
			h.Key = ShadowPrefix + h.Key
		}
		out = append(out, h)
	}
	buf := make([]byte, 0, s.sizeHint())
	add := func(name string, from int) {
		out = append(out, Header{Key: name, Value: buf[from:len(buf):len(buf)]})
	}
	buf = strconv.AppendInt(buf, int64(max(s.Count, 0)), 10)
	add(HeaderCount, 0)
	if s.Kind != StampDeadLetter && s.Kind != StampReplay {
		from := len(buf)
		buf = strconv.AppendInt(buf, max(s.Due, 0), 10)
		add(HeaderDue, from)
	}
	from := len(buf)
	buf = s.Meta.appendOriginID(buf)
	add(HeaderOrigin, from)
	if s.Kind == StampDeadLetter {
		from = len(buf)
		buf = append(buf, clip(string(s.Disposition), maxWord)...)
		add(HeaderDisposition, from)
		from = len(buf)
		buf = append(buf, clip(s.Fingerprint, maxWord)...)
		add(HeaderFingerprint, from)
	}
	from = len(buf)
	buf = s.Meta.appendPacked(buf, s.Count)
	add(HeaderPacked, from)
	return out
}

// appendOriginID writes the id as a reader of the packed header computes it.
func (m *Meta) appendOriginID(dst []byte) []byte {
	o := m.Origin
	o.Topic = clip(o.Topic, maxTopic)
	return o.appendID(dst, clip(m.Group, maxGroup))
}

// sizeHint estimates the bytes of our values, so that one buffer holds them.
func (s *Stamp) sizeHint() int {
	const numbersAndNames = 512
	m := &s.Meta
	text := len(m.Error) + len(m.Stack) + len(m.ErrorType) + len(m.Client)
	for i := range m.Attempts {
		text += 64 + min(len(m.Attempts[i].Text), maxAttemptText)
	}
	ids := 2*(len(m.Group)+len(m.Origin.Topic)) + len(m.Cluster)
	return min(numbersAndNames+ids+text, maxPacked+numbersAndNames)
}
