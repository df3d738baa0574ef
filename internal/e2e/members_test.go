package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/holdfast-kafka/holdfast/consumer"
	"github.com/holdfast-kafka/holdfast/internal/testkafka"
)

const memberPartitions = 12

// seen counts how often each record was handled.
type seen struct {
	mu    sync.Mutex
	times map[string]int
}

func (s *seen) add(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[id]++
	return s.times[id]
}

func (s *seen) missing(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := 0
	for i := range n {
		if s.times[string(id(i))] == 0 {
			missing++
		}
	}
	return missing
}

func (s *seen) repeated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	repeated := 0
	for _, times := range s.times {
		if times > 1 {
			repeated++
		}
	}
	return repeated
}

// TestMembersComeAndGo grows a group from one member to four and shrinks it to
// one, under each protocol, while records are written and some of them fail.
// Every member must get its share of the source partitions, which one client
// for source and lanes does not give, and nothing may be lost.
func TestMembersComeAndGo(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]map[string]string{
		"cooperative-sticky": {"partition.assignment.strategy": "cooperative-sticky"},
		"range":              {"partition.assignment.strategy": "range"},
		"consumer":           {"group.protocol": "consumer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			comeAndGo(t, protocol)
		})
	}
}

func comeAndGo(t *testing.T, protocol map[string]string) {
	addr, genuine := testkafka.Broker(t)
	if protocol["group.protocol"] == "consumer" && !genuine {
		// The embedded broker's uniform assignor heeds the number of members
		// only, not what each of them subscribes to.
		protocol["group.remote.assignor"] = "range"
	}
	topic := testkafka.Topic(t, addr, memberPartitions)
	handled := &seen{times: map[string]int{}}
	flaky := errors.New("gateway timed out")
	config := func(i int) consumer.Config {
		return consumer.Config{
			Brokers: addr, Group: "billing-" + topic, Kafka: quick(protocol), Retry: quickRetry(),
			Provision: consumer.Create, Logger: logger(t, fmt.Sprint(i)),
			Routes: []consumer.Route{{
				Topics: []string{topic},
				Handler: consumer.HandlerFunc(func(_ context.Context, r *consumer.Record) error {
					if r.Offset%10 == 0 && r.Attempt() == 1 {
						return flaky
					}
					handled.add(string(r.Value))
					return nil
				}),
			}},
		}
	}
	written := writer(t, addr, topic)

	var members []*member
	for i := range 4 {
		members = append(members, start(t, config(i)))
		balanced(t, members, topic)
	}
	for len(members) > 1 {
		members[0].stop(t)
		members = members[1:]
		balanced(t, members, topic)
	}
	n := written()
	eventually(t, "every record handled", func() bool { return handled.missing(n) == 0 })
	members[0].stop(t)
	// Delivery is at least once, but members that leave in peace repeat next
	// to nothing.
	repeated := handled.repeated()
	t.Logf("%d of %d records were handled more than once", repeated, n)
	if repeated > n/100 {
		t.Errorf("%d of %d records were handled more than once although every member left in peace", repeated, n)
	}
}

// writer writes records all the time until the returned function is called,
// which tells how many there are.
func writer(t *testing.T, addr, topic string) (stop func() int) {
	cl := plain(t, addr)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	count := make(chan int, 1)
	go func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		n := 0
		for {
			select {
			case <-tick.C:
				cl.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(n % memberPartitions), Value: id(n)}, func(_ *kgo.Record, err error) {
					if err != nil && ctx.Err() == nil {
						t.Errorf("write: %v", err)
					}
				})
				n++
			case <-ctx.Done():
				count <- n
				return
			}
		}
	}()
	return func() int {
		if err := cl.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		cancel()
		return <-count - 1 // the last may not have been written
	}
}

// balanced waits until the members share the partitions as evenly as can be.
func balanced(t *testing.T, members []*member, topic string) {
	t.Helper()
	eventually(t, fmt.Sprintf("partitions shared among %d members", len(members)), func() bool {
		var all []int32
		for _, m := range members {
			owned := m.owns(t, topic)
			low := memberPartitions / len(members)
			if len(owned) < low || len(owned) > (memberPartitions+len(members)-1)/len(members) {
				return false
			}
			all = append(all, owned...)
		}
		slices.Sort(all)
		return len(all) == memberPartitions && len(slices.Compact(all)) == memberPartitions
	})
}
