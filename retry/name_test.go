package retry_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-kafka/holdfast/retry"
)

func TestTopicNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		group, lane string
	}{
		{"billing", "pay.in.billing.retry.90s"},
		{"Bill_ing-2", "pay.in.Bill_ing-2.retry.90s"},
		{"billing.eu", "pay.in.billing_eu-625d35e5.retry.90s"},
		{"billing/é", "pay.in.billing__-1c7d7720.retry.90s"},
		{"billing-3a35f74b", "pay.in.billing-3a35f74b-4b128eda.retry.90s"},
		{"billing-3a35f74", "pay.in.billing-3a35f74.retry.90s"},
		{"billing-3A35F74B", "pay.in.billing-3A35F74B.retry.90s"},
	}
	for _, tt := range tests {
		if got := retry.LaneTopic("pay.in", tt.group, 90*time.Second); got != tt.lane {
			t.Errorf("lane of group %q is %q, want %q", tt.group, got, tt.lane)
		}
	}
	got := []string{
		retry.ReplayTopic("pay", "billing"), retry.DLQTopic("pay", "billing"),
		retry.LedgerTopic(retry.DLQTopic("pay", "billing")),
		retry.LaneTopic("pay", "billing", -1), retry.LaneTopic("pay", "billing", 1500*time.Microsecond),
		retry.LaneTopic("pay", "billing", 1<<62),
	}
	want := []string{
		"pay.billing.replay", "pay.billing.dlq", "pay.billing.dlq.ledger",
		"pay.billing.retry.1ms", "pay.billing.retry.2ms", "pay.billing.retry.24h",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// topics and groups come from small alphabets full of dots, dashes and hex
// digits, so that clashes would be found were there any.
var (
	topics = rapid.OneOf(
		rapid.StringMatching(`[ab._-]{1,6}`),
		rapid.StringMatching(`[ab]\.(retry|dlq|replay)(\.1[ms])?(\.[ab])?`),
	)
	groups = rapid.OneOf(
		rapid.StringMatching(`[ab._-]{1,4}`),
		rapid.StringMatching(`[ab._:]{0,2}-[0-9a-f]{8}`),
		rapid.StringMatching(`[ab]\.(retry|dlq|replay)(\.1[ms])?`),
		rapid.String().Filter(func(s string) bool { return s != "" }),
	)
	delays = rapid.Map(rapid.Int64Range(1, retry.MaxWait.Milliseconds()), func(ms int64) time.Duration {
		return time.Duration(ms) * time.Millisecond
	})
)

type named struct {
	topic, group string
	delay        time.Duration
}

func (n named) all() []string {
	dlq := retry.DLQTopic(n.topic, n.group)
	return []string{
		retry.LaneTopic(n.topic, n.group, n.delay), retry.ReplayTopic(n.topic, n.group), dlq, retry.LedgerTopic(dlq),
	}
}

func drawNamed(t *rapid.T, label string) named {
	return named{
		topic: topics.Draw(t, label+" topic"), group: groups.Draw(t, label+" group"), delay: delays.Draw(t, label+" delay"),
	}
}

func TestDifferentPairsShareNoName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawNamed(t, "a"), drawNamed(t, "b")
		if rapid.Bool().Draw(t, "same topic") {
			b.topic = a.topic
		}
		if rapid.Bool().Draw(t, "group is another's group part") {
			owner := strings.TrimSuffix(retry.DLQTopic(a.topic, a.group), ".dlq")
			b.topic, b.group = a.topic, owner[len(a.topic)+1:]
		}
		if a.topic == b.topic && a.group == b.group {
			return
		}
		for i, name := range a.all() {
			for j, other := range b.all() {
				if name == other {
					t.Fatalf("%+v and %+v share the name %q (%d, %d)", a, b, name, i, j)
				}
			}
		}
	})
}

func TestNamesComeApart(t *testing.T) {
	t.Parallel()
	reserved := regexp.MustCompile(retry.ReservedPattern())
	rapid.Check(t, func(t *rapid.T) {
		n := drawNamed(t, "n")
		owner := strings.TrimSuffix(retry.DLQTopic(n.topic, n.group), ".dlq")
		want := []retry.TopicName{
			{Kind: retry.NameLane, Owner: owner, Delay: n.delay},
			{Kind: retry.NameReplay, Owner: owner},
			{Kind: retry.NameDLQ, Owner: owner},
			{Kind: retry.NameLedger, Owner: owner},
		}
		var got []retry.TopicName
		for _, name := range n.all() {
			parsed, ok := retry.ParseTopic(name)
			if !ok || !retry.IsReservedTopic(name) || !reserved.MatchString(name) {
				t.Fatalf("%q is not recognised", name)
			}
			got = append(got, parsed)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("names taken apart (-want +got):\n%s", diff)
		}
	})
}

func TestReservedTopic(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(retry.ReservedPattern())
	for name, want := range map[string]bool{
		"a.dlq": true, "a.g.dlq": true, "a.g.dlq.ledger": true, "a.g.replay": true, "a.g.retry.1m": true,
		"a.g.retry.60s": true, "a.g.retry.1": false, "a.g.retry.m": false, "a.g.retry.1d": false, "a.g.retry.": false,
		"a.g.retry": false, "a.g.ledger": false, "a.dlq.x": false, "adlq": false, ".dlq": false, "dlq": false,
		"retry.1m": false, ".retry.1m": false, "a.retry.1m.retry.2m": true, "a.retry.1mx": false, "a.g.DLQ": false, "": false,
	} {
		if got := retry.IsReservedTopic(name); got != want {
			t.Errorf("IsReservedTopic(%q) = %v, want %v", name, got, want)
		}
		if got := pattern.MatchString(name); got != want {
			t.Errorf("pattern on %q = %v, want %v", name, got, want)
		}
	}
	if strings.ContainsAny(retry.ReservedPattern(), `,\`) || retry.ReservedPattern()[0] != '^' {
		t.Errorf("%q cannot stand in a list of patterns", retry.ReservedPattern())
	}
}

func TestParseTopicRefuses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "a.dlq", "a.g.retry.60s", "a.g.retry.25h", "a.g.retry.0s", ".g.dlq", "a..dlq", "a.g h.dlq", "a.g.dlq.ledger2", "a.g.",
	} {
		if got, ok := retry.ParseTopic(name); ok {
			t.Errorf("ParseTopic(%q) = %+v", name, got)
		}
	}
}

func TestFindLanes(t *testing.T) {
	t.Parallel()
	names := []string{
		"a.b.g.retry.1h", "a.b.g.retry.10s", "a.b.g.retry.10s", "a.b.g.retry.60s", "a.b.g.dlq", "a.b.g2.retry.1s",
		"b.g.retry.1s", "xa.b.g.retry.1s", "a-b.g.retry.1s", "a.b.g.retry.1s.retry.2s", "a.b.g",
	}
	want := []retry.Lane{{Topic: "a.b.g.retry.10s", Delay: 10 * time.Second}, {Topic: "a.b.g.retry.1h", Delay: time.Hour}}
	if diff := cmp.Diff(want, retry.FindLanes(names, "a.b", "g")); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
	pattern := regexp.MustCompile(retry.LanePattern("a.b", "g"))
	var got []string
	for _, name := range names {
		if pattern.MatchString(name) {
			got = append(got, name)
		}
	}
	if diff := cmp.Diff([]string{"a.b.g.retry.1h", "a.b.g.retry.10s", "a.b.g.retry.10s", "a.b.g.retry.60s"}, got); diff != "" {
		t.Errorf("pattern %q (-want +got):\n%s", pattern, diff)
	}
}

func TestFindLanesFindsEveryLaneOfThePairAndNoOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mine := drawNamed(t, "mine")
		var names, want []string
		for range rapid.IntRange(0, 5).Draw(t, "lanes") {
			name := retry.LaneTopic(mine.topic, mine.group, delays.Draw(t, "delay"))
			names, want = append(names, name), append(want, name)
		}
		for range rapid.IntRange(0, 5).Draw(t, "others") {
			if other := drawNamed(t, "other"); other.topic != mine.topic || other.group != mine.group {
				names = append(names, other.all()...)
			}
		}
		var got []string
		for _, lane := range retry.FindLanes(rapid.Permutation(names).Draw(t, "order"), mine.topic, mine.group) {
			got = append(got, lane.Topic)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
			t.Fatalf("lanes of %+v (-want +got):\n%s", mine, diff)
		}
	})
}

func TestValidateTopicNames(t *testing.T) {
	t.Parallel()
	hour := []time.Duration{time.Hour}
	tests := []struct {
		name, topic, group string
		delays             []time.Duration
		want               []string
	}{
		{"good", "a.b", "g.h", hour, nil},
		{"longest that fits", strings.Repeat("a", 236), "g", hour, nil},
		{"one byte too long", strings.Repeat("a", 237), "g", hour, []string{"1 bytes longer"}},
		{"a delay without a name", "a", "g", []time.Duration{8_640_001}, []string{"lane 0"}},
		{"a long lane does not fit", strings.Repeat("a", 232), "g", []time.Duration{1_234_567 * time.Millisecond}, []string{"1 bytes longer"}},
		{"mapping fits", strings.Repeat("a", 225), "g.h", hour, nil},
		{"mapping counts", strings.Repeat("a", 226), "g.h", hour, []string{"1 bytes longer"}},
		{"all at once", "a b", "", []time.Duration{0, 1}, []string{`topic "a b"`, "group", "lane 0", "lane 1"}},
		{"dots", "..", "g", nil, []string{`topic ".."`}},
		{"reserved", "a.g.dlq", "g", nil, []string{"reserved"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := retry.ValidateTopicNames(tt.topic, tt.group, tt.delays)
			if err == nil {
				if len(tt.want) > 0 {
					t.Fatalf("accepted, want %v", tt.want)
				}
				return
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no word of %q in:\n%v", want, err)
				}
			}
			if got := strings.Count(err.Error(), "\n") + 1; got != len(tt.want) {
				t.Errorf("%d mistakes, want %d:\n%v", got, len(tt.want), err)
			}
		})
	}
}

// Names come from the outside: taking one apart never panics, and what is
// recognised is rebuilt byte for byte.
func FuzzParseTopic(f *testing.F) {
	for _, seed := range []string{
		"", ".", "a.g.dlq", "a.g.dlq.ledger", "a.g.replay", "a.g.retry.1m", "a.g.retry.60s", "a.g.retry.retry.1m",
		"a.dlq.replay", "a.retry.1m.dlq", "\x00.\xff.retry.9223372036854775807ms", ".retry.1h",
	} {
		f.Add(seed)
	}
	reserved := regexp.MustCompile(`(?s)` + retry.ReservedPattern())
	f.Fuzz(func(t *testing.T, name string) {
		if got, want := retry.IsReservedTopic(name), reserved.MatchString(name); got != want {
			t.Errorf("IsReservedTopic(%q) = %v, the pattern says %v", name, got, want)
		}
		parsed, ok := retry.ParseTopic(name)
		if !ok {
			return
		}
		again := parsed.Owner
		switch parsed.Kind {
		case retry.NameLane:
			text, err := retry.FormatDelay(parsed.Delay)
			if err != nil {
				t.Fatal(err)
			}
			again += ".retry." + text
		case retry.NameReplay:
			again += ".replay"
		case retry.NameDLQ:
			again += ".dlq"
		case retry.NameLedger:
			again += ".dlq.ledger"
		}
		if again != name || !retry.IsReservedTopic(name) {
			t.Errorf("%q was taken for %+v", name, parsed)
		}
	})
}
