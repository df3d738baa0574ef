package retry

import (
	"bytes"
	"encoding/json"
)

// The walkers below expect JSON that json.Valid accepted. They find the
// pieces of an object or a list without building anything, which makes reading
// a lane copy several times cheaper than decoding into a map.

// eachField calls visit with the name, the value and the whole text of each
// field of an object, and reports whether raw is an object.
func eachField(raw []byte, visit func(name, value, field []byte)) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return false
	}
	for rest := skipSpace(raw[1:]); rest[0] != '}'; {
		quoted := rest[:stringEnd(rest)]
		name := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			text, _ := unquote(quoted)
			name = []byte(text)
		}
		after := skipSpace(skipSpace(rest[len(quoted):])[1:]) // behind the colon
		value := after[:valueEnd(after)]
		visit(name, value, rest[:len(rest)-len(after)+len(value)])
		rest = skipSpace(after[len(value):])
		if rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	return true
}

// eachItem calls visit with each item of a list and reports whether raw is one.
func eachItem(raw []byte, visit func(value []byte)) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		return false
	}
	for rest := skipSpace(raw[1:]); rest[0] != ']'; {
		value := rest[:valueEnd(rest)]
		visit(value)
		rest = skipSpace(rest[len(value):])
		if rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	return true
}

func skipSpace(raw []byte) []byte {
	for len(raw) > 0 && (raw[0] == ' ' || raw[0] == '\n' || raw[0] == '\t' || raw[0] == '\r') {
		raw = raw[1:]
	}
	return raw
}

// stringEnd returns the length of the string literal that raw begins with.
func stringEnd(raw []byte) int {
	end := 1 + bytes.IndexByte(raw[1:], '"')
	if bytes.IndexByte(raw[1:end], '\\') < 0 {
		return end + 1
	}
	for i := 1; ; i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// valueEnd returns the length of the JSON value that raw begins with.
func valueEnd(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i += stringEnd(raw[i:]) - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return len(raw)
}

// unquote returns the text of a string literal; ok is false for another value.
func unquote(value []byte) (s string, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	return s, json.Unmarshal(value, &s) == nil
}
