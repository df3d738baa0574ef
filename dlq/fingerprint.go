package dlq

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// fingerprintVersion is raised when the rules below change, so that
	// fingerprints of different rules are never taken for the same cause.
	fingerprintVersion = "v1"
	// fingerprintFrames is how many frames of a stack count. Deeper frames
	// tell who called, not what failed.
	fingerprintFrames = 3
	// fingerprintText bounds the text that is looked at: a cause shows in
	// the first words, and dead letters come in floods.
	fingerprintText = 512
)

// Fingerprint returns a stable mark of a failure's cause, v1:<16 hex digits>:
// equal for failures of the same error type whose texts differ only in
// numbers, ids, times and addresses, and whose topmost frames outside the
// runtime are the same functions. Any of the arguments may be empty.
func Fingerprint(errType, text, stack string) string {
	h := sha256.New()
	write := func(s string) {
		_, _ = h.Write([]byte(s)) // a hash never fails
		_, _ = h.Write([]byte{0})
	}
	write(errType)
	write(normalise(text))
	for _, frame := range topFrames(stack) {
		write(frame)
	}
	return fingerprintVersion + ":" + hex.EncodeToString(h.Sum(nil)[:8])
}

// normalise replaces what varies between two failures of one cause by #:
// numbers, words with digits such as ids and hashes, and chains of them such
// as times, addresses and UUIDs.
func normalise(text string) string {
	if len(text) > fingerprintText {
		text = text[:fingerprintText]
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		if !isWordByte(text[i]) {
			b.WriteByte(text[i])
			i++
			continue
		}
		end := chainEnd(text, i)
		if varies(text[i:end]) {
			b.WriteByte('#')
		} else {
			end = wordEnd(text, i)
			b.WriteString(text[i:end])
		}
		i = end
	}
	return b.String()
}

// chainEnd returns the end of the words at i that single separators of times,
// numbers, addresses and ids join.
func chainEnd(text string, i int) int {
	for {
		i = wordEnd(text, i)
		next := i
		for next < len(text) && next-i < 2 && strings.IndexByte("-:.+", text[next]) >= 0 {
			next++
		}
		if next == i || next == len(text) || !isWordByte(text[next]) {
			return i
		}
		i = next
	}
}

func wordEnd(text string, i int) int {
	for i < len(text) && isWordByte(text[i]) {
		i++
	}
	return i
}

// varies reports whether every word of a chain is a number, an id or a piece
// of one, and at least one of them has a digit.
func varies(chain string) bool {
	digits := 0
	for from := 0; from < len(chain); {
		if !isWordByte(chain[from]) {
			from++
			continue
		}
		end := wordEnd(chain, from)
		n, hexOnly := measure(chain[from:end])
		if !variable(chain[from:end], n, hexOnly) {
			return false
		}
		digits += n
		from = end
	}
	return digits > 0
}

// variable reports whether a word looks like a number, an id or a piece of one.
func variable(word string, digits int, hexOnly bool) bool {
	switch {
	case digits > 0 && 2*digits >= len(word): // 42, 0x1f02, 15ms
	case digits > 1 && len(word) >= 8: // an opaque id
	case hexOnly && len(word) >= 4: // a piece of a UUID
	case digits > 1 && strings.ContainsAny(word, "TZ"): // a piece of a time
	default:
		return false
	}
	return true
}

func measure(word string) (digits int, hexOnly bool) {
	hexOnly = true
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			hexOnly = false
		}
	}
	return digits, hexOnly
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// topFrames returns the topmost functions of a Go stack that are neither the
// runtime's nor this framework's, without arguments, lines and addresses: those
// change with every build.
func topFrames(stack string) []string {
	var frames []string
	for line := range strings.Lines(stack) {
		function, ok := functionOf(strings.TrimRight(line, "\r\n"))
		if !ok {
			continue
		}
		frames = append(frames, function)
		if len(frames) == fingerprintFrames {
			break
		}
	}
	return frames
}

func functionOf(line string) (string, bool) {
	if line == "" || line[0] == '\t' || line[0] == ' ' || strings.HasPrefix(line, "goroutine ") ||
		strings.HasPrefix(line, "created by ") {
		return "", false
	}
	if open := strings.LastIndexByte(line, '('); open > 0 {
		line = line[:open]
	}
	for _, prefix := range []string{"runtime.", "runtime/", "panic", "github.com/holdfast-kafka/holdfast/consumer."} {
		if strings.HasPrefix(line, prefix) {
			return "", false
		}
	}
	return line, true
}
