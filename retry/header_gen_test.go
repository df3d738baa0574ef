package retry

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func genUser() *rapid.Generator[[]Header] {
	names := []string{
		HeaderCount, HeaderDue, HeaderOrigin, HeaderDisposition, HeaderFingerprint, HeaderPacked,
		ShadowPrefix, ShadowPrefix + HeaderPacked, ShadowPrefix + "a", "a", "", "x-", "\xff",
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Header {
		h := Header{Key: rapid.OneOf(rapid.SampledFrom(names), rapid.String()).Draw(t, "name")}
		if rapid.Bool().Draw(t, "has value") {
			h.Value = append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, "value")...)
		}
		return h
	}), 0, 8)
}

// genText makes valid text that fits a limit whatever its escapes.
func genText(limit int) *rapid.Generator[string] {
	return rapid.StringN(0, limit/6, -1).Filter(utf8.ValidString)
}

func genStamp() *rapid.Generator[Stamp] {
	return rapid.Custom(func(t *rapid.T) Stamp {
		count, at := rapid.IntRange(0, MaxCount), rapid.Int64Range(0, MaxTime)
		s := Stamp{
			Count: count.Draw(t, "count"),
			Kind:  rapid.SampledFrom([]StampKind{StampLane, StampDeadLetter, StampReplay}).Draw(t, "kind"),
			Meta: Meta{
				Group: "g" + genText(200).Draw(t, "group"), Cluster: genText(maxCluster).Draw(t, "cluster"),
				Origin: Origin{
					Topic: "t" + genText(200).Draw(t, "topic"), Partition: rapid.Int32Min(0).Draw(t, "partition"),
					Offset: rapid.Int64Min(0).Draw(t, "offset"), Timestamp: rapid.Int64Range(-1, MaxTime).Draw(t, "ts"),
					TimestampType: int8(rapid.IntRange(0, 2).Draw(t, "tt")), LeaderEpoch: rapid.Int32Min(-1).Draw(t, "epoch"),
				},
				First: at.Draw(t, "first"), Last: at.Draw(t, "last"),
				Hop: count.Draw(t, "hop"), Parked: count.Draw(t, "parked"), Held: int64(count.Draw(t, "held")),
				Client: genText(maxName).Draw(t, "client"), ErrorType: genText(maxName).Draw(t, "type"),
				Error: genText(maxText/2).Draw(t, "error"), Stack: genText(maxText/2).Draw(t, "stack"),
			},
		}
		s.Meta.Attempts = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Failure {
			return Failure{At: at.Draw(t, "at"), Class: genText(maxWord).Draw(t, "class"), Text: genText(60).Draw(t, "text")}
		}), 0, 3).Draw(t, "attempts")
		switch s.Kind {
		case StampLane:
			s.Due = at.Draw(t, "due")
		case StampDeadLetter:
			s.Disposition = Disposition(genText(maxWord).Draw(t, "disposition"))
			s.Fingerprint = genText(maxWord).Draw(t, "fingerprint")
		case StampReplay:
			s.Meta.Replay = &Replay{Of: genText(maxOf).Draw(t, "of"), Count: count.Draw(t, "replays"), Run: genText(maxWord).Draw(t, "run")}
			if rapid.Bool().Draw(t, "has target") {
				s.Meta.Replay.Target = &Target{Cluster: genText(maxCluster).Draw(t, "tc"), Topic: genText(200).Draw(t, "tt"), Group: genText(200).Draw(t, "tg")}
			}
		}
		return s
	})
}

// FuzzDecode holds for any bytes in our headers: Decode does not panic, counts
// and times are in range, no header of the user's is lost, what it read can be
// encoded within bounds, and reading that again changes nothing and finds
// nothing wrong with the packed header.
func FuzzDecode(f *testing.F) {
	for _, h := range [][]Header{Encode(nil, exampleStamp()), Encode(nil, Stamp{})} {
		f.Add(h[0].Value, h[1].Value, h[2].Value, h[3].Value)
	}
	f.Add([]byte("-1"), []byte("9223372036854775808"), []byte("a/0/0@0/g"), []byte(`{"v":1,"replay":{"target":{}},"z":[{}]}`))
	f.Add([]byte("0x10"), []byte("1e3"), []byte(nil), []byte(`{"v":1,"\u0076":2,"attempts":[1,{}],"origin":null}`))
	f.Fuzz(func(t *testing.T, count, due, origin, packed []byte) {
		headers := []Header{
			{Key: "a", Value: packed},
			{Key: HeaderCount, Value: count},
			{Key: HeaderDue, Value: due},
			{Key: HeaderOrigin, Value: origin},
			{Key: HeaderPacked, Value: packed},
			{Key: ShadowPrefix + HeaderDue},
		}
		user, s, _ := Decode(headers)
		if len(user) != 2 || user[0].Key != "a" || user[1].Key != HeaderDue {
			t.Fatalf("user headers: %v", user)
		}
		m := &s.Meta
		inRange := s.Count >= 0 && s.Count <= MaxCount && s.Due >= 0 && s.Due <= MaxTime &&
			m.Hop >= 0 && m.Parked >= 0 && m.First >= 0 && m.Last >= 0 && m.ReplayCount() >= 0 &&
			m.Origin.Partition >= 0 && m.Origin.Offset >= 0 && len(m.Attempts) <= MaxFailures
		if !inRange {
			t.Fatalf("out of range: %+v", s)
		}
		again := Encode(user, s)
		if n := len(again[len(again)-1].Value); n > maxPacked {
			t.Fatalf("packed header of %d bytes", n)
		}
		_, second, problems := Decode(again)
		if problems.Has(ProblemPacked|ProblemVersion|ProblemField|ProblemCount|ProblemDue) || second.Count != s.Count {
			t.Fatalf("problems %v, count %d after %d", problems, second.Count, s.Count)
		}
	})
}

// FuzzJSONReader holds for any UTF-8: what the reader takes for JSON is what
// encoding/json takes for it, but for what is nested too deep.
func FuzzJSONReader(f *testing.F) {
	for _, seed := range []string{
		`{"v":1,"a":[1,-0.5e+3,"\u00e9\n",{}, [] ,true,false,null]}`, `[1,]`, `{"a":1,}`, `{,}`, `01`, `-`, `1.`, `1e`,
		`"\x"`, "\"\t\"", `"\u12g4"`, `{"a" 1}`, `{1:2}`, `tru`, ` null `, `nullx`, `[1 2]`, `"`, `"\`, `{"a":1`, strings.Repeat("[", 70),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !utf8.Valid(raw) {
			return
		}
		r := jsonReader{raw: raw}
		r.skip()
		got, want := r.end(), json.Valid(raw)
		if got != want && !(want && bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) > deepest) {
			t.Fatalf("%q: %v, want %v", raw, got, want)
		}
	})
}

func BenchmarkEncodeLane(b *testing.B) {
	user, s := exampleUser(), exampleStamp()
	b.ReportAllocs()
	for b.Loop() {
		Encode(user, s)
	}
}

func BenchmarkEncodeDeadLetter(b *testing.B) {
	user, s := exampleUser(), exampleStamp()
	s.Kind, s.Disposition, s.Fingerprint = StampDeadLetter, DispositionExhausted, "v1:0123456789abcdef"
	s.Meta.Stack = strings.Repeat("github.com/example/billing.charge(0xc000123456)\n\t/src/billing/charge.go:42 +0x1f\n", 20)
	b.ReportAllocs()
	for b.Loop() {
		Encode(user, s)
	}
}

func BenchmarkDecodeLane(b *testing.B) {
	headers := Encode(exampleUser(), exampleStamp())
	b.ReportAllocs()
	for b.Loop() {
		Decode(headers)
	}
}

func BenchmarkDecodePlain(b *testing.B) {
	headers := exampleUser()
	b.ReportAllocs()
	for b.Loop() {
		Decode(headers)
	}
}
