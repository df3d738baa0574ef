package main

import (
	"context"
	"fmt"

	"github.com/holdfast-kafka/holdfast/internal/testkafka"
)

// broker sees to a broker and returns what ends it: the one that was named, or
// an Apache Kafka of its own.
func (o *options) broker(ctx context.Context) (stop func(), err error) {
	if o.brokers != "" {
		return func() {}, nil
	}
	o.progressf("starting Apache Kafka")
	cluster, err := testkafka.Start(ctx, testkafka.Options{
		// What a bench writes and reads must not be held up by the collector.
		JVM: []string{"-Xmx1g"},
	})
	if err != nil {
		return nil, fmt.Errorf("start Apache Kafka: %w", err)
	}
	o.brokers = cluster.Addr()
	return func() {
		if err := cluster.Stop(); err != nil {
			o.progressf("stop Apache Kafka: %v", err)
		}
	}, nil
}
