package dlq

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

func TestReplaySendsEachOnceToTheLaneOfItsGroup(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(10)
	result, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{By: "test", Batch: 3})
	if err != nil {
		t.Fatal(err)
	}
	if result.Sent != 10 || result.Left != 0 || result.Skips.Total() != 0 {
		t.Fatalf("result %+v, want 10 sent", result)
	}
	records := b.read(b.lane)
	if len(records) != 10 {
		t.Fatalf("%d records on the lane, want 10", len(records))
	}
	for _, r := range records {
		n := int(r.Stamp.Meta.Origin.Offset)
		want := b.letter(n)
		if !bytes.Equal(r.Key, want.Key) || !bytes.Equal(r.Value, want.Value) || !cmp.Equal(r.User, want.User) {
			t.Errorf("record %d came back as %q %q %v", n, r.Key, r.Value, r.User)
		}
		m := r.Stamp.Meta
		if r.Partition != int32(n%2) || r.Stamp.Count != 0 || m.ReplayCount() != 1 || m.Hop != 6 || m.Replay.Target != nil {
			t.Errorf("record %d: partition %d, stamp %+v", n, r.Partition, r.Stamp)
		}
	}
	again, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if again.Sent != 0 || len(b.read(b.lane)) != 10 {
		t.Errorf("the second replay sent %d", again.Sent)
	}
}

func TestReplayOfASelection(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(6)
	one, err := b.Plan(t.Context(), PlanRequest{DLQ: b.dlq, Filter: Filter{IDs: []ID{{"", 0, 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := b.Replay(t.Context(), one, ReplayOptions{}); err != nil || result.Sent != 1 {
		t.Fatalf("result %+v, %v", result, err)
	}
	// The same plan again, as by a double click.
	if result, err := b.Replay(t.Context(), one, ReplayOptions{}); err != nil || result.Sent != 0 || result.Skips[SkipDecided].Count != 1 {
		t.Fatalf("the same plan again: %+v, %v", result, err)
	}
	if result, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{}); err != nil || result.Sent != 5 {
		t.Fatalf("the rest: %+v, %v", result, err)
	}
	expectOnce(t, b, 6, nil)
}

func TestReplayToTheSource(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(4)
	plan, err := b.Plan(t.Context(), PlanRequest{DLQ: b.dlq, ToSource: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Replay(t.Context(), plan, ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	records := b.read(b.source)
	if len(records) != 4 || len(b.read(b.lane)) != 0 {
		t.Fatalf("%d records at the source", len(records))
	}
	for _, r := range records {
		want := retry.Target{Cluster: b.id, Topic: b.source, Group: "billing"}
		if got := r.Stamp.Meta.Replay.Target; got == nil || *got != want {
			t.Errorf("target %+v, want %+v", got, want)
		}
	}
}

func TestReplayRefusesAPlanOfADeletedTopic(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(4)
	if result, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{}); err != nil || result.Sent != 4 {
		t.Fatalf("result %+v, %v", result, err)
	}
	b.write(1)
	old, err := b.Plan(t.Context(), PlanRequest{DLQ: b.dlq})
	if err != nil {
		t.Fatal(err)
	}
	b.check(b.admin.DeleteTopics(t.Context(), []string{b.dlq}))
	b.awaitGone(t, b.dlq)
	b.create(b.dlq)
	_, err = b.Replay(t.Context(), old, ReplayOptions{})
	if _, ok := errors.AsType[*StalePlanError](err); !ok {
		t.Errorf("got %v, want a StalePlanError", err)
	}
	// What was decided about the topic before says nothing of this one.
	b.count = 10
	b.produceLetters(t, 10, 12)
	result, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{})
	if err != nil || result.Sent != 2 {
		t.Errorf("after the topic was made again: %+v, %v; want 2 sent", result, err)
	}
}

// awaitGone waits until a deleted topic is no longer known.
func (b *bed) awaitGone(t *testing.T, topic string) {
	t.Helper()
	for {
		_, err := b.topic(t.Context(), topic)
		if _, gone := errors.AsType[*NotFoundError](err); gone {
			return
		}
		b.check(errors.Join(err, pause(t.Context(), settlePoll)))
	}
}

// produceLetters writes the letters from..to with a fresh producer, which
// knows nothing of a topic that was deleted.
func (b *bed) produceLetters(t *testing.T, from, to int) {
	t.Helper()
	fresh := &bed{tb: t, addr: b.addr, id: b.id, source: b.source, dlq: b.dlq, count: from}
	fresh.write(to - from)
}

func TestReplaySkipsWhatExpired(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(6) // three in each partition
	plan, err := b.Plan(t.Context(), PlanRequest{DLQ: b.dlq})
	if err != nil {
		t.Fatal(err)
	}
	b.check(b.admin.DeleteRecords(t.Context(), []client.Offset{
		{TopicPartition: client.TopicPartition{Topic: b.dlq, Partition: 0}, Offset: 2},
		{TopicPartition: client.TopicPartition{Topic: b.dlq, Partition: 1}, Offset: 3},
	}))
	result, err := b.Replay(t.Context(), plan, ReplayOptions{})
	if err != nil || result.Sent != 1 || result.Skips[SkipExpired].Count != 5 || result.Left != 0 {
		t.Errorf("result %+v, %v; want 1 sent, 5 expired", result, err)
	}
}

func TestReplayFinishesItsTransactionWhenInterrupted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(6)
	g := &gate{Library: quiet(), arrived: make(chan struct{}), proceed: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := b.open(g)
	plan, err := c.Plan(ctx, PlanRequest{DLQ: b.dlq})
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		RunResult

		err error
	}
	ended := make(chan end, 1)
	go func() {
		result, err := c.Replay(ctx, plan, ReplayOptions{Batch: 2})
		ended <- end{result, err}
	}()
	<-g.arrived // the lease
	g.proceed <- struct{}{}
	<-g.arrived // the first two records
	cancel()
	close(g.proceed)
	got := <-ended
	if got.err != nil || !got.Interrupted || got.Sent != 2 || got.Left != 4 {
		t.Fatalf("result %+v, %v; want 2 sent, 4 left", got.RunResult, got.err)
	}
	// The lease was given back, so the rest needs no take-over.
	if rest, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{}); err != nil || rest.Sent != 4 {
		t.Fatalf("the rest: %+v, %v", rest, err)
	}
	expectOnce(t, b, 6, nil)
}

func TestReplayKeepsTheRate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(6)
	start := time.Now()
	result, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{Rate: 5})
	if err != nil || result.Sent != 6 {
		t.Fatalf("result %+v, %v", result, err)
	}
	if took := time.Since(start); took < 200*time.Millisecond {
		t.Errorf("6 records at 5/s in %s: the sixth waits 200 ms", took)
	}
}

func TestReplaySkipsWhatTheBrokerFindsTooLarge(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(3)
	big := b.letter(3)
	big.Value = bytes.Repeat([]byte("x"), 2_000_000)
	plan, err := b.Plan(t.Context(), PlanRequest{DLQ: b.dlq})
	if err != nil {
		t.Fatal(err)
	}
	plan.Targets[0].MaxBytes = 0 // as where the settings may not be read
	r := newRun(b.Cluster, plan, ReplayOptions{Batch: 10}, "r")
	b.check(r.check(t.Context()))
	b.check(r.open())
	b.check(r.acquire(t.Context()))
	m := big.Message(b.dlq, 1)
	m.Offset = 99
	batch := []parcel{{item: Item{Partition: 1, Offset: 99, Target: b.lane, TargetPartition: 1}, record: recordOf(&m)}}
	for _, item := range plan.Items {
		record := b.find(t, item.Partition, item.Offset)
		batch = append(batch, parcel{item: item, record: record})
	}
	b.check(r.flush(t.Context(), batch))
	b.check(r.close(t.Context(), nil))
	if r.result.Sent != 3 || r.result.Skips[SkipTooLarge] == nil || r.result.Skips[SkipTooLarge].Count != 1 {
		t.Errorf("result %+v, want 3 sent and 1 too large", r.result)
	}
	expectOnce(t, b, 3, nil)
}

func (b *bed) find(t *testing.T, partition int32, offset int64) *Record {
	t.Helper()
	for _, r := range b.read(b.dlq) {
		if r.Partition == partition && r.Offset == offset {
			return r
		}
	}
	t.Fatalf("no record %d/%d", partition, offset)
	return nil
}

func TestLedgerTopicIsMadeLikeItsDLQ(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(2)
	if ledger, err := b.Ledger(t.Context(), b.dlq); err != nil || ledger.State(0, 0) != StateOpen {
		t.Fatalf("without a ledger: %v", err)
	}
	if _, err := replayAll(t.Context(), b.Cluster, b.dlq, ReplayOptions{By: "kim", Reason: "fixed"}); err != nil {
		t.Fatal(err)
	}
	info, err := b.topic(t.Context(), retry.LedgerTopic(b.dlq))
	if err != nil || info.Partitions != 2 {
		t.Errorf("ledger %+v, %v; want 2 partitions", info, err)
	}
	settings, err := b.admin.TopicConfig(t.Context(), retry.LedgerTopic(b.dlq))
	if err != nil || settings["cleanup.policy"] != "compact" {
		t.Errorf("settings %v, %v", settings, err)
	}
	ledger, err := b.Ledger(t.Context(), b.dlq)
	if err != nil {
		t.Fatal(err)
	}
	e := ledger.Decision(1, 0).Entry
	if e == nil || e.State != StateReplayed || e.By != "kim" || e.Why != "fixed" || e.Target != b.lane || !strings.HasPrefix(e.ID, e.Run+".") {
		t.Errorf("decision %+v", e)
	}
	for _, r := range b.read(b.lane) {
		if r.Partition == 1 && r.Stamp.Meta.Replay.Run != e.ID {
			t.Errorf("the replay names %q, its entry is %q", r.Stamp.Meta.Replay.Run, e.ID)
		}
	}
}

func TestReplayRefusesALedgerItCannotRead(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(2)
	plan, err := b.Plan(t.Context(), PlanRequest{DLQ: b.dlq})
	if err != nil {
		t.Fatal(err)
	}
	info, err := b.topic(t.Context(), b.dlq)
	b.check(err)
	_, err = b.ensureLedger(t.Context(), info)
	b.check(err)
	b.produce(client.Message{Topic: retry.LedgerTopic(b.dlq), Key: []byte(info.ID + "/0/0/x"), Value: []byte(`{"v":9}`)})
	if result, err := b.Replay(t.Context(), plan, ReplayOptions{}); err == nil || result.Sent != 0 {
		t.Errorf("result %+v, %v; want an error and nothing sent", result, err)
	}
}

func TestQueues(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(6)
	plan, err := b.Plan(t.Context(), PlanRequest{DLQ: b.dlq, Limit: 2})
	b.check(err)
	_, err = b.Replay(t.Context(), plan, ReplayOptions{})
	b.check(err)
	for pattern, want := range map[string]string{
		"": b.dlq, b.source[:8] + "*.dlq": b.dlq, b.source: b.source, b.lane: "", "x*": "",
	} {
		queues, err := b.Queues(t.Context(), pattern)
		if err != nil {
			t.Fatal(err)
		}
		// A real broker holds the topics of other tests too.
		queues = slices.DeleteFunc(queues, func(q Queue) bool { return !strings.HasPrefix(q.Topic, b.source) })
		if want == "" && len(queues) == 0 {
			continue
		}
		if len(queues) != 1 || queues[0].Topic != want {
			t.Errorf("pattern %q: %+v, want %q", pattern, queues, want)
			continue
		}
		q := queues[0]
		if pattern == "" && (q.Depth != 6 || q.Open != 4 || q.Source != b.source || q.Group != "billing" || q.Oldest.IsZero()) {
			t.Errorf("queue %+v", q)
		}
	}
	if _, err := b.Queues(t.Context(), "["); err == nil {
		t.Error("a pattern that is none is accepted")
	}
}
