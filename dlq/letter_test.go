package dlq

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// A record goes through a dead letter, its replay, and a dead letter again
// byte for byte, null and empty told apart, whatever its headers are called.
func TestBytesSurviveALetterAndItsReplay(t *testing.T) {
	t.Parallel()
	maybe := func(t *rapid.T, label string) []byte {
		if rapid.Bool().Draw(t, label+" is null") {
			return nil
		}
		return append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, label)...)
	}
	rapid.Check(t, func(t *rapid.T) {
		l := Letter{Key: maybe(t, "key"), Value: maybe(t, "value")}
		names := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			retry.HeaderCount, retry.HeaderPacked, retry.HeaderDisposition, retry.ShadowPrefix + "a", "a",
		}))
		for range rapid.IntRange(0, 6).Draw(t, "headers") {
			l.User = append(l.User, retry.Header{Key: names.Draw(t, "name"), Value: maybe(t, "header")})
		}
		l.Stamp = retry.Stamp{
			Count: rapid.IntRange(0, 9).Draw(t, "count"), Disposition: retry.DispositionPoison,
			Meta: retry.Meta{
				Group: "g", Cluster: "c", Origin: retry.Origin{Topic: "t", Offset: 4},
				First: 1, Last: 2, Error: "e", Stack: "s", Hop: 3,
				Attempts: []retry.Failure{{At: 1, Class: "transient"}},
			},
		}
		for replays := range 3 {
			m := l.Message("d", 1)
			m.Offset = 42
			letter := recordOf(&m)
			sameBytes(t, &l, letter)
			if letter.Problems != 0 || letter.Dialect != DialectHoldfast || !letter.Readable() {
				t.Fatalf("letter: %v, %s", letter.Problems, letter.Dialect)
			}
			sent := replayMessage(letter, "t.g.replay", 0, lineage(letter, "run.1", "c", false), "c")
			back := recordOf(&sent)
			sameBytes(t, &l, back)
			want := retry.Meta{
				Group: "g", Cluster: "c", Origin: l.Stamp.Meta.Origin, Hop: letter.Stamp.Meta.Hop + 1, Client: toolClient,
				Replay: &retry.Replay{Of: "d/1/42", Count: replays + 1, Run: "run.1"},
			}
			if diff := cmp.Diff(want, back.Stamp.Meta, cmpopts.IgnoreUnexported(retry.Meta{})); diff != "" {
				t.Fatalf("stamp of the replay (-want +got):\n%s", diff)
			}
			if back.Stamp.Count != 0 || back.Stamp.Kind != retry.StampReplay || !retry.Trusted(back.Stamp, "g", "c") {
				t.Fatalf("replay is not a first attempt of ours: %+v", back.Stamp)
			}
			l.Stamp.Meta = back.Stamp.Meta // it dies again
		}
	})
}

func sameBytes(t *rapid.T, want *Letter, got *Record) {
	same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
	if !same(want.Key, got.Key) || !same(want.Value, got.Value) || len(want.User) != len(got.User) {
		t.Fatalf("got %q %q %v\nwant %q %q %v", got.Key, got.Value, got.User, want.Key, want.Value, want.User)
	}
	for i := range want.User {
		if want.User[i].Key != got.User[i].Key || !same(want.User[i].Value, got.User[i].Value) {
			t.Fatalf("header %d: got %q, want %q", i, got.User[i], want.User[i])
		}
	}
}

func TestReplayToTheSourceNamesWhomItIsFor(t *testing.T) {
	t.Parallel()
	letter := dead(1, nil)
	m := replayMessage(letter, "t", 0, lineage(letter, "run.1", "c", true), "c")
	_, s, _ := retry.Decode(m.Headers)
	if !retry.PassesBy(s, "another", "c", "t") || retry.PassesBy(s, "g", "c", "t") {
		t.Errorf("target %+v", s.Meta.Replay.Target)
	}
}

// FuzzRecord holds for any bytes in the headers of a dead letter: reading does
// not panic, and a readable one can be planned and sent within bounds.
func FuzzRecord(f *testing.F) {
	headers := dead(1, nil).Headers
	f.Add(headers[0].Value, headers[1].Value, headers[4].Value)
	f.Add([]byte("-1"), []byte("t/0/0@0/g"), []byte(`{"v":1,"group":"g","origin":{"topic":"t"},"replay":{"count":-1}}`))
	f.Fuzz(func(t *testing.T, count, origin, packed []byte) {
		r := recordOf(&client.Message{Topic: "d", Value: []byte("v"), Headers: []retry.Header{
			{Key: "a"}, {Key: retry.HeaderCount, Value: count}, {Key: retry.HeaderOrigin, Value: origin}, {Key: retry.HeaderPacked, Value: packed},
		}})
		got := plan(PlanRequest{}, &Ledger{}, nil, r)
		if len(got.Items)+int(got.Skips.Total()) != 1 {
			t.Fatalf("items %v, skips %v", got.Items, got.Skips)
		}
		for _, item := range got.Items {
			if item.TargetPartition < 0 || item.TargetPartition > 2 || item.Target == "" {
				t.Fatalf("item %+v", item)
			}
		}
	})
}
