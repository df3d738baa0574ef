package dlq

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"order 4711 not found", "order # not found"},
		{"dial tcp 10.0.0.12:443: i/o timeout", "dial tcp #: i/o timeout"},
		{"at 2026-12-01T08:11:28.123Z: late", "at #: late"},
		{"at 2026-12-01T08:11:28+02:00: late", "at #: late"},
		{"id 4bf92f35-77b3-4da6-a3ce-929d0e0e4736 unknown", "id # unknown"},
		{"id abcdabcd-abcd-4da6-abcd-abcdabcdabcd unknown", "id # unknown"},
		{"pointer 0xc000123456 is nil", "pointer # is nil"},
		{"took 15ms, limit 1.5s", "took #, limit #"},
		{"token ghp16C7e42F292c69 refused", "token # refused"},
		{"unknown encoding utf8", "unknown encoding utf8"},
		{"well-known error: no-such-key", "well-known error: no-such-key"},
		{"json: cannot unmarshal string into Go struct field order.amount", "json: cannot unmarshal string into Go struct field order.amount"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := normalise(tt.in); got != tt.want {
			t.Errorf("normalise(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestFingerprintIgnoresWhatVaries(t *testing.T) {
	t.Parallel()
	stack := "goroutine 7 [running]:\nruntime/debug.Stack()\n\t/go/stack.go:26 +0x5e\npanic({0x1?, 0x2?})\n\t/go/panic.go:9\n" +
		"main.(*charger).charge(0xc000123456, {0x7f, 0x3})\n\t/src/charge.go:%d +0x1f\nmain.handle(...)\n\t/src/handle.go:8\n"
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint32().Draw(t, "n")
		got := Fingerprint("*main.E", fmt.Sprintf("order %d: host 10.0.%d.%d:443 failed", n, n%256, n%7), fmt.Sprintf(stack, n))
		if want := Fingerprint("*main.E", "order 1: host 10.0.0.1:443 failed", fmt.Sprintf(stack, 1)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func TestFingerprintTellsCausesApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, c := range [][3]string{
		{"", "", ""},
		{"*a.E", "", ""},
		{"*b.E", "", ""},
		{"", "*a.E", ""},
		{"*a.E", "no route", ""},
		{"*a.E", "no key", ""},
		{"*a.E", "no key", "main.charge(0x1)\n\t/a.go:1\n"},
		{"*a.E", "no key", "main.refund(0x1)\n\t/a.go:1\n"},
	} {
		f := Fingerprint(c[0], c[1], c[2])
		if other, again := seen[f]; again {
			t.Errorf("%q and %q have the same fingerprint", c, other)
		}
		if !strings.HasPrefix(f, "v1:") || len(f) != len("v1:")+16 {
			t.Errorf("fingerprint %q", f)
		}
		seen[f] = strings.Join(c[:], "|")
	}
}

// FuzzFingerprint holds for any text: no panic, and the same answer twice.
func FuzzFingerprint(f *testing.F) {
	f.Add("*a.E", "at 10:11 -", "main.f(\n")
	f.Add("", "\xff-.:1", "(\n)(")
	f.Fuzz(func(t *testing.T, errType, text, stack string) {
		if a, b := Fingerprint(errType, text, stack), Fingerprint(errType, text, stack); a != b {
			t.Fatalf("%s, then %s", a, b)
		}
	})
}

func BenchmarkFingerprint(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Fingerprint("*net.OpError", "dial tcp 10.0.0.12:443: order 4bf92f35-77b3-4da6-a3ce-929d0e0e4736: i/o timeout after 15ms", "")
	}
}
