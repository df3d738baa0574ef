//go:build cgo

package confluent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// Keys that begin with this belong to the binding and not to librdkafka. Their
// values are not strings, and this package sets those it needs.
const bindingPrefix = "go."

// defaults are what every client gets unless the caller says otherwise. The
// push of client metrics to the broker (KIP-714) is noise in a program that
// has its own metrics.
func defaults() kafka.ConfigMap {
	return kafka.ConfigMap{
		"enable.metrics.push":  "false",
		"client.software.name": "holdfast-confluent-kafka-go",
	}
}

// configMap turns the caller's keys into the binding's, over the defaults and
// under what this package owns.
func configMap(config client.Config, extra, owned kafka.ConfigMap) (*kafka.ConfigMap, error) {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if strings.HasPrefix(key, bindingPrefix) {
			problems = append(problems, &client.Error{
				Code: client.InvalidArg,
				Text: fmt.Sprintf("configuration key %s is the binding's own and cannot be set", key),
			})
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	merged := defaults()
	maps.Copy(merged, extra)
	for key, value := range config {
		merged[key] = value
	}
	maps.Copy(merged, owned)
	return &merged, nil
}
