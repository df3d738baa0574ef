package dlq

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

func (b *bed) plain(partition int32, value string) client.Message {
	return client.Message{Topic: b.dlq, Partition: partition, Value: []byte(value)}
}

func values(records []*Record) []string {
	var out []string
	for _, r := range records {
		out = append(out, fmt.Sprintf("%d:%s", r.Partition, r.Value))
	}
	return out
}

func TestScanOfAnEmptyTopicEnds(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	result, err := b.Scan(t.Context(), ScanRequest{Topic: b.dlq}, func(*Record) error { return nil })
	if err != nil || result.Scanned != 0 || len(result.Bounds) != 2 {
		t.Errorf("result %+v, %v", result, err)
	}
}

func TestScanOfAMissingTopic(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	_, err := b.Scan(t.Context(), ScanRequest{Topic: "nothing"}, func(*Record) error { return nil })
	if missing, ok := errors.AsType[*NotFoundError](err); !ok || missing.Topic != "nothing" {
		t.Errorf("got %v, want a NotFoundError", err)
	}
}

func TestScanEndsBehindAbortedAndOnlyAborted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.produce(b.plain(0, "a"))
	b.transact(false, b.plain(0, "aborted"), b.plain(1, "aborted"))
	if diff := cmp.Diff([]string{"0:a"}, values(b.read(b.dlq))); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// Whatever the mix of plain, committed and aborted records, a scan sees the
// committed ones in order, each once.
func TestScanSeesWhatIsCommitted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			b, random := newBed(t), rand.New(rand.NewPCG(seed, 1))
			want := map[int32][]string{}
			for n := range 12 {
				kind := random.IntN(3)
				var messages []client.Message
				for i := range 1 + random.IntN(4) {
					partition := int32(random.IntN(2))
					value := fmt.Sprintf("%d.%d", n, i)
					messages = append(messages, b.plain(partition, value))
					if kind != 0 {
						want[partition] = append(want[partition], value)
					}
				}
				switch kind {
				case 0, 1:
					b.transact(kind == 1, messages...)
				default:
					b.produce(messages...)
				}
			}
			got := map[int32][]string{}
			for _, r := range b.read(b.dlq) {
				got[r.Partition] = append(got[r.Partition], string(r.Value))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// What tells the end of a log must not overtake records that wait for a slow
// visitor.
func TestScanWithASlowVisitorSeesAll(t *testing.T) {
	t.Parallel()
	const n = 4000
	b := newBed(t)
	messages := make([]client.Message, n)
	for i := range messages {
		messages[i] = b.plain(int32(i%2), "x")
	}
	b.produce(messages...)
	b.transact(false, b.plain(0, "aborted"), b.plain(1, "aborted"))
	seen := 0
	_, err := b.Scan(t.Context(), ScanRequest{Topic: b.dlq}, func(*Record) error {
		if seen++; seen%500 == 1 {
			return pause(t.Context(), 3*scanTick)
		}
		return nil
	})
	if err != nil || seen != n {
		t.Errorf("saw %d of %d, %v", seen, n, err)
	}
}

func TestScanStopsWhereTheTopicEndedAtItsStart(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.produce(b.plain(0, "a"), b.plain(0, "b"))
	var seen []*Record
	_, err := b.Scan(t.Context(), ScanRequest{Topic: b.dlq}, func(r *Record) error {
		b.produce(b.plain(0, "later"), b.plain(1, "later"))
		seen = append(seen, r)
		return nil
	})
	if diff := cmp.Diff([]string{"0:a", "0:b"}, values(seen)); diff != "" || err != nil {
		t.Errorf("%v, records (-want +got):\n%s", err, diff)
	}
}

func TestScanStartsBehindWhatIsDeleted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.produce(b.plain(0, "a"), b.plain(0, "b"), b.plain(0, "c"), b.plain(1, "d"))
	err := b.admin.DeleteRecords(t.Context(), []client.Offset{
		{TopicPartition: client.TopicPartition{Topic: b.dlq, Partition: 0}, Offset: 2},
		{TopicPartition: client.TopicPartition{Topic: b.dlq, Partition: 1}, Offset: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0:c"}, values(b.read(b.dlq))); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestScanWithinTheBoundsOfAFilter(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.produce(b.plain(0, "a"), b.plain(0, "b"), b.plain(0, "c"), b.plain(1, "d"))
	var seen []*Record
	result, err := b.Scan(t.Context(), ScanRequest{
		Topic: b.dlq, Filter: &Filter{IDs: []ID{{"", 0, 1}, {"", 0, 99}}},
	}, func(r *Record) error { seen = append(seen, r); return nil })
	if diff := cmp.Diff([]string{"0:b", "0:c"}, values(seen)); diff != "" || err != nil || len(result.Bounds) != 1 {
		t.Errorf("%v, bounds %v, records (-want +got):\n%s", err, result.Bounds, diff)
	}
}

func TestScanIsStoppedByItsVisitorAndItsContext(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(10)
	result, err := b.Scan(t.Context(), ScanRequest{Topic: b.dlq}, func(*Record) error { return ErrStop })
	if err != nil || !result.Stopped || result.Scanned != 1 {
		t.Errorf("result %+v, %v; want stopped after one", result, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = b.Scan(ctx, ScanRequest{Topic: b.dlq}, func(*Record) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestScanJoinsAndCommitsNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(4)
	b.read(b.dlq)
	groups, err := b.admin.Groups(t.Context())
	if err != nil || slices.Contains(groups, scanGroup) {
		t.Errorf("groups %v, %v; want no %s", groups, err, scanGroup)
	}
}

func TestScanWithoutAClusterGivesUp(t *testing.T) {
	t.Parallel()
	c, err := Open(Config{Brokers: "127.0.0.1:1", Library: quiet(), RequestTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Scan(t.Context(), ScanRequest{Topic: "d"}, func(*Record) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the deadline", err)
	}
}

func TestConfigReportsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := Open(Config{RequestTimeout: -1, Kafka: map[string]string{"isolation.level": "read_uncommitted", "transactional.id": "x"}})
	joined, ok := errors.Unwrap(err).(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 4 {
		t.Errorf("got %v, want four mistakes", err)
	}
}
