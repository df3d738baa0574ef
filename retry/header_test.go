package retry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var cmpStamp = cmp.Options{cmp.AllowUnexported(Meta{}), cmpopts.EquateEmpty()}

func exampleStamp() Stamp {
	return Stamp{
		Count: 3, Due: 1790000010000, Kind: StampLane,
		Meta: Meta{
			Group: "billing", Cluster: "MkU3OEVBNTcwNTJENDM2Qg",
			Origin: Origin{
				Topic: "payments", Partition: 3, Offset: 10422, Timestamp: 1790000000000,
				TimestampType: 1, LeaderEpoch: 7,
			},
			First: 1790000000100, Last: 1790000000900,
			Attempts: []Failure{
				{At: 1790000000100, Class: "transient", Text: "gateway: 503 service unavailable"},
				{At: 1790000000400, Class: "transient", Text: "gateway: 503 service unavailable"},
				{At: 1790000000900, Class: "transient", Text: "gateway: i/o timeout"},
			},
			ErrorType: "*net.OpError", Error: "dial tcp 10.0.0.1:443: i/o timeout",
			Client: "billing-7c9f", Hop: 3,
		},
	}
}

func exampleUser() []Header {
	return []Header{
		{Key: "traceparent", Value: []byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")},
		{Key: "null"},
		{Key: "empty", Value: []byte{}},
		{Key: "null", Value: []byte("twice")},
	}
}

// withID fills in what Encode computes.
func withID(s Stamp) Stamp {
	s.OriginID = string(s.Meta.appendOriginID(nil))
	return s
}

func TestHeadersOfEachKind(t *testing.T) {
	t.Parallel()
	tests := map[StampKind][]string{
		StampLane:       {HeaderCount, HeaderDue, HeaderOrigin, HeaderPacked},
		StampDeadLetter: {HeaderCount, HeaderOrigin, HeaderDisposition, HeaderFingerprint, HeaderPacked},
		StampReplay:     {HeaderCount, HeaderOrigin, HeaderPacked},
	}
	for kind, want := range tests {
		s := exampleStamp()
		s.Kind = kind
		var got []string
		for _, h := range Encode(nil, s) {
			got = append(got, h.Key)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("kind %d (-want +got):\n%s", kind, diff)
		}
	}
}

func TestPackedFormIsStable(t *testing.T) {
	t.Parallel()
	s := exampleStamp()
	s.Meta.Attempts = s.Meta.Attempts[:1]
	s.Meta.Replay = &Replay{
		Of: "payments.billing.dlq/3/9", Count: 1, Run: "r1",
		Target: &Target{Cluster: "c", Topic: "payments", Group: "billing"},
	}
	got := string(Encode(nil, s)[3].Value)
	want := `{"v":1,"count":3,"group":"billing","cluster":"MkU3OEVBNTcwNTJENDM2Qg",` +
		`"origin":{"topic":"payments","partition":3,"offset":10422,"ts":1790000000000,"tt":1,"epoch":7},` +
		`"first":1790000000100,"last":1790000000900,"hop":3,` +
		`"replay":{"count":1,"of":"payments.billing.dlq/3/9","run":"r1",` +
		`"target":{"topic":"payments","cluster":"c","group":"billing"}},` +
		`"client":"billing-7c9f","type":"*net.OpError",` +
		`"attempts":[{"at":1790000000100,"class":"transient","text":"gateway: 503 service unavailable"}],` +
		`"error":"dial tcp 10.0.0.1:443: i/o timeout"}`
	if got != want {
		t.Errorf("packed header:\n got %s\nwant %s", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		user, want := genUser().Draw(t, "user"), genStamp().Draw(t, "stamp")
		headers := Encode(user, want)
		gotUser, got, problems := Decode(headers)
		if problems != 0 {
			t.Fatalf("problems = %v, want none", problems)
		}
		if diff := cmp.Diff(user, gotUser, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("user headers (-want +got):\n%s", diff)
		}
		for i := range user {
			if (user[i].Value == nil) != (gotUser[i].Value == nil) {
				t.Fatalf("header %d: null became empty or the other way round", i)
			}
		}
		if diff := cmp.Diff(withID(want), got, cmpStamp); diff != "" {
			t.Fatalf("stamp (-want +got):\n%s", diff)
		}
		if !Trusted(got, want.Meta.Group, want.Meta.Cluster) {
			t.Fatal("own stamp is not trusted")
		}
	})
}

// Whatever the text, the packed header stays within its size, is valid JSON
// and UTF-8, and keeps what it is trusted by.
func TestPackedIsBounded(t *testing.T) {
	t.Parallel()
	wild := rapid.Custom(func(t *rapid.T) string {
		unit := rapid.SampledFrom([]string{"a", "\x00", "\"", "\xff", "€", "\U0001F600", "\n", "\\"}).Draw(t, "unit")
		return strings.Repeat(unit, rapid.IntRange(0, 6000).Draw(t, "n"))
	})
	rapid.Check(t, func(t *rapid.T) {
		s := genStamp().Draw(t, "stamp")
		s.Meta.Group, s.Meta.Cluster = wild.Draw(t, "group"), wild.Draw(t, "cluster")
		s.Meta.Origin.Topic = "t" + wild.Draw(t, "topic")
		s.Meta.Error, s.Meta.ErrorType = wild.Draw(t, "error"), wild.Draw(t, "type")
		s.Meta.Stack, s.Meta.Client = wild.Draw(t, "stack"), wild.Draw(t, "client")
		s.Meta.Replay = &Replay{Of: wild.Draw(t, "of"), Count: 1, Run: wild.Draw(t, "run"), Target: &Target{
			Cluster: wild.Draw(t, "tc"), Topic: wild.Draw(t, "tt"), Group: wild.Draw(t, "tg"),
		}}
		headers := Encode(nil, s)
		packed := headers[len(headers)-1].Value
		if len(packed) > maxPacked || !json.Valid(packed) || !utf8.Valid(packed) {
			t.Fatalf("%d bytes, valid JSON %v, UTF-8 %v", len(packed), json.Valid(packed), utf8.Valid(packed))
		}
		_, got, problems := Decode(headers)
		if problems != 0 {
			t.Fatalf("problems = %v", problems)
		}
		if s.Meta.Group != "" && !Trusted(got, s.Meta.Group, s.Meta.Cluster) {
			t.Fatal("own stamp is not trusted")
		}
		again := Encode(nil, got)
		if _, second, _ := Decode(again); !cmp.Equal(got.Meta.Origin, second.Meta.Origin, cmpStamp) ||
			got.Meta.Group != second.Meta.Group || got.OriginID != second.OriginID {
			t.Fatal("identity changed on the second hop")
		}
	})
}

func TestStackIsCutBeforeText(t *testing.T) {
	t.Parallel()
	s := exampleStamp()
	s.Meta.Error, s.Meta.Stack = strings.Repeat("é", 400), strings.Repeat("main.handle(€)\n", 1000)
	_, got, _ := Decode(Encode(nil, s))
	if got.Meta.Error != s.Meta.Error {
		t.Errorf("text of %d bytes became %d", len(s.Meta.Error), len(got.Meta.Error))
	}
	if len(got.Meta.Stack) < 1000 || !strings.HasPrefix(s.Meta.Stack, got.Meta.Stack) {
		t.Errorf("stack: %d bytes, want a prefix of the original", len(got.Meta.Stack))
	}
}

func TestUnknownFieldsSurviveAHop(t *testing.T) {
	t.Parallel()
	headers := Encode(nil, exampleStamp())
	packed := &headers[len(headers)-1].Value
	field := `"later":{"a":[1,"}",{"b":null}],"n":18446744073709551616}`
	*packed = []byte(`{ "x" : true , ` + field + `,` + string((*packed)[1:]))
	_, s, problems := Decode(headers)
	if problems != 0 {
		t.Fatalf("problems = %v", problems)
	}
	next := Encode(nil, s)
	if got := string(next[len(next)-1].Value); !strings.Contains(got, field) || !strings.Contains(got, `"x" : true`) {
		t.Errorf("after a hop: %s", got)
	}
}

func TestReservedNamesOfTheUserAreRestored(t *testing.T) {
	t.Parallel()
	user := []Header{
		{Key: HeaderCount, Value: []byte("99")},
		{Key: ShadowPrefix + HeaderCount, Value: []byte("user's own")},
		{Key: HeaderPacked, Value: []byte("{}")},
		{Key: "X-Retry-Count", Value: []byte("another name")},
	}
	headers := user
	for range 3 { // nested as deep as it gets
		headers = Encode(headers, exampleStamp())
	}
	for range 3 {
		var s Stamp
		headers, s, _ = Decode(headers)
		if s.Count != 3 {
			t.Fatalf("count = %d, want 3", s.Count)
		}
	}
	if diff := cmp.Diff(user, headers); diff != "" {
		t.Errorf("user headers (-want +got):\n%s", diff)
	}
}

func TestHostileValues(t *testing.T) {
	t.Parallel()
	huge := bytes.Repeat([]byte("9"), 1<<20)
	tests := []struct {
		name, header, value string
		count               int
		due                 int64
		problems            Problems
	}{
		{"count is text", HeaderCount, "many", 3, 1790000010000, ProblemCount},
		{"count is empty", HeaderCount, "", 3, 1790000010000, ProblemCount},
		{"count is negative", HeaderCount, "-7", 3, 1790000010000, ProblemCount},
		{"count is lower than packed", HeaderCount, "1", 3, 1790000010000, 0},
		{"count is 2^63", HeaderCount, "9223372036854775808", MaxCount, 1790000010000, ProblemCount},
		{"count is -2^63-1", HeaderCount, "-9223372036854775809", 3, 1790000010000, ProblemCount},
		{"count is a megabyte of digits", HeaderCount, string(huge), MaxCount, 1790000010000, ProblemCount},
		{"count is a megabyte of text", HeaderCount, strings.Repeat("x", 1<<20), 3, 1790000010000, ProblemCount},
		{"due is text", HeaderDue, "soon", 3, 0, ProblemDue},
		{"due is negative", HeaderDue, "-1", 3, 0, ProblemDue},
		{"due is 2^63", HeaderDue, "9223372036854775808", 3, MaxTime, ProblemDue},
		{"origin is another", HeaderOrigin, "payments/3/10423@1790000000000/billing", 3, 1790000010000, ProblemOrigin},
		{"packed is no JSON", HeaderPacked, "{", 3, 1790000010000, ProblemPacked},
		{"packed is no object", HeaderPacked, "[1]", 3, 1790000010000, ProblemPacked},
		{"packed is empty", HeaderPacked, "", 3, 1790000010000, ProblemPacked},
		{"packed is not UTF-8", HeaderPacked, "{\"v\":1,\"error\":\"\xff\"}", 3, 1790000010000, ProblemPacked},
		{"packed is huge", HeaderPacked, `{"v":1,"error":"` + string(huge) + `"}`, 3, 1790000010000, ProblemPacked},
		{"packed is deep", HeaderPacked, `{"v":1,"x":` + strings.Repeat("[", deepest) + strings.Repeat("]", deepest) + "}", 3, 1790000010000, ProblemPacked},
		{"packed ends in a comma", HeaderPacked, `{"v":1,}`, 3, 1790000010000, ProblemPacked},
		{"packed is newer", HeaderPacked, `{"v":2,"count":9}`, 3, 1790000010000, ProblemVersion},
		{"packed has no version", HeaderPacked, `{"count":9}`, 3, 1790000010000, ProblemVersion},
		{"packed count is higher", HeaderPacked, `{"v":1,"count":9}`, 9, 1790000010000, 0},
		{"packed count is text", HeaderPacked, `{"v":1,"count":"9"}`, 3, 1790000010000, ProblemField},
		{"packed origin is a list", HeaderPacked, `{"v":1,"origin":[]}`, 3, 1790000010000, ProblemField},
		{"packed partition is negative", HeaderPacked, `{"v":1,"origin":{"partition":-1}}`, 3, 1790000010000, ProblemField},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			headers := Encode(exampleUser(), exampleStamp())
			for i := range headers {
				if headers[i].Key == tt.header {
					headers[i].Value = []byte(tt.value)
				}
			}
			user, s, problems := Decode(headers)
			if s.Count != tt.count || s.Due != tt.due || problems != tt.problems {
				t.Errorf("count %d, due %d, problems %q; want %d, %d, %q",
					s.Count, s.Due, problems, tt.count, tt.due, tt.problems)
			}
			if tt.problems.Has(ProblemOrigin|ProblemPacked|ProblemVersion) && Trusted(s, "billing", "") {
				t.Error("trusted")
			}
			if diff := cmp.Diff(exampleUser(), user); diff != "" {
				t.Errorf("user headers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeadersThatAreNotOurs(t *testing.T) {
	t.Parallel()
	plain := exampleUser()
	user, s, problems := Decode(plain)
	if problems != ProblemMissing || s.Kind != 0 || &user[0] != &plain[0] || len(user) != len(plain) {
		t.Errorf("plain record: problems %v, stamp %+v, %d headers", problems, s, len(user))
	}
	forwarded := append(exampleUser(), Header{Key: HeaderCount, Value: []byte("4")}, Header{Key: ShadowPrefix + "x"})
	user, s, problems = Decode(forwarded)
	if !problems.Has(ProblemMissing) || s.Count != 4 || len(user) != len(forwarded) || Trusted(s, "", "") {
		t.Errorf("single header: problems %v, stamp %+v, %d headers", problems, s, len(user))
	}
}

func TestRepeatedReservedNames(t *testing.T) {
	t.Parallel()
	headers := append([]Header{{Key: HeaderCount, Value: []byte("1000")}}, Encode(nil, exampleStamp())...)
	user, s, problems := Decode(headers)
	if s.Count != 3 || problems != ProblemRepeated || len(user) != 1 || string(user[0].Value) != "1000" {
		t.Errorf("count %d, problems %v, user %v; want 3, repeated and the first header kept", s.Count, problems, user)
	}
}

func TestTrusted(t *testing.T) {
	t.Parallel()
	_, s, _ := Decode(Encode(nil, exampleStamp()))
	unknownCluster := s
	unknownCluster.Meta.Cluster = ""
	tests := []struct {
		name           string
		stamp          Stamp
		group, cluster string
		want           bool
	}{
		{"same", s, "billing", s.Meta.Cluster, true},
		{"our cluster unknown", s, "billing", "", true},
		{"its cluster unknown", unknownCluster, "billing", "other", true},
		{"another group", s, "shipping", s.Meta.Cluster, false},
		{"another cluster", s, "billing", "other", false},
		{"nothing read", Stamp{}, "", "", false},
	}
	for _, tt := range tests {
		if got := Trusted(tt.stamp, tt.group, tt.cluster); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestPassesByOnlyWithoutDoubt(t *testing.T) {
	t.Parallel()
	target := func(cluster, topic, group string) Stamp {
		return Stamp{Meta: Meta{Replay: &Replay{Target: &Target{cluster, topic, group}}}}
	}
	tests := []struct {
		name  string
		stamp Stamp
		want  bool
	}{
		{"for another group", target("c", "payments", "shipping"), true},
		{"for us", target("c", "payments", "billing"), false},
		{"for another topic", target("c", "refunds", "shipping"), false},
		{"of another cluster", target("d", "payments", "shipping"), false},
		{"of an unknown cluster", target("", "payments", "shipping"), false},
		{"for no group", target("c", "payments", ""), false},
		{"no target", Stamp{Meta: Meta{Replay: &Replay{}}}, false},
		{"no replay", Stamp{}, false},
	}
	for _, tt := range tests {
		if got := PassesBy(tt.stamp, "billing", "c", "payments"); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if PassesBy(target("", "payments", "shipping"), "billing", "", "payments") {
		t.Error("passes by although no side knows its cluster")
	}
}

func TestWithFailureKeepsTheFirstAndTheLatest(t *testing.T) {
	t.Parallel()
	var m Meta
	for i := range 20 {
		before := m
		m = m.WithFailure(Failure{At: int64(i + 1), Text: fmt.Sprint(i)})
		if len(before.Attempts) > 0 && before.Attempts[len(before.Attempts)-1].Text != fmt.Sprint(i-1) {
			t.Fatal("the earlier value was changed")
		}
	}
	var got []string
	for _, f := range m.Attempts {
		got = append(got, f.Text)
	}
	if diff := cmp.Diff([]string{"0", "13", "14", "15", "16", "17", "18", "19"}, got); diff != "" || m.First != 1 || m.Last != 20 {
		t.Errorf("first %d, last %d, attempts (-want +got):\n%s", m.First, m.Last, diff)
	}
}

func TestDecodeOfAPlainRecordDoesNotAllocate(t *testing.T) {
	headers := exampleUser()
	if n := testing.AllocsPerRun(100, func() { Decode(headers) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestPlainPrefixAgreesWithTheTable(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for at := range 20 {
			raw := bytes.Repeat([]byte("a"), 20)
			raw[at] = byte(c)
			want := 20
			if !plain[c] {
				want = at
			}
			if got := plainPrefix(string(raw)); got != want {
				t.Fatalf("byte %#x at %d: %d, want %d", c, at, got, want)
			}
		}
	}
}
