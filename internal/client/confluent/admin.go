//go:build cgo

package confluent

import (
	"context"
	"fmt"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// adminTimeout ends a call whose context has no deadline. It is librdkafka's
// own socket.timeout.ms.
const adminTimeout = 60 * time.Second

// admin is a [client.Admin] on librdkafka.
type admin struct {
	kafka *kafka.AdminClient
	logs  *logDrain
	gate  gate
}

// Admin makes an administrative client. It connects in the background.
func (l Library) Admin(config client.Config) (client.Admin, error) {
	logs := newLogDrain(l.logger())
	conf, err := configMap(config, nil, logs.config())
	if err != nil {
		return nil, fmt.Errorf("new admin client: %w", err)
	}
	inner, err := kafka.NewAdminClient(conf)
	if err != nil {
		return nil, fmt.Errorf("new admin client: %w", errorOf(err))
	}
	logs.start()
	return &admin{kafka: inner, logs: logs}, nil
}

// call runs one request under the gate and a deadline.
func (a *admin) call(ctx context.Context, name string, request func(context.Context) error) error {
	if !a.gate.enter() {
		return fmt.Errorf("%s: %w", name, wrongState("admin client is closed"))
	}
	defer a.gate.leave()
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, adminTimeout)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := errorOf(request(ctx)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// answers brings what was found into the order of what was asked. The broker
// may be silent about some of it.
func answers[K comparable, V any](asked []K, found map[K]V, missing func(K) V) []V {
	out := make([]V, len(asked))
	for i, key := range asked {
		v, ok := found[key]
		if !ok {
			v = missing(key)
		}
		out[i] = v
	}
	return out
}

// remaining is the time that a request inside call has left, for what the
// library wants told in numbers.
func remaining(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return max(time.Millisecond, time.Until(deadline))
}

func (a *admin) ClusterID(ctx context.Context) (string, error) {
	var id string
	err := a.call(ctx, "cluster id", func(ctx context.Context) (err error) {
		id, err = a.kafka.ClusterID(ctx)
		return err
	})
	return id, err
}

func (a *admin) Close() error {
	if a.gate.shut() {
		a.kafka.Close()
		a.logs.stop()
	}
	return nil
}
