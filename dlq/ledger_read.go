package dlq

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// Ledger reads what was decided about the dead letters of a DLQ. A DLQ without
// a ledger has one that decided nothing.
func (c *Cluster) Ledger(ctx context.Context, dlq string) (*Ledger, error) {
	info, err := c.topic(ctx, dlq)
	if err != nil {
		return nil, fmt.Errorf("ledger of %s: %w", dlq, err)
	}
	return c.readLedger(ctx, info)
}

// readLedger reads the ledger of a DLQ to its last stable offset.
func (c *Cluster) readLedger(ctx context.Context, dlq client.TopicInfo) (*Ledger, error) {
	ledger := &Ledger{}
	name := retry.LedgerTopic(dlq.Topic)
	info, err := c.topic(ctx, name)
	if _, missing := errors.AsType[*NotFoundError](err); missing {
		return ledger, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ledger of %s: %w", dlq.Topic, err)
	}
	bounds, err := c.scanBounds(ctx, name, info.Partitions, nil)
	if err != nil {
		return nil, fmt.Errorf("ledger of %s: %w", dlq.Topic, err)
	}
	_, err = c.scanWithin(ctx, ScanRequest{Topic: name}, bounds, func(m *client.Message) error {
		ledger.read(dlq.ID, m.Key, m.Value)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger of %s: %w", dlq.Topic, err)
	}
	return ledger, nil
}

// read takes in one record of the ledger of the DLQ with this topic id.
func (l *Ledger) read(topicID string, key, value []byte) {
	var err error
	switch {
	case value == nil: // deleted on purpose
	case string(key) == leaseKey(topicID):
		var read lease
		if read, err = parseLease(value); err == nil {
			l.lease = read
		}
	case belongsTo(key, topicID):
		var e *Entry
		if e, err = parseEntry(key, value); err == nil {
			l.Apply(e)
		}
	}
	if err != nil {
		if l.problem == nil {
			l.problem = err
		}
		l.Unreadable++
	}
}

// belongsTo reports whether a key speaks of the DLQ with this topic id, and
// not of one that bore the name before.
func belongsTo(key []byte, topicID string) bool {
	return len(key) > len(topicID) && string(key[:len(topicID)]) == topicID && key[len(topicID)] == '/'
}
