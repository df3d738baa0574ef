package dlq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// inheritedSetting is what a ledger takes over from its DLQ: a decision must
// be as durable as what it is about.
const inheritedSetting = "min.insync.replicas"

// ensureLedger returns the ledger topic of a DLQ and makes it where there is
// none.
func (c *Cluster) ensureLedger(ctx context.Context, dlq client.TopicInfo) (client.TopicInfo, error) {
	name := retry.LedgerTopic(dlq.Topic)
	info, err := c.topic(ctx, name)
	if err == nil {
		return info, nil
	}
	if _, missing := errors.AsType[*NotFoundError](err); !missing {
		return client.TopicInfo{}, fmt.Errorf("ledger of %s: %w", dlq.Topic, err)
	}
	if err := c.createLedger(ctx, name, dlq); err != nil {
		return client.TopicInfo{}, fmt.Errorf("create ledger of %s: %w", dlq.Topic, err)
	}
	if info, err = c.awaitTopic(ctx, name); err != nil {
		return client.TopicInfo{}, fmt.Errorf("ledger of %s: %w", dlq.Topic, err)
	}
	return info, nil
}

// awaitTopic describes a topic that was just made: other brokers hear of it a
// little later.
func (c *Cluster) awaitTopic(ctx context.Context, name string) (client.TopicInfo, error) {
	const again = 100 * time.Millisecond
	ctx, cancel := c.bound(ctx)
	defer cancel()
	for {
		info, err := c.topic(ctx, name)
		if _, missing := errors.AsType[*NotFoundError](err); !missing {
			return info, err
		}
		if ended := pause(ctx, again); ended != nil {
			return client.TopicInfo{}, errors.Join(err, ended)
		}
	}
}

func (c *Cluster) createLedger(ctx context.Context, name string, dlq client.TopicInfo) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	settings := map[string]string{"cleanup.policy": "compact"}
	inherited, err := c.admin.TopicConfig(ctx, dlq.Topic)
	if err != nil && client.CodeOf(err) != client.TopicAuthorization {
		return err
	}
	if value := inherited[inheritedSetting]; value != "" {
		settings[inheritedSetting] = value
	}
	err = c.admin.CreateTopics(ctx, []client.TopicSpec{{
		Topic: name, Partitions: dlq.Partitions, ReplicationFactor: dlq.ReplicationFactor, Config: settings,
	}})
	if client.CodeOf(err) == client.TopicAlreadyExists {
		return nil // another run was quicker
	}
	return err
}
