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

func (a *admin) ListOffsets(ctx context.Context, parts []client.TopicPartition, at int64, isolation client.Isolation) ([]client.Offset, error) {
	if at < client.OffsetEarliest {
		return nil, fmt.Errorf("list offsets: %w", invalid(fmt.Sprintf("no position is called %d", at)))
	}
	if len(parts) == 0 {
		return nil, nil
	}
	level := kafka.IsolationLevelReadCommitted
	if isolation == client.ReadUncommitted {
		level = kafka.IsolationLevelReadUncommitted
	}
	found := make(map[client.TopicPartition]client.Offset, len(parts))
	err := a.call(ctx, "list offsets", func(ctx context.Context) error {
		result, err := a.kafka.ListOffsets(ctx, offsetRequest(parts, at),
			kafka.SetAdminRequestTimeout(remaining(ctx)), kafka.SetAdminIsolationLevel(level))
		if err != nil {
			return err
		}
		for part, info := range result.ResultInfos {
			key := partitionIn(&part)
			found[key] = client.Offset{
				TopicPartition: key,
				Offset:         int64(info.Offset),
				LeaderEpoch:    epochIn(info.LeaderEpoch),
				Err:            errorOf(info.Error),
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answers(parts, found, func(part client.TopicPartition) client.Offset {
		return client.Offset{TopicPartition: part, Offset: -1, LeaderEpoch: client.NoLeaderEpoch, Err: &client.Error{
			Code: client.UnknownPartition,
			Text: fmt.Sprintf("the answer does not speak of %s/%d", part.Topic, part.Partition),
		}}
	}), nil
}

// offsetRequest asks once for each partition. The binding's key holds a
// pointer, so equal partitions would be two keys.
func offsetRequest(parts []client.TopicPartition, at int64) map[kafka.TopicPartition]kafka.OffsetSpec {
	seen := make(map[client.TopicPartition]bool, len(parts))
	request := make(map[kafka.TopicPartition]kafka.OffsetSpec, len(parts))
	for i := range parts {
		if !seen[parts[i]] {
			seen[parts[i]] = true
			request[kafka.TopicPartition{Topic: &parts[i].Topic, Partition: parts[i].Partition}] = kafka.OffsetSpec(at)
		}
	}
	return request
}

func (a *admin) DeleteRecords(ctx context.Context, before []client.Offset) error {
	if len(before) == 0 {
		return nil
	}
	return a.call(ctx, "delete records", func(ctx context.Context) error {
		results, err := a.kafka.DeleteRecords(ctx, positionsOut(before),
			kafka.SetAdminRequestTimeout(remaining(ctx)), kafka.SetAdminOperationTimeout(remaining(ctx)))
		if err != nil {
			return err
		}
		var problems []error
		for _, result := range results.DeleteRecordsResults {
			part := partitionIn(&result.TopicPartition)
			if err := errorOf(result.TopicPartition.Error); err != nil {
				problems = append(problems, fmt.Errorf("%s/%d: %w", part.Topic, part.Partition, err))
			}
		}
		return errors.Join(problems...)
	})
}

func (a *admin) Groups(ctx context.Context) ([]string, error) {
	var groups []string
	err := a.call(ctx, "list groups", func(ctx context.Context) error {
		result, err := a.kafka.ListConsumerGroups(ctx, kafka.SetAdminRequestTimeout(remaining(ctx)))
		if err != nil {
			return err
		}
		for i := range result.Valid {
			groups = append(groups, result.Valid[i].GroupID)
		}
		var problems []error
		for _, err := range result.Errors {
			problems = append(problems, errorOf(err))
		}
		return errors.Join(problems...)
	})
	slices.Sort(groups)
	return groups, err
}

func (a *admin) GroupOffsets(ctx context.Context, group, topic string) ([]client.Offset, error) {
	var offsets []client.Offset
	err := a.call(ctx, "offsets of group "+group, func(ctx context.Context) error {
		result, err := a.kafka.ListConsumerGroupOffsets(ctx, []kafka.ConsumerGroupTopicPartitions{{Group: group}},
			kafka.SetAdminRequestTimeout(remaining(ctx)))
		if err != nil && !noSuchGroup(err) {
			return err
		}
		for i := range result.ConsumerGroupsTopicPartitions {
			for _, offset := range offsetsIn(result.ConsumerGroupsTopicPartitions[i].Partitions) {
				if offset.Topic == topic && (offset.Offset >= 0 || offset.Err != nil) {
					offsets = append(offsets, offset)
				}
			}
		}
		return nil
	})
	slices.SortFunc(offsets, func(a, b client.Offset) int { return int(a.Partition) - int(b.Partition) })
	return offsets, err
}
