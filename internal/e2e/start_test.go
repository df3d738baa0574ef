package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/holdfast-kafka/holdfast/consumer"
	"github.com/holdfast-kafka/holdfast/internal/testkafka"
	"github.com/holdfast-kafka/holdfast/retry"
)

func nothing(context.Context, *consumer.Record) error { return nil }

func runOnce(t *testing.T, cfg consumer.Config) error {
	t.Helper()
	cfg.Logger = logger(t, "0")
	c, err := consumer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return c.Run(ctx)
}

func wantAll(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got error %q, want it to say %q", err, part)
		}
	}
}

func TestNoBrokerAtStart(t *testing.T) {
	t.Parallel()
	// Nothing listens on port 1 of loopback.
	err := runOnce(t, consumer.Config{
		Brokers: "127.0.0.1:1", Group: "billing", StartTimeout: time.Second,
		Routes: []consumer.Route{{Topics: []string{"payments"}, Handler: consumer.HandlerFunc(nothing)}},
	})
	wantAll(t, err, "127.0.0.1:1", "1s")
}

func TestEveryMissingTopicIsNamed(t *testing.T) {
	t.Parallel()
	addr, _ := testkafka.Broker(t)
	topic := testkafka.Topic(t, addr, 3)
	err := runOnce(t, consumer.Config{
		Brokers: addr, Group: "billing", Retry: quickRetry(),
		Routes: []consumer.Route{{Topics: []string{topic, "no-such-topic"}, Handler: consumer.HandlerFunc(nothing)}},
	})
	wantAll(t, err, "no-such-topic",
		retry.LaneTopic(topic, "billing", 100*time.Millisecond), retry.LaneTopic(topic, "billing", 500*time.Millisecond),
		retry.ReplayTopic(topic, "billing"), retry.DLQTopic(topic, "billing"), "does not exist")
}

func TestUnfitTopicsAreNamed(t *testing.T) {
	t.Parallel()
	addr, _ := testkafka.Broker(t)
	topic := testkafka.Topic(t, addr, 1)
	admin := kadm.NewClient(plain(t, addr))
	value := func(s string) *string { return &s }
	for name, settings := range map[string]map[string]*string{
		retry.LaneTopic(topic, "billing", 100*time.Millisecond): {"retention.ms": value("1000")},
		retry.LaneTopic(topic, "billing", 500*time.Millisecond): {"cleanup.policy": value("compact")},
		retry.ReplayTopic(topic, "billing"):                     nil,
		retry.DLQTopic(topic, "billing"):                        {"max.message.bytes": value("2000")},
	} {
		if _, err := admin.CreateTopic(t.Context(), 1, 1, settings, name); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" known to the broker", func() bool {
			topics, err := admin.ListTopics(t.Context(), name)
			return err == nil && topics.Has(name)
		})
	}
	err := runOnce(t, consumer.Config{
		Brokers: addr, Group: "billing", Retry: quickRetry(),
		Routes: []consumer.Route{{Topics: []string{topic}, Handler: consumer.HandlerFunc(nothing)}},
	})
	wantAll(t, err, "retention.ms is 1000", "cleanup.policy is compact", "max.message.bytes is 2000", "expected")
}
