package retry

import (
	"strconv"
	"unicode/utf8"
)

// Bounds of the packed header, in bytes as written in JSON, so that its
// essential fields always fit into maxPacked with room to spare: identities
// first, text last. A topic name has at most 249 bytes, a cluster id 22.
const (
	maxPacked      = 4096
	maxTopic       = 256
	maxGroup       = 640
	maxCluster     = 64
	maxOf          = 320
	maxWord        = 64
	maxName        = 128
	maxAttemptText = 128
	maxText        = 1024
	maxUnknown     = 1024
)

// appendPacked writes m as compact JSON of at most maxPacked bytes. What comes
// later gives way to what comes earlier: the stack is cut first, then the
// text, on rune borders.
func (m *Meta) appendPacked(dst []byte, count int) []byte {
	w := packer{buf: dst, end: len(dst) + maxPacked - len("}")}
	w.raw(`{"v":1`)
	w.number(`,"count":`, int64(count))
	w.text(`,"group":`, m.Group, maxGroup)
	w.text(`,"cluster":`, m.Cluster, maxCluster)
	w.origin(&m.Origin)
	w.number(`,"first":`, m.First)
	w.number(`,"last":`, m.Last)
	w.number(`,"hop":`, int64(m.Hop))
	w.number(`,"parked":`, int64(m.Parked))
	w.number(`,"held":`, m.Held)
	w.replay(m.Replay)
	w.unknown(m.unknown)
	w.text(`,"client":`, m.Client, maxName)
	w.text(`,"type":`, m.ErrorType, maxName)
	w.attempts(m.Attempts)
	w.text(`,"error":`, m.Error, maxText)
	w.text(`,"stack":`, m.Stack, maxPacked)
	return append(w.buf, '}')
}

// packer appends to buf and never passes end.
type packer struct {
	buf []byte
	end int
}

func (w *packer) raw(s string) { w.buf = append(w.buf, s...) }

func (w *packer) number(name string, n int64) {
	if n == 0 {
		return
	}
	w.raw(name)
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

// text writes a string of at most limit escaped bytes, or nothing when not
// even a few of them fit.
func (w *packer) text(name, s string, limit int) {
	const quotes, fewest = 2, 6 // the longest escape has six bytes
	if s == "" || w.end-len(w.buf) < len(name)+quotes+fewest {
		return
	}
	w.raw(name)
	w.buf = append(w.buf, '"')
	w.buf = appendEscaped(w.buf, s, min(limit, w.end-len(w.buf)-1))
	w.buf = append(w.buf, '"')
}

func (w *packer) origin(o *Origin) {
	if o.Topic == "" {
		return
	}
	w.raw(`,"origin":{"topic":"`)
	w.buf = appendEscaped(w.buf, o.Topic, maxTopic)
	w.raw(`","partition":`)
	w.buf = strconv.AppendInt(w.buf, int64(o.Partition), 10)
	w.raw(`,"offset":`)
	w.buf = strconv.AppendInt(w.buf, o.Offset, 10)
	w.raw(`,"ts":`)
	w.buf = strconv.AppendInt(w.buf, o.Timestamp, 10)
	w.number(`,"tt":`, int64(o.TimestampType))
	w.raw(`,"epoch":`)
	w.buf = strconv.AppendInt(w.buf, int64(o.LeaderEpoch), 10)
	w.raw("}")
}

func (w *packer) replay(r *Replay) {
	if r == nil {
		return
	}
	w.raw(`,"replay":{"count":`)
	w.buf = strconv.AppendInt(w.buf, int64(r.Count), 10)
	w.text(`,"of":`, r.Of, maxOf)
	w.text(`,"run":`, r.Run, maxWord)
	if t := r.Target; t != nil {
		w.raw(`,"target":{"topic":"`)
		w.buf = appendEscaped(w.buf, t.Topic, maxTopic)
		w.raw(`"`)
		w.text(`,"cluster":`, t.Cluster, maxCluster)
		w.text(`,"group":`, t.Group, maxGroup)
		w.raw("}")
	}
	w.raw("}")
}

// unknown passes on the fields of newer versions, whole or not at all.
func (w *packer) unknown(fields [][]byte) {
	end := len(w.buf) + maxUnknown
	for _, field := range fields {
		if len(w.buf)+1+len(field) <= end {
			w.buf = append(append(w.buf, ','), field...)
		}
	}
}

func (w *packer) attempts(list []Failure) {
	if len(list) == 0 {
		return
	}
	const room = maxWord + maxAttemptText + 64 // one entry with its names
	w.raw(`,"attempts":[`)
	skipped := max(len(list)-MaxFailures, 0)
	for i := range list {
		if i != 0 && i <= skipped { // the first one and the latest stay
			continue
		}
		if w.end-len(w.buf) < room {
			break
		}
		if i != 0 {
			w.raw(",")
		}
		w.raw(`{"at":`)
		w.buf = strconv.AppendInt(w.buf, list[i].At, 10)
		w.text(`,"class":`, list[i].Class, maxWord)
		w.text(`,"text":`, list[i].Text, maxAttemptText)
		w.raw("}")
	}
	w.raw("]")
}

const hexDigits = "0123456789abcdef"

// appendEscaped appends s as the inside of a JSON string, at most limit bytes
// of it, cut between runes. Bytes that are not UTF-8 become U+FFFD.
func appendEscaped(dst []byte, s string, limit int) []byte {
	end := len(dst) + limit
	for i := 0; i < len(s); {
		from := i
		i += plainPrefix(s[i:])
		if i > from {
			fits := min(i-from, end-len(dst))
			dst = append(dst, s[from:from+fits]...)
			if from+fits < i || i == len(s) {
				return dst
			}
		}
		var esc [6]byte
		piece, size := escape(esc[:0], s[i:])
		if len(dst)+len(piece) > end {
			return dst
		}
		dst = append(dst, piece...)
		i += size
	}
	return dst
}

// escape appends the JSON form of the first rune of s, which is not plain,
// and tells how many bytes of s it took.
func escape(dst []byte, s string) (piece []byte, size int) {
	switch c := s[0]; {
	case c >= utf8.RuneSelf:
		r, n := utf8.DecodeRuneInString(s)
		return utf8.AppendRune(dst, r), n
	case c == '"' || c == '\\':
		return append(dst, '\\', c), 1
	case c == '\n':
		return append(dst, '\\', 'n'), 1
	case c == '\t':
		return append(dst, '\\', 't'), 1
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15]), 1
	}
}

// plain marks the bytes that stand for themselves in a JSON string.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var plain = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// clip returns s as a reader finds it after it was packed with this limit:
// valid UTF-8 and cut. What needs no change is returned without a copy.
func clip(s string, limit int) string {
	if len(s) <= limit && plainPrefix(s) == len(s) {
		return s
	}
	used := 0
	var out []byte
	for i := 0; i < len(s); {
		var esc [6]byte
		r, size := utf8.DecodeRuneInString(s[i:])
		width := 1
		if !plain[s[i]] {
			piece, _ := escape(esc[:0], s[i:])
			width = len(piece)
		}
		if used+width > limit {
			break
		}
		used += width
		out = utf8.AppendRune(out, r)
		i += size
	}
	return string(out)
}

// plainPrefix returns how many bytes at the start of s are plain. It looks at
// eight at a time, because nearly all are.
func plainPrefix[T string | []byte](s T) int {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		control := w - ones*' ' // borrows into the high bit below a space
		if (w|control|(quote-ones)|(slash-ones))&high != 0 {
			break
		}
	}
	for i < len(s) && plain[s[i]] {
		i++
	}
	return i
}
