package dlq

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// dead makes a dead letter at an offset of partition 0 of the DLQ "d".
func dead(offset int64, change func(*Letter)) *Record {
	l := Letter{
		Key: []byte("k"), Value: []byte("v"),
		Stamp: retry.Stamp{Meta: retry.Meta{
			Group: "g", Cluster: "c", Origin: retry.Origin{Topic: "t", Partition: 5, Offset: offset},
		}},
	}
	if change != nil {
		change(&l)
	}
	m := l.Message("d", 0)
	m.Offset = offset
	return recordOf(&m)
}

func plan(request PlanRequest, ledger *Ledger, targets []Target, records ...*Record) *Plan {
	request.DLQ = "d"
	p := newPlanner(request, ledger, "c")
	for _, r := range records {
		p.add(r)
	}
	if targets == nil {
		for _, name := range p.targetNames() {
			targets = append(targets, Target{Topic: name, Exists: true, Partitions: 3})
		}
	}
	return p.build(targets)
}

func TestPlanSkipsWithAReason(t *testing.T) {
	t.Parallel()
	replayed := func(of string, count int) func(*Letter) {
		return func(l *Letter) { l.Stamp.Meta.Replay = &retry.Replay{Of: of, Count: count} }
	}
	ledger := &Ledger{}
	ledger.Apply(&Entry{ID: "e", State: StateQuarantined, Ranges: []Range{{7, 7}}})
	foreign := recordOf(&client.Message{Topic: "d", Offset: 1, Value: []byte("v")})
	damaged := dead(1, nil)
	damaged.Headers[len(damaged.Headers)-1].Value = []byte("{")
	damaged = recordOf(&client.Message{Topic: "d", Offset: 1, Value: []byte("v"), Headers: damaged.Headers})
	lane := "t.g.replay"
	tests := []struct {
		name    string
		record  *Record
		request PlanRequest
		targets []Target
		want    SkipReason
	}{
		{"open", dead(1, nil), PlanRequest{}, nil, ""},
		{"quarantined", dead(7, nil), PlanRequest{}, nil, SkipDecided},
		{"foreign", foreign, PlanRequest{}, nil, SkipForeign},
		{"damaged", damaged, PlanRequest{}, nil, SkipUnreadable},
		{"from another cluster", dead(1, func(l *Letter) { l.Stamp.Meta.Cluster = "x" }), PlanRequest{}, nil, SkipCluster},
		{"from an unknown cluster", dead(1, func(l *Letter) { l.Stamp.Meta.Cluster = "" }), PlanRequest{}, nil, ""},
		{"replayed twice", dead(1, replayed("d/0/0", 2)), PlanRequest{}, nil, ""},
		{"replayed three times", dead(1, replayed("d/0/0", 3)), PlanRequest{}, nil, SkipMaxReplays},
		{"replayed three times of four", dead(1, replayed("d/0/0", 3)), PlanRequest{MaxReplays: 4}, nil, ""},
		{"null value", dead(1, func(l *Letter) { l.Value = nil }), PlanRequest{}, nil, SkipTombstone},
		{"null value, allowed", dead(1, func(l *Letter) { l.Value = nil }), PlanRequest{AllowTombstones: true}, nil, ""},
		{"empty value", dead(1, func(l *Letter) { l.Value = []byte{} }), PlanRequest{}, nil, ""},
		{"no lane", dead(1, nil), PlanRequest{}, []Target{{Topic: lane}}, SkipNoTarget},
		{"too large", dead(1, nil), PlanRequest{}, []Target{{Topic: lane, Exists: true, Partitions: 1, MaxBytes: 200}}, SkipTooLarge},
		{"its source is the DLQ", dead(1, func(l *Letter) { l.Stamp.Meta.Origin.Topic = "d" }), PlanRequest{ToSource: true}, nil, SkipLoop},
	}
	for _, tt := range tests {
		got := plan(tt.request, ledger, tt.targets, tt.record)
		if tt.want == "" {
			if len(got.Items) != 1 || got.Skips.Total() != 0 {
				t.Errorf("%s: %d items, skips %v; want it planned", tt.name, len(got.Items), got.Skips)
			}
			continue
		}
		if len(got.Items) != 0 || got.Skips[tt.want] == nil || got.Skips.Total() != 1 {
			t.Errorf("%s: %d items, skips %v; want it skipped as %s", tt.name, len(got.Items), got.Skips, tt.want)
		}
	}
}

func TestPlanTargets(t *testing.T) {
	t.Parallel()
	lane := plan(PlanRequest{}, &Ledger{}, nil, dead(1, nil)).Items[0]
	if lane.Target != "t.g.replay" || lane.TargetPartition != 5%3 || lane.Group != "g" {
		t.Errorf("item %+v", lane)
	}
	source := plan(PlanRequest{ToSource: true}, &Ledger{}, nil, dead(1, nil)).Items[0]
	if source.Target != "t" || source.TargetPartition != 5%3 {
		t.Errorf("item %+v", source)
	}
}

func TestPlanTakesOneOfEachDuplicate(t *testing.T) {
	t.Parallel()
	same := func(l *Letter) { l.Stamp.Meta.Origin.Offset = 77 }
	again := func(l *Letter) {
		same(l)
		l.Stamp.Meta.Replay = &retry.Replay{Of: "d/0/0", Count: 1}
	}
	ledger := &Ledger{}
	ledger.Apply(&Entry{ID: "e", State: StateReplayed, Ranges: []Range{{9, 9}}})
	decidedTwin := func(l *Letter) { l.Stamp.Meta.Origin.Offset = 88 }
	got := plan(PlanRequest{Filter: Filter{From: 2}}, ledger, nil,
		dead(1, same), // not selected, but settled with the others
		dead(2, same), dead(3, same), dead(4, again), dead(5, nil),
		dead(8, decidedTwin), dead(9, decidedTwin))
	want := []Item{
		{Offset: 2, Target: "t.g.replay", TargetPartition: 2, Group: "g", Duplicates: []ID{{"", 0, 1}, {"", 0, 3}}},
		{Offset: 4, Target: "t.g.replay", TargetPartition: 2, Group: "g", Replays: 1},
		{Offset: 5, Target: "t.g.replay", TargetPartition: 2, Group: "g"},
	}
	if diff := cmp.Diff(want, got.Items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if got.Skips[SkipDuplicate] == nil || got.Skips[SkipDuplicate].Count != 2 || got.Skips[SkipDecided].Count != 1 {
		t.Errorf("skips %v, want 3 and 8 as duplicates and 9 as decided", got.Skips)
	}
	if got.Selected != int64(len(got.Items))+got.Skips.Total() {
		t.Errorf("selected %d, items %d, skipped %d", got.Selected, len(got.Items), got.Skips.Total())
	}
}

func TestPlanLimit(t *testing.T) {
	t.Parallel()
	got := plan(PlanRequest{Limit: 2}, &Ledger{}, nil, dead(3, nil), dead(1, nil), dead(2, nil))
	if len(got.Items) != 2 || got.Items[0].Offset != 1 || got.Items[1].Offset != 2 || got.Skips[SkipLimit].Count != 1 {
		t.Errorf("items %v, skips %v", got.Items, got.Skips)
	}
}
