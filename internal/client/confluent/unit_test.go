//go:build cgo

package confluent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

func TestErrorOfKeepsWhatMatters(t *testing.T) {
	t.Parallel()
	if err := errorOf(nil); err != nil {
		t.Errorf("nil became %v", err)
	}
	if err := errorOf(kafka.NewError(kafka.ErrNoError, "", false)); err != nil {
		t.Errorf("no error became %v", err)
	}
	if err := errorOf(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled became %v", err)
	}
	err := errorOf(kafka.NewError(kafka.ErrFenced, "gone", true))
	if client.CodeOf(err) != client.Fenced || !client.IsFatal(err) {
		t.Errorf("got %v, want fatal Fenced", err)
	}
	if !client.IsFatal(errorOf(kafka.NewError(kafka.ErrFatal, "", false))) {
		t.Error("the code that means fatal is not fatal without the flag")
	}
}

// The numbers are librdkafka's and the protocol's own.
func TestCodesAreTheLibrarys(t *testing.T) {
	t.Parallel()
	pairs := map[client.Code]kafka.ErrorCode{
		client.MsgTimedOut: kafka.ErrMsgTimedOut, client.AllBrokersDown: kafka.ErrAllBrokersDown,
		client.UnknownPartition: kafka.ErrUnknownPartition, client.UnknownTopic: kafka.ErrUnknownTopic,
		client.Transport: kafka.ErrTransport, client.BadMsg: kafka.ErrBadMsg, client.TimedOut: kafka.ErrTimedOut,
		client.QueueFull: kafka.ErrQueueFull, client.InvalidArg: kafka.ErrInvalidArg, client.SSL: kafka.ErrSsl,
		client.WaitCoord: kafka.ErrWaitCoord, client.State: kafka.ErrState, client.Authentication: kafka.ErrAuthentication,
		client.NoOffset: kafka.ErrNoOffset, client.PurgeQueue: kafka.ErrPurgeQueue, client.PurgeInflight: kafka.ErrPurgeInflight,
		client.FatalError: kafka.ErrFatal, client.MaxPollExceeded: kafka.ErrMaxPollExceeded, client.Fenced: kafka.ErrFenced,
		client.AssignmentLost: kafka.ErrAssignmentLost, client.AutoOffsetReset: kafka.ErrAutoOffsetReset,
		client.OffsetOutOfRange: kafka.ErrOffsetOutOfRange, client.CorruptMessage: kafka.ErrInvalidMsg,
		client.UnknownTopicOrPartition: kafka.ErrUnknownTopicOrPart, client.NotLeader: kafka.ErrNotLeaderForPartition,
		client.RequestTimedOut: kafka.ErrRequestTimedOut, client.MsgSizeTooLarge: kafka.ErrMsgSizeTooLarge,
		client.CoordinatorNotAvailable: kafka.ErrCoordinatorNotAvailable, client.NotCoordinator: kafka.ErrNotCoordinator,
		client.NotEnoughReplicas: kafka.ErrNotEnoughReplicas, client.IllegalGeneration: kafka.ErrIllegalGeneration,
		client.UnknownMemberID: kafka.ErrUnknownMemberID, client.RebalanceInProgress: kafka.ErrRebalanceInProgress,
		client.TopicAuthorization: kafka.ErrTopicAuthorizationFailed, client.GroupAuthorization: kafka.ErrGroupAuthorizationFailed,
		client.ClusterAuthorization: kafka.ErrClusterAuthorizationFailed, client.TopicAlreadyExists: kafka.ErrTopicAlreadyExists,
		client.InvalidReplicationFactor: kafka.ErrInvalidReplicationFactor, client.InvalidProducerEpoch: kafka.ErrInvalidProducerEpoch,
		client.TransactionalIDAuth: kafka.ErrTransactionalIDAuthorizationFailed, client.FencedInstanceID: kafka.ErrFencedInstanceID,
		client.InvalidRecord: kafka.ErrInvalidRecord, client.StaleMemberEpoch: kafka.ErrStaleMemberEpoch,
	}
	for ours, theirs := range pairs {
		if int(ours) != int(theirs) {
			t.Errorf("code %d stands for the library's %d (%s)", ours, int(theirs), theirs)
		}
	}
}

func TestConfigRefusesTheBindingsKeys(t *testing.T) {
	t.Parallel()
	_, err := configMap(client.Config{"go.batch.producer": "true", "go.events.channel.enable": "true", "client.id": "x"}, nil, nil)
	if client.CodeOf(err) != client.InvalidArg || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want both keys refused", err)
	}
	conf, err := configMap(client.Config{"enable.metrics.push": "true"}, kafka.ConfigMap{"linger.ms": "1"}, kafka.ConfigMap{"x": 1})
	if err != nil {
		t.Fatal(err)
	}
	if (*conf)["enable.metrics.push"] != "true" || (*conf)["linger.ms"] != "1" || (*conf)["x"] != 1 {
		t.Errorf("got %v, want the caller over the defaults and what is owned over all", *conf)
	}
}

func TestUnknownKeyIsAnError(t *testing.T) {
	t.Parallel()
	bad := client.Config{"no.such.key": "1", "group.id": "g", transactionalID: "x"}
	if _, err := quiet().Consumer(bad); client.CodeOf(err) != client.InvalidArg {
		t.Errorf("consumer: got %v", err)
	}
	if _, err := quiet().Producer(client.ProducerConfig{Config: bad}); client.CodeOf(err) != client.InvalidArg {
		t.Errorf("producer: got %v", err)
	}
	if _, err := quiet().Transactor(client.ProducerConfig{Config: bad}); client.CodeOf(err) != client.InvalidArg {
		t.Errorf("transactor: got %v", err)
	}
	if _, err := quiet().Transactor(client.ProducerConfig{}); client.CodeOf(err) != client.InvalidArg {
		t.Errorf("transactor without an id: got %v", err)
	}
	if _, err := quiet().Admin(bad); client.CodeOf(err) != client.InvalidArg {
		t.Errorf("admin: got %v", err)
	}
}

// The library looks at some settings only when it meets a topic, and the
// binding can only panic about it.
func TestContradictorySettingsAreAnErrorOfProduce(t *testing.T) {
	t.Parallel()
	p, err := quiet().Transactor(client.ProducerConfig{Config: client.Config{
		transactionalID: "x", "linger.ms": "60000", "bootstrap.servers": "127.0.0.1:1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Produce(&client.Message{Topic: "t"}, nil); client.CodeOf(err) != client.InvalidArg {
		t.Errorf("got %v, want code InvalidArg", err)
	}
	if err := p.Close(); err != nil || p.Outstanding() != 0 {
		t.Errorf("got %v with %d outstanding", err, p.Outstanding())
	}
}

func TestMillisecondsRoundUp(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]int{-time.Second: 0, 0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2} {
		if got := milliseconds(in); got != want {
			t.Errorf("milliseconds(%d) = %d, want %d", in, got, want)
		}
	}
}

func TestLimiterPassesABurstAndCountsTheRest(t *testing.T) {
	t.Parallel()
	l := make(limiter)
	start := time.Unix(0, 0)
	for range logBurst {
		if pass, _ := l.allow("FAIL", start); !pass {
			t.Fatal("a line of the burst was held back")
		}
	}
	for range 3 {
		if pass, _ := l.allow("FAIL", start.Add(logPeriod-1)); pass {
			t.Fatal("a line over the burst passed")
		}
	}
	if pass, _ := l.allow("OTHER", start.Add(logPeriod-1)); !pass {
		t.Error("one tag held another back")
	}
	if pass, suppressed := l.allow("FAIL", start.Add(logPeriod)); !pass || suppressed != 3 {
		t.Errorf("got %t and %d suppressed, want the next period to pass and tell of 3", pass, suppressed)
	}
}

func TestLogDrainDrainsToTheLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := newLogDrain(slog.New(slog.NewTextHandler(&out, nil)))
	d.start()
	d.events <- kafka.LogEvent{Name: "c-1", Tag: "FAIL", Message: "broker away", Level: 3}
	d.stop()
	for _, want := range []string{"level=WARN", "client=c-1", "tag=FAIL", `text="broker away"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("log %q lacks %s", out.String(), want)
		}
	}
}

func TestGateWaitsForThoseInside(t *testing.T) {
	t.Parallel()
	var g gate
	if !g.enter() {
		t.Fatal("open gate refused")
	}
	var wg sync.WaitGroup
	shut := make(chan bool, 2)
	for range 2 {
		wg.Go(func() { shut <- g.shut() })
	}
	if <-shut {
		t.Error("shut while somebody was inside")
	}
	if g.enter() {
		t.Error("entered a gate that is shutting")
	}
	g.leave()
	wg.Wait()
	if !<-shut {
		t.Error("nobody shut the gate")
	}
}
