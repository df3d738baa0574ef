package clienttest

import (
	"context"
	"crypto/rand"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// Harness is what one behaviour runs on.
type Harness struct {
	Library client.Library
	// Bootstrap is the broker's address; the fake needs none.
	Bootstrap string
}

// Features describe how a library is to be run and what it can do.
type Features struct {
	// Bubble runs a behaviour in virtual time. Nil: in real time, in
	// parallel with the others.
	Bubble func(t *testing.T, f func(t *testing.T))
	// Patience bounds the wait for any one thing. Default 30 s.
	Patience time.Duration
	// MaxPoll is the max.poll.interval.ms, and the session timeout, of the
	// behaviour that exceeds it. Brokers have a least session timeout: 6 s
	// by default. Default 6 s.
	MaxPoll time.Duration
	// LogAppendTime: the broker can set timestamps itself.
	LogAppendTime bool
	// Groups are the ways to balance. Default: all.
	Groups []Balance
}

// Balance is a way for a group to share its partitions.
type Balance string

// The ways to balance: two strategies of the classic protocol, and the newer
// protocol, where the broker decides.
const (
	Cooperative Balance = "cooperative-sticky"
	Eager       Balance = "range"
	Broker      Balance = "consumer"
)

// behaviour is one thing a library must do, named in words.
type behaviour struct {
	name string
	run  func(b *bench)
}

// Run runs every behaviour as a subtest, each on a harness of its own. Topics
// and groups have fresh names, so harnesses may share a broker.
func Run(t *testing.T, features Features, newHarness func(t *testing.T) Harness) {
	t.Helper()
	if features.Patience == 0 {
		features.Patience = 30 * time.Second
	}
	if features.MaxPoll == 0 {
		features.MaxPoll = 6 * time.Second
	}
	if features.Groups == nil {
		features.Groups = []Balance{Cooperative, Eager, Broker}
	}
	for _, b := range behaviours(features) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			run := func(t *testing.T) { b.run(newBench(t, features, newHarness(t))) }
			if features.Bubble != nil {
				features.Bubble(t, run)
				return
			}
			run(t)
		})
	}
}

func behaviours(features Features) []behaviour {
	var all []behaviour
	for _, list := range [][]behaviour{
		recordBehaviours(), pauseBehaviours(), offsetBehaviours(), directBehaviours(),
		producerBehaviours(), transactorBehaviours(), adminBehaviours(),
	} {
		all = append(all, list...)
	}
	if features.LogAppendTime {
		all = append(all, behaviour{"a log-append topic says so and sets the time", logAppendTime})
	}
	for _, way := range features.Groups {
		for _, b := range groupBehaviours(way) {
			all = append(all, behaviour{name: string(way) + "/" + b.name, run: b.run})
		}
	}
	return all
}

// bench is what a behaviour works with.
type bench struct {
	*testing.T

	features Features
	harness  Harness
	admin    client.Admin
	writer   *writer // of what is only there to be read; made at first use
	// suffix makes names fresh.
	suffix string
}

func newBench(t *testing.T, features Features, harness Harness) *bench {
	t.Helper()
	b := &bench{T: t, features: features, harness: harness, suffix: strings.ToLower(rand.Text()[:10])}
	admin, err := harness.Library.Admin(b.config(nil))
	if err != nil {
		t.Fatal(err)
	}
	b.admin = admin
	t.Cleanup(func() { b.check(admin.Close()) })
	return b
}

// config adds to what every client needs.
func (b *bench) config(extra client.Config) client.Config {
	out := client.Config{}
	if b.harness.Bootstrap != "" {
		out["bootstrap.servers"] = b.harness.Bootstrap
	}
	maps.Copy(out, extra)
	return out
}

func (b *bench) name(base string) string { return base + "-" + b.suffix }

// check fails the behaviour on an unexpected error and goes on.
func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Error(err)
	}
}

// must fails the behaviour on an unexpected error and ends it.
func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// wantCode fails the behaviour unless the error has this code.
func (b *bench) wantCode(what string, err error, want client.Code) {
	b.Helper()
	if err == nil || client.CodeOf(err) != want {
		b.Errorf("%s: got %v, want code %d", what, err, want)
	}
}

// context ends with the behaviour's patience.
func (b *bench) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), b.features.Patience)
	b.Cleanup(cancel)
	return ctx
}

// topic creates a topic with a fresh name.
func (b *bench) topic(base string, partitions int) string {
	b.Helper()
	return b.topicWith(base, partitions, nil)
}

func (b *bench) topicWith(base string, partitions int, config map[string]string) string {
	b.Helper()
	topic := b.name(base)
	b.must(b.admin.CreateTopics(b.context(), []client.TopicSpec{{Topic: topic, Partitions: partitions, Config: config}}))
	b.awaitTopic(topic)
	return topic
}

// awaitTopic waits until the broker that answers has heard of a new topic from
// the one that made it.
func (b *bench) awaitTopic(topic string) {
	b.Helper()
	ctx := b.context()
	for {
		_, err := b.admin.TopicConfig(ctx, topic)
		if client.CodeOf(err) != client.UnknownTopicOrPartition {
			b.must(err)
			return
		}
		b.pass(10 * time.Millisecond)
	}
}

// pass lets time pass where that itself is what a behaviour is about.
func (b *bench) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

func at(topic string, partition int32) client.TopicPartition {
	return client.TopicPartition{Topic: topic, Partition: partition}
}

func position(topic string, partition int32, offset int64) client.Offset {
	return client.Offset{TopicPartition: at(topic, partition), Offset: offset, LeaderEpoch: client.NoLeaderEpoch}
}
