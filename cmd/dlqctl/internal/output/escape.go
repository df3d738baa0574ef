package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns text as one safe line: every control character, line break, tab
// and byte that is not UTF-8 is written out.
func Line(text string) string { return escape(text, "") }

// Block returns text with its line breaks and tabs, and every other control
// character written out.
func Block(text string) string { return escape(text, "\n\t") }

func escape(text, keep string) string {
	if safe(text, keep) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case !dangerous(r) || strings.ContainsRune(keep, r):
			b.WriteString(text[:size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.String()
}

func safe(text, keep string) bool {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return false
			}
		}
		if dangerous(r) && !strings.ContainsRune(keep, r) {
			return false
		}
	}
	return true
}

// dangerous reports whether a terminal may do something else than show the
// character: control characters, and those that turn the direction of text or
// are not seen.
func dangerous(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029' || r == '\u200b' || r == '\ufeff'
}
