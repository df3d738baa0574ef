package retry

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// deepest bounds the nesting of JSON that is read. Ours is four deep.
const deepest = 64

// jsonReader reads one JSON value front to back and builds nothing that is not
// asked for, which makes reading a lane copy several times cheaper than
// decoding into a map. The text must be valid UTF-8.
//
// What has the wrong type is noted and skipped. What is no JSON breaks the
// reader: it is then at its end and every further call returns zero values.
type jsonReader struct {
	raw      []byte
	at       int
	depth    int
	broken   bool
	problems Problems
}

func (r *jsonReader) fail() {
	r.broken, r.at = true, len(r.raw)
}

// peek returns the next byte that is no space, 0 at the end.
func (r *jsonReader) peek() byte {
	for ; r.at < len(r.raw); r.at++ {
		switch c := r.raw[r.at]; c {
		case ' ', '\n', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

// expect steps over one byte, which must be next.
func (r *jsonReader) expect(c byte) {
	if r.peek() != c {
		r.fail()
		return
	}
	r.at++
}

// wrong notes a value of the wrong type and skips it.
func (r *jsonReader) wrong() {
	r.problems |= ProblemField
	r.skip()
}

// object calls visit for each field of an object. Visit must read the field's
// value; from is where the field's text begins.
func (r *jsonReader) object(visit func(name []byte, from int)) {
	if r.peek() != '{' {
		r.wrong()
		return
	}
	r.items('}', func() {
		if r.peek() != '"' {
			r.fail()
			return
		}
		from := r.at
		name := r.key()
		r.expect(':')
		if !r.broken {
			visit(name, from)
		}
	})
}

// list calls visit for each item of a list. Visit must read the item.
func (r *jsonReader) list(visit func()) {
	if r.peek() != '[' {
		r.wrong()
		return
	}
	r.items(']', visit)
}

// items reads what stands between two brackets, with commas between.
func (r *jsonReader) items(end byte, visit func()) {
	if r.depth++; r.depth > deepest {
		r.fail()
		return
	}
	r.at++
	for first := true; !r.broken; first = false {
		c := r.peek()
		if c == end {
			r.at++
			break
		}
		if !first {
			r.expect(',')
		}
		if !r.broken {
			visit()
		}
	}
	r.depth--
}

// key reads a field's name.
func (r *jsonReader) key() []byte {
	quoted, escaped := r.quoted()
	if r.broken || !escaped {
		return bytes.Trim(quoted, `"`)
	}
	return []byte(unescape(quoted))
}

// text reads a string.
func (r *jsonReader) text() string {
	if r.peek() != '"' {
		r.wrong()
		return ""
	}
	quoted, escaped := r.quoted()
	switch {
	case r.broken:
		return ""
	case escaped:
		return unescape(quoted)
	default:
		return string(quoted[1 : len(quoted)-1])
	}
}

func unescape(quoted []byte) (s string) {
	if json.Unmarshal(quoted, &s) != nil {
		return "" // cannot be: the literal was checked
	}
	return s
}

// quoted reads a string literal and tells whether it holds escapes.
func (r *jsonReader) quoted() (literal []byte, escaped bool) {
	from := r.at
	for r.at++; ; {
		r.at += plainPrefix(r.raw[r.at:])
		if r.at >= len(r.raw) {
			r.fail()
			return nil, false
		}
		switch c := r.raw[r.at]; {
		case c >= 0x80:
			r.at++
		case c == '"':
			r.at++
			return r.raw[from:r.at], escaped
		case c == '\\':
			escaped = true
			r.escape()
		default: // a control character
			r.fail()
		}
	}
}

// escape steps over one escape of a string.
func (r *jsonReader) escape() {
	rest := r.raw[r.at+1:]
	switch {
	case len(rest) > 0 && strings.IndexByte(`"\/bfnrt`, rest[0]) >= 0:
		r.at += 2
	case len(rest) > 4 && rest[0] == 'u' && isHex(rest[1:5]):
		r.at += 6
	default:
		r.fail()
	}
}

func isHex(digits []byte) bool {
	for _, c := range digits {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// number reads a whole number and clamps it to low..high.
func (r *jsonReader) number(low, high int64) int64 {
	c := r.peek()
	if c != '-' && (c < '0' || c > '9') {
		r.wrong()
		return max(low, min(0, high))
	}
	literal := r.numeral()
	n, err := strconv.ParseInt(string(literal), 10, 64)
	switch {
	case r.broken:
		return max(low, min(0, high))
	case err != nil && allDigits(literal):
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

// numeral reads a number as it is written.
func (r *jsonReader) numeral() []byte {
	from := r.at
	r.sign("-")
	if zero := r.at < len(r.raw) && r.raw[r.at] == '0'; zero {
		r.at++
	} else {
		r.digits()
	}
	if r.at < len(r.raw) && r.raw[r.at] == '.' {
		r.at++
		r.digits()
	}
	if r.at < len(r.raw) && (r.raw[r.at] == 'e' || r.raw[r.at] == 'E') {
		r.at++
		r.sign("+-")
		r.digits()
	}
	return r.raw[from:r.at]
}

func (r *jsonReader) sign(signs string) {
	if r.at < len(r.raw) && strings.IndexByte(signs, r.raw[r.at]) >= 0 {
		r.at++
	}
}

// digits steps over at least one digit.
func (r *jsonReader) digits() {
	from := r.at
	for r.at < len(r.raw) && r.raw[r.at] >= '0' && r.raw[r.at] <= '9' {
		r.at++
	}
	if r.at == from {
		r.fail()
	}
}

// skip reads any value.
func (r *jsonReader) skip() {
	switch c := r.peek(); {
	case c == '{':
		r.object(func([]byte, int) { r.skip() })
	case c == '[':
		r.list(r.skip)
	case c == '"':
		r.quoted()
	case c == '-' || c >= '0' && c <= '9':
		r.numeral()
	case c == 't':
		r.word("true")
	case c == 'f':
		r.word("false")
	case c == 'n':
		r.word("null")
	default:
		r.fail()
	}
}

func (r *jsonReader) word(w string) {
	if !bytes.HasPrefix(r.raw[r.at:], []byte(w)) {
		r.fail()
		return
	}
	r.at += len(w)
}

// end reports whether one whole value was read and nothing stands behind it.
func (r *jsonReader) end() bool {
	return r.peek() == 0 && r.at == len(r.raw) && !r.broken
}
