package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/holdfast-kafka/holdfast/retry"
)

const (
	sourceTopic = "payments"
	laneTopic   = "payments.billing.retry.1s"
	replayTopic = "payments.billing.replay"
	dlqTopic    = "payments.billing.dlq"
)

// handled are positions behind everything.
var handled = positions{{sourceTopic, 0}: 100, {laneTopic, 0}: 100, {replayTopic, 0}: 100}

// trailOf returns the trail of a payment that was written.
func trailOf(lines []entry, copies ...trailCopy) *trail {
	t := &trail{written: true, source: place{sourceTopic, 0, 7}, copies: copies}
	for _, line := range lines {
		t.enter(line)
	}
	return t
}

func lane(offset int64, count int, due int64) trailCopy {
	return trailCopy{kind: inLane, at: place{laneTopic, 0, offset}, count: count, due: due}
}

func dead(count, replays int, disposition retry.Disposition) trailCopy {
	return trailCopy{kind: inDLQ, at: place{dlqTopic, 0, 0}, count: count, replays: replays, disposition: disposition}
}

func replayed(replays int) trailCopy {
	return trailCopy{kind: inReplayLane, at: place{replayTopic, 0, 3}, replays: replays}
}

func call(kind entryKind, replays, attempt int, at int64) entry {
	return entry{Kind: kind, Key: "k", Replays: replays, Attempt: attempt, Requested: at, IfAbsent: true}
}

func TestWhatBecomesOfAPayment(t *testing.T) {
	t.Parallel()
	charged := []entry{call(entryCharged, 0, 1, 10)}
	forgotten := append(append([]entry{}, charged...), entry{Kind: entryCharged, Attempt: 2, Requested: 2000})
	tests := []struct {
		name      string
		trail     *trail
		committed positions
		want      figures
	}{
		{"charged", trailOf(charged), handled, figures{Charged: 1}},
		{"declined", trailOf([]entry{call(entryDeclined, 0, 1, 10)}), handled, figures{declined: 1}},
		{"cancelled", trailOf([]entry{call(entryCancelled, 0, 1, 10)}), handled, figures{cancelled: 1}},
		{"without a trace", trailOf(nil), handled, figures{Lost: 1}},
		{"not handled yet", trailOf(nil), positions{{sourceTopic, 0}: 7}, figures{waiting: 1}},
		{"the very next", trailOf(nil), positions{{sourceTopic, 0}: 8}, figures{Lost: 1}},
		{
			"waiting in a lane", trailOf([]entry{call(entryBusy, 0, 1, 10)}, lane(100, 1, 1010)), handled,
			figures{waiting: 1, Retried: 1},
		},
		{
			"gone from a lane", trailOf([]entry{call(entryBusy, 0, 1, 10)}, lane(99, 1, 1010)), handled,
			figures{Lost: 1, Retried: 1},
		},
		{"parked without a failure", trailOf(charged, lane(99, 0, 1010)), handled, figures{Charged: 1}},
		{"dead", trailOf(nil, dead(1, 0, retry.DispositionPoison)), handled, figures{unsettled: 1, Dead: 1}},
		{
			"replayed and charged",
			trailOf([]entry{call(entryCharged, 1, 1, 10)}, dead(1, 0, retry.DispositionPoison), replayed(1)), handled,
			figures{Charged: 1, Dead: 1, Replayed: 1},
		},
		{
			"replayed and gone", trailOf(nil, dead(1, 0, retry.DispositionPoison), replayed(1)), handled,
			figures{Lost: 1, Dead: 1, Replayed: 1},
		},
		{
			"replayed and dead again",
			trailOf(nil, dead(1, 0, retry.DispositionPoison), replayed(1), dead(1, 1, retry.DispositionPoison)), handled,
			figures{unsettled: 1, Dead: 2, Replayed: 1},
		},
		{
			"charged again under its key",
			trailOf(append(append([]entry{}, charged...), call(entryCharged, 0, 2, 2000)), lane(1, 1, 1010)), handled,
			figures{Charged: 1, Retried: 1},
		},
		{"charged by a gateway that forgot", trailOf(forgotten), handled, figures{Charged: 1, DoubleCharged: 1}},
		{"charged and never written", &trail{moves: 1}, handled, figures{DoubleCharged: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.trail.written {
				tt.want.Payments = 1
			}
			got := count(map[string]*trail{"k": tt.trail}, tt.committed)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(figures{}), cmpopts.IgnoreFields(figures{}, "causes")); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAttemptBeforeItsTimeIsEarly(t *testing.T) {
	t.Parallel()
	for at, want := range map[int64]int{1009: 1, 1010: 0} {
		tr := trailOf([]entry{call(entryBusy, 0, 1, 10), call(entryCharged, 0, 2, at)}, lane(1, 1, 1010))
		if got := tr.early(); got != want {
			t.Errorf("called at %d, due at 1010: %d early, want %d", at, got, want)
		}
	}
	// Another attempt's due and that of another replay do not matter.
	tr := trailOf([]entry{call(entryBusy, 0, 1, 10), call(entryBusy, 0, 2, 1010), call(entryCharged, 1, 2, 20)},
		lane(1, 1, 1010), lane(2, 2, 9999))
	if got := tr.early(); got != 0 {
		t.Errorf("%d early, want none", got)
	}
	// Of two copies the first one due counts.
	tr = trailOf([]entry{call(entryBusy, 0, 1, 10), call(entryCharged, 0, 2, 1010)}, lane(1, 1, 5000), lane(2, 1, 1010))
	if got := tr.early(); got != 0 {
		t.Errorf("%d early of two copies, want none", got)
	}
}

func TestAChargedAttemptWithoutACallIsBurned(t *testing.T) {
	t.Parallel()
	refused := call(entryUnavailable, 0, 1, 10)
	tests := []struct {
		name  string
		trail *trail
		want  int
	}{
		{"the gateway was called", trailOf([]entry{refused}, lane(1, 1, 0)), 0},
		{"it never was", trailOf(nil, lane(1, 1, 0)), 1},
		{"not the second time", trailOf([]entry{refused}, lane(1, 1, 0), lane(2, 2, 0)), 1},
		{"neither time", trailOf(nil, lane(1, 1, 0), lane(2, 2, 0)), 2},
		{"a copy that cost nothing", trailOf(nil, lane(1, 0, 0)), 0},
		{"the record was at fault", trailOf(nil, dead(1, 0, retry.DispositionDecode)), 0},
		{"only the last time", trailOf(nil, lane(1, 1, 0), dead(2, 0, retry.DispositionPoison)), 1},
		{"exhausted without a call", trailOf([]entry{refused}, dead(2, 0, retry.DispositionExhausted)), 1},
		{"a replay's call does not count", trailOf([]entry{call(entryUnavailable, 1, 1, 10)}, lane(1, 1, 0)), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.trail.burned(); got != tt.want {
				t.Errorf("%d burned, want %d", got, tt.want)
			}
		})
	}
}

func TestEveryBrokenPromiseIsAProblem(t *testing.T) {
	t.Parallel()
	f := figures{Payments: 9, Retried: 9, Dead: 9, Replayed: 9}
	if got := f.problems(); got != nil {
		t.Errorf("problems %q, want none", got)
	}
	f = figures{Lost: 1, DoubleCharged: 2, Early: 3, Burned: 4}
	if got := f.problems(); len(got) != 4 {
		t.Errorf("problems %q, want four", got)
	}
}

// What the consumer writes on a copy is what the audit reads from it.
func TestTheAuditReadsCopies(t *testing.T) {
	t.Parallel()
	a := &audit{
		group: "billing", source: sourceTopic, dlq: dlqTopic, replay: replayTopic,
		next: positions{}, wanted: positions{}, trails: map[string]*trail{},
	}
	origin := retry.Origin{Topic: sourceTopic, Partition: 1, Offset: 7, Timestamp: 1000}
	meta := retry.Meta{Group: "billing", Origin: origin, Error: "no answer"}
	stamp := retry.Stamp{Kind: retry.StampLane, Count: 2, Due: 5000, Meta: meta}
	take := func(topic string, s retry.Stamp) {
		r := &kgo.Record{Topic: topic, Partition: 1, Offset: 3}
		for _, h := range retry.Encode([]retry.Header{{Key: retry.HeaderCount, Value: []byte("9")}}, s) {
			r.Headers = append(r.Headers, kgo.RecordHeader(h))
		}
		a.take(r)
	}
	take(laneTopic, stamp)
	stamp.Kind, stamp.Disposition = retry.StampDeadLetter, retry.DispositionExhausted
	take(dlqTopic, stamp)
	stamp = retry.Stamp{Kind: retry.StampReplay, Meta: meta}
	stamp.Meta.Replay = &retry.Replay{Of: dlqTopic + "/1/3", Count: 1, Run: "r"}
	take(replayTopic, stamp)
	got := a.trails["payments/1/7@1000/billing"]
	want := &trail{copies: []trailCopy{
		{kind: inLane, at: place{laneTopic, 1, 3}, count: 2, due: 5000, cause: "no answer"},
		{kind: inDLQ, at: place{dlqTopic, 1, 3}, count: 2, disposition: retry.DispositionExhausted, cause: "no answer"},
		{kind: inReplayLane, at: place{replayTopic, 1, 3}, replays: 1, cause: "no answer"},
	}}
	allow := cmp.AllowUnexported(trail{}, trailCopy{}, place{})
	if diff := cmp.Diff(want, got, allow); diff != "" {
		t.Errorf("trail (-want +got):\n%s", diff)
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
}
