package retry

import "strings"

// Decode splits a record's headers into the user's and ours, and says what was
// wrong with ours. It never fails: what cannot be read is left out, what is out
// of range is clamped, and Count is never lower than either place that tells it.
//
// Without HeaderPacked the record is no copy of ours: user is headers as given,
// the stamp holds only what the single headers say and ProblemMissing is set.
// The result may share memory with headers; nothing is allocated for a record
// without reserved names.
func Decode(headers []Header) (user []Header, s Stamp, p Problems) {
	at, shadowed, found, repeated := locate(headers)
	if found == 0 {
		return headers, s, ProblemMissing
	}
	if repeated {
		p |= ProblemRepeated
	}
	value := func(which slot) ([]byte, bool) {
		if at[which] < 0 {
			return nil, false
		}
		return headers[at[which]].Value, true
	}
	if packed, ok := value(slotPacked); ok {
		p |= s.unpack(packed)
		user = withoutOurs(headers, &at, found, shadowed)
	} else {
		p |= ProblemMissing
		user = headers
	}
	p |= s.singles(value)
	return user, s, p
}

// locate finds the last header of each reserved name, because ours stand last.
func locate(headers []Header) (at [slots]int, shadowed bool, found int, repeated bool) {
	for i := range at {
		at[i] = -1
	}
	for i := range headers {
		name := headers[i].Key
		which := slotOf(name)
		if which == slotUser {
			shadowed = shadowed || strings.HasPrefix(name, ShadowPrefix)
			continue
		}
		if at[which] >= 0 {
			repeated = true
		} else {
			found++
		}
		at[which] = i
	}
	return at, shadowed, found, repeated
}

// singles reads the headers that stand on their own into s.
func (s *Stamp) singles(value func(slot) ([]byte, bool)) (p Problems) {
	raw, _ := value(slotCount)
	count, ok := parseNumber(raw, MaxCount)
	if !ok {
		p |= ProblemCount
	}
	s.Count = max(s.Count, int(count))
	if raw, has := value(slotDue); has {
		if s.Due, ok = parseNumber(raw, MaxTime); !ok {
			p |= ProblemDue
		}
	}
	if raw, has := value(slotOrigin); has {
		s.OriginID = validText(raw)
	}
	if s.OriginID == "" || s.Meta.Origin.Topic != "" && !s.originAgrees() {
		p |= ProblemOrigin
	}
	disposition, dead := value(slotDisposition)
	fingerprint, marked := value(slotFingerprint)
	s.Disposition, s.Fingerprint = Disposition(validText(disposition)), validText(fingerprint)
	if _, packed := value(slotPacked); packed {
		_, due := value(slotDue)
		s.Kind = kindOf(dead || marked, due)
	}
	return p
}

func kindOf(dead, due bool) StampKind {
	switch {
	case dead:
		return StampDeadLetter
	case due:
		return StampLane
	default:
		return StampReplay
	}
}

// withoutOurs returns the user's headers under their own names.
func withoutOurs(headers []Header, at *[slots]int, found int, shadowed bool) []Header {
	first := len(headers)
	for _, i := range at {
		if i >= 0 {
			first = min(first, i)
		}
	}
	if first+found == len(headers) && !shadowed {
		return headers[:first:first]
	}
	user := make([]Header, 0, len(headers)-found)
	for i, h := range headers {
		if which := slotOf(h.Key); which != slotUser && at[which] == i {
			continue
		}
		h.Key = strings.TrimPrefix(h.Key, ShadowPrefix)
		user = append(user, h)
	}
	return user
}

func validText(raw []byte) string {
	const longest = 4096 // a topic, a group and numbers; longer is nobody's
	if len(raw) > longest {
		raw = raw[:longest]
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}
