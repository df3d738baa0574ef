//go:build cgo

package confluent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// isInternal reports whether a topic is the brokers' own. Metadata says so, and
// the binding does not pass it on.
func isInternal(topic string) bool {
	switch topic {
	case "__cluster_metadata", "__consumer_offsets", "__remote_log_metadata", "__share_group_state", "__transaction_state":
		return true
	default:
		return false
	}
}

func (a *admin) Topics(ctx context.Context) ([]string, error) {
	var names []string
	err := a.call(ctx, "list topics", func(ctx context.Context) error {
		metadata, err := a.kafka.GetMetadata(nil, true, milliseconds(remaining(ctx)))
		if err != nil {
			return err //nolint:wrapcheck // call wraps it
		}
		for name := range metadata.Topics {
			if !isInternal(name) {
				names = append(names, name)
			}
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

func (a *admin) Describe(ctx context.Context, topics []string) ([]client.TopicInfo, error) {
	if len(topics) == 0 {
		return nil, nil
	}
	found := make(map[string]client.TopicInfo, len(topics))
	err := a.call(ctx, "describe topics", func(ctx context.Context) error {
		// Asking twice for one topic is an error of the library's.
		names := slices.Compact(slices.Sorted(slices.Values(topics)))
		result, err := a.kafka.DescribeTopics(ctx, kafka.NewTopicCollectionOfTopicNames(names))
		if err != nil {
			return err
		}
		for i := range result.TopicDescriptions {
			info := topicInfo(&result.TopicDescriptions[i])
			found[info.Topic] = info
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answers(topics, found, func(topic string) client.TopicInfo {
		return client.TopicInfo{Topic: topic, Err: &client.Error{
			Code: client.UnknownTopicOrPartition,
			Text: "the answer does not speak of topic " + topic,
		}}
	}), nil
}

func topicInfo(d *kafka.TopicDescription) client.TopicInfo {
	info := client.TopicInfo{Topic: d.Name, Err: errorOf(d.Error)}
	if info.Err != nil {
		return info
	}
	info.ID = d.TopicID.String()
	info.Partitions = len(d.Partitions)
	if len(d.Partitions) > 0 {
		info.ReplicationFactor = len(d.Partitions[0].Replicas)
	}
	return info
}

func (a *admin) TopicConfig(ctx context.Context, topic string) (map[string]string, error) {
	settings := make(map[string]string)
	err := a.call(ctx, "describe configuration of topic "+topic, func(ctx context.Context) error {
		results, err := a.kafka.DescribeConfigs(ctx, []kafka.ConfigResource{
			{Type: kafka.ResourceTopic, Name: topic},
		}, kafka.SetAdminRequestTimeout(remaining(ctx)))
		if err != nil {
			return err
		}
		for i := range results {
			if err := errorOf(results[i].Error); err != nil {
				return err
			}
			for name, entry := range results[i].Config {
				settings[name] = entry.Value
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return settings, nil
}

func (a *admin) CreateTopics(ctx context.Context, specs []client.TopicSpec) error {
	if len(specs) == 0 {
		return nil
	}
	return a.call(ctx, "create topics", func(ctx context.Context) error {
		out := make([]kafka.TopicSpecification, len(specs))
		for i, spec := range specs {
			out[i] = kafka.TopicSpecification{
				Topic:             spec.Topic,
				NumPartitions:     spec.Partitions,
				ReplicationFactor: spec.ReplicationFactor,
				Config:            spec.Config,
			}
			if spec.ReplicationFactor == 0 {
				out[i].ReplicationFactor = -1 // the protocol's "the broker's default"
			}
		}
		results, err := a.kafka.CreateTopics(ctx, out,
			kafka.SetAdminRequestTimeout(remaining(ctx)), kafka.SetAdminOperationTimeout(remaining(ctx)))
		return joinResults(results, err)
	})
}

func (a *admin) DeleteTopics(ctx context.Context, topics []string) error {
	if len(topics) == 0 {
		return nil
	}
	return a.call(ctx, "delete topics", func(ctx context.Context) error {
		results, err := a.kafka.DeleteTopics(ctx, topics,
			kafka.SetAdminRequestTimeout(remaining(ctx)), kafka.SetAdminOperationTimeout(remaining(ctx)))
		return joinResults(results, err)
	})
}

func joinResults(results []kafka.TopicResult, err error) error {
	if err != nil {
		return err
	}
	var problems []error
	for i := range results {
		if err := errorOf(results[i].Error); err != nil {
			problems = append(problems, fmt.Errorf("topic %s: %w", results[i].Topic, err))
		}
	}
	return errors.Join(problems...)
}
