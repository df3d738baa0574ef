//go:build cgo

package confluent

import (
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// Poll is the hot path: it adds no allocation to the binding's own.
func (c *consumer) Poll(timeout time.Duration, into *client.Message) (client.EventKind, error) {
	if c.closed.Load() {
		return client.Failure, wrongState("poll after close")
	}
	if c.serving {
		return client.Failure, wrongState("poll inside a rebalance callback")
	}
	if len(c.pending) > 0 {
		first := c.pending[0]
		c.pending = c.pending[1:]
		return client.Failure, first
	}
	switch event := c.kafka.Poll(milliseconds(timeout)).(type) {
	case nil:
		return client.Nothing, nil
	case *kafka.Message:
		return c.record(event, into)
	case kafka.Error:
		return c.failure(event)
	case *kafka.Stats:
		*into = client.Message{Value: []byte(event.String())}
		return client.Statistics, nil
	case kafka.OAuthBearerTokenRefresh:
		return c.refuseToken()
	default:
		return client.Nothing, nil
	}
}

func (c *consumer) record(m *kafka.Message, into *client.Message) (client.EventKind, error) {
	if err := errorOf(m.TopicPartition.Error); err != nil {
		return client.Failure, err
	}
	// The topic's bytes are shared by all records of the topic: the binding
	// keeps one copy by its topic handle. Only its pointer is per record.
	into.Topic = *m.TopicPartition.Topic
	into.Partition = m.TopicPartition.Partition
	into.LeaderEpoch = epochIn(m.TopicPartition.LeaderEpoch)
	into.Offset = int64(m.TopicPartition.Offset)
	into.TimestampType = client.TimestampType(m.TimestampType)
	into.Timestamp = 0
	if into.TimestampType != client.TimestampNone {
		into.Timestamp = m.Timestamp.UnixMilli()
	}
	into.Key, into.Value = m.Key, m.Value
	into.Headers = headersIn(m.Headers)
	return client.Record, nil
}

func (c *consumer) failure(e kafka.Error) (client.EventKind, error) {
	err := clientError(e)
	c.fatal = c.fatal || err.Fatal
	return client.Failure, err
}

// refuseToken answers a request for a token that nothing here can make. Left
// unanswered, the client would wait without a word.
func (c *consumer) refuseToken() (client.EventKind, error) {
	err := noToken()
	if e := c.kafka.SetOAuthBearerTokenFailure(err.Text); e != nil {
		return client.Failure, errorOf(e)
	}
	return client.Failure, err
}

func noToken() *client.Error {
	return &client.Error{
		Code: client.Authentication,
		Text: "an OAUTHBEARER token is wanted and can only come from the library itself: set sasl.oauthbearer.method=oidc",
	}
}
