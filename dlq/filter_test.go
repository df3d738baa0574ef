package dlq

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/retry"
)

func TestFilterMatch(t *testing.T) {
	t.Parallel()
	died := time.UnixMilli(1790000000000)
	to := int64(6)
	r := &Record{
		ID: ID{"d", 1, 7}, Timestamp: died, Key: []byte("k"),
		Headers: []retry.Header{{Key: "a", Value: []byte("1")}, {Key: "a", Value: []byte("22")}, {Key: "null"}},
		Stamp: retry.Stamp{
			Disposition: retry.DispositionPoison, Fingerprint: "v1:00ff",
			Meta: retry.Meta{Group: "g", Origin: retry.Origin{Topic: "t"}},
		},
	}
	header := func(text string) []HeaderMatch {
		m, err := ParseHeaderMatch(text)
		if err != nil {
			t.Fatal(err)
		}
		return []HeaderMatch{m}
	}
	tests := []struct {
		name string
		f    Filter
		want bool
	}{
		{"everything", Filter{}, true},
		{"its id", Filter{IDs: []ID{{"", 0, 7}, {"", 1, 7}}}, true},
		{"its full id", Filter{IDs: []ID{{"d", 1, 7}}}, true},
		{"the id in another topic", Filter{IDs: []ID{{"e", 1, 7}}}, false},
		{"another id", Filter{IDs: []ID{{"", 1, 8}}}, false},
		{"its partition", Filter{Partitions: []int32{0, 1}}, true},
		{"another partition", Filter{Partitions: []int32{0}}, false},
		{"from itself", Filter{From: 7}, true},
		{"from behind it", Filter{From: 8}, false},
		{"to before it", Filter{To: &to}, false},
		{"since its death", Filter{Since: died}, true},
		{"since later", Filter{Since: died.Add(1)}, false},
		{"until its death", Filter{Until: died}, false},
		{"until later", Filter{Until: died.Add(1)}, true},
		{"its key", Filter{Key: []byte("k")}, true},
		{"an empty key", Filter{Key: []byte{}}, false},
		{"a header", Filter{Headers: header("a")}, true},
		{"a header that is null", Filter{Headers: header("null")}, true},
		{"null is not empty", Filter{Headers: header("null=")}, false},
		{"another header", Filter{Headers: header("b")}, false},
		{"the second value of a header", Filter{Headers: header("a=22")}, true},
		{"no such value", Filter{Headers: header("a=2")}, false},
		{"an expression", Filter{Headers: header("a~^2+$")}, true},
		{"another expression", Filter{Headers: header("a~x")}, false},
		{"its disposition", Filter{Dispositions: []retry.Disposition{"panic", "poison"}}, true},
		{"another disposition", Filter{Dispositions: []retry.Disposition{"panic"}}, false},
		{"its fingerprint", Filter{Fingerprint: "v1:00ff"}, true},
		{"the beginning of it", Filter{Fingerprint: "00"}, true},
		{"another fingerprint", Filter{Fingerprint: "ff"}, false},
		{"its group", Filter{Group: "g"}, true},
		{"another group", Filter{Group: "h"}, false},
		{"its source", Filter{Source: "t"}, true},
		{"another source", Filter{Source: "u"}, false},
		{"its state", Filter{States: []State{StateResolved, StateOpen}}, true},
		{"another state", Filter{States: []State{StateReplayed}}, false},
	}
	for _, tt := range tests {
		if got := tt.f.Match(r, StateOpen); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if tt.want { // what is selected is within the bounds of the scan
			from, to, ok := tt.f.bounds(r.Partition)
			if !ok || from > r.Offset || to != nil && *to < r.Offset {
				t.Errorf("%s: out of bounds %d..%v", tt.name, from, to)
			}
		}
	}
}

func TestFilterBounds(t *testing.T) {
	t.Parallel()
	f := Filter{IDs: []ID{{"", 1, 7}, {"", 1, 3}, {"", 2, 9}}, From: 5}
	if from, to, ok := f.bounds(1); from != 5 || to == nil || *to != 7 || !ok {
		t.Errorf("bounds %d..%v, %v; want 5..7", from, to, ok)
	}
	if _, _, ok := f.bounds(0); ok {
		t.Error("a partition without ids is read")
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ID{
		"3/10422":               {"", 3, 10422},
		"payments.dlq/0/0":      {"payments.dlq", 0, 0},
		"0/9223372036854775807": {"", 0, 1<<63 - 1},
	} {
		got, err := ParseID(text)
		if err != nil || !cmp.Equal(got, want) || got.String() != text {
			t.Errorf("ParseID(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3", "/3/4", "3/", "-1/4", "3/-4", "+3/4", "a/b/c/d", "2147483648/0", "0/9223372036854775808", "3/4 "} {
		if id, err := ParseID(text); err == nil {
			t.Errorf("ParseID(%q) = %v, want an error", text, id)
		}
	}
}

// FuzzParse holds for any argument: no panic, and an id that was read prints
// as something that reads the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"3/4", "t/3/4", "k~[", "k=v", "~", "//", "t/00/01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ParseHeaderMatch(text); err == nil {
			m.Match([]retry.Header{{Key: m.Name}})
		}
		id, err := ParseID(text)
		if err != nil {
			return
		}
		if again, err := ParseID(id.String()); err != nil || again != id {
			t.Fatalf("%v read back as %v: %v", id, again, err)
		}
	})
}
