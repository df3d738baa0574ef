package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain é €":     "plain é €",
		"a\tb\nc\r":     `a\tb\nc\r`,
		"\x1b[31m\x07":  `\x1b[31m\x07`,
		"\u009b31m":     `\u009b31m`,
		"\xff\xc3":      `\xff\xc3`,
		"\u202eabc":     `\u202eabc`,
		"zero\u200bgap": `zero\u200bgap`,
		"\uFFFD stays":  "\uFFFD stays",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := Block("a\n\tb\x1b"), "a\n\tb\\x1b"; got != want {
		t.Errorf("Block: %q, want %q", got, want)
	}
}

// FuzzLine holds for any bytes: the result is UTF-8 on one line and has
// nothing in it that a terminal acts on.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{"\x1b]0;x\x07", "\u202e", "\xff", "a\tb", "\u009b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Line(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Fatalf("Line(%q) = %q", text, got)
		}
	})
}

func TestRows(t *testing.T) {
	t.Parallel()
	write := func(tty bool) string {
		var b bytes.Buffer
		rows := NewRows(&b, tty, "A", "B")
		rows.Add("x\ty", strings.Repeat("é", longestCell+1))
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got, want := write(false), `x\ty`+"\t"+strings.Repeat("é", longestCell+1)+"\n"; got != want {
		t.Errorf("in a pipe: %q, want %q", got, want)
	}
	if got, want := write(true), "A     B\n"+`x\ty  `+strings.Repeat("é", longestCell-1)+"…\n"; got != want {
		t.Errorf("on a terminal: %q, want %q", got, want)
	}
}

func TestEnvelopeBytes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"null", nil, `null`},
		{"empty", []byte{}, `{"enc":"utf8","data":""}`},
		{"text", []byte("<é>"), `{"enc":"utf8","data":"<é>"}`},
		{"bytes", []byte{0xff, 0}, `{"enc":"base64","data":"/wA="}`},
	} {
		var b bytes.Buffer
		if err := WriteLine(&b, newBytes(tt.data)); err != nil || strings.TrimSpace(b.String()) != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, b.String(), err, tt.want)
		}
		if !json.Valid(b.Bytes()) {
			t.Errorf("%s is no JSON", tt.name)
		}
	}
}
