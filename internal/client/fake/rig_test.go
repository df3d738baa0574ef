package fake_test

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/client/fake"
)

func at(partition int32) client.TopicPartition {
	return client.TopicPartition{Topic: "t", Partition: partition}
}

func position(partition int32, offset int64) client.Offset {
	return client.Offset{TopicPartition: at(partition), Offset: offset, LeaderEpoch: client.NoLeaderEpoch}
}

// bubble runs f in virtual time on a cluster with one topic, t.
func bubble(t *testing.T, config fake.Config, partitions int, f func(t *testing.T, c *fake.Cluster)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config.Topics = map[string]int{"t": partitions}
		if config.OnMisuse == nil {
			config.OnMisuse = func(err error) { t.Error(err) }
		}
		f(t, fake.New(config))
	})
}

// seen is a consumer and what it was told.
type seen struct {
	*fake.Consumer

	t          *testing.T
	rebalances []client.Rebalance
	failures   []error
	records    []client.Message
	onRevoked  func(client.Rebalance)
}

func consume(t *testing.T, c *fake.Cluster, extra client.Config) *seen {
	t.Helper()
	config := client.Config{
		"group.id": "g", "enable.auto.offset.store": "false", "auto.offset.reset": "earliest",
		"partition.assignment.strategy": "cooperative-sticky",
	}
	maps.Copy(config, extra)
	made, err := c.Consumer(config)
	if err != nil {
		t.Fatal(err)
	}
	inner, ok := made.(*fake.Consumer)
	if !ok {
		t.Fatalf("got a %T", made)
	}
	return &seen{Consumer: inner, t: t}
}

// join subscribes to t and polls until all its partitions came.
func (s *seen) join() {
	s.t.Helper()
	err := s.Subscribe([]string{"t"}, func(r client.Rebalance) {
		s.rebalances = append(s.rebalances, r)
		if r.Kind == client.Revoked && s.onRevoked != nil {
			s.onRevoked(r)
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// member returns a consumer that has joined and has its partitions.
func member(t *testing.T, c *fake.Cluster, extra client.Config) *seen {
	t.Helper()
	s := consume(t, c, extra)
	s.join()
	s.polls(time.Second)
	return s
}

// polls goes on polling for so long and keeps what comes.
func (s *seen) polls(d time.Duration) {
	s.t.Helper()
	for until := time.Now().Add(d); time.Now().Before(until); {
		var m client.Message
		switch kind, err := s.Poll(time.Until(until), &m); kind {
		case client.Record:
			s.records = append(s.records, m)
		case client.Failure:
			s.failures = append(s.failures, err)
		case client.Nothing, client.Statistics:
		}
	}
}

func (s *seen) close() {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Error(err)
	}
}

// store stores one position, which must be accepted.
func (s *seen) store(partition int32, offset int64) {
	s.t.Helper()
	if err := s.Store([]client.Offset{position(partition, offset)}); err != nil {
		s.t.Error(err)
	}
}

func wantCode(t *testing.T, what string, err error, want client.Code) {
	t.Helper()
	if client.CodeOf(err) != want {
		t.Errorf("%s: got %v, want code %d", what, err, want)
	}
}

func wantCommitted(t *testing.T, c *fake.Cluster, partition int32, want int64) {
	t.Helper()
	if got := c.Committed("g", at(partition)); got != want {
		t.Errorf("partition %d is committed at %d, want %d", partition, got, want)
	}
}
