package testkafka

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// warm has a cluster load what its first transaction and first group need, by
// using one of each, and removes what can be removed again.
func warm(ctx context.Context, addr string) error {
	name := "warm-" + strings.ToLower(rand.Text()[:10])
	seeds := kgo.SeedBrokers(strings.Split(addr, ",")...)
	producer, err := kgo.NewClient(seeds, kgo.TransactionalID(name))
	if err != nil {
		return fmt.Errorf("warm the cluster: %w", err)
	}
	defer producer.Close()
	if err := createTopic(ctx, producer, name, 1); err != nil {
		return fmt.Errorf("warm the cluster: %w", err)
	}
	if _, _, err := producer.ProducerID(ctx); err != nil {
		return fmt.Errorf("warm the cluster: open a transaction: %w", err)
	}
	if err := joinOnce(ctx, seeds, name); err != nil {
		return fmt.Errorf("warm the cluster: %w", err)
	}
	return remove(ctx, producer, name)
}

// joinOnce joins a group, waits for a partition and leaves.
func joinOnce(ctx context.Context, seeds kgo.Opt, name string) error {
	assigned := make(chan struct{})
	var once sync.Once
	client, err := kgo.NewClient(seeds, kgo.ConsumerGroup(name), kgo.ConsumeTopics(name), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			if len(parts) > 0 {
				once.Do(func() { close(assigned) })
			}
		}))
	if err != nil {
		return fmt.Errorf("join a group: %w", err)
	}
	defer client.Close()
	select {
	case <-assigned:
	case <-ctx.Done():
		return fmt.Errorf("join a group: %w", context.Cause(ctx))
	}
	if err := client.LeaveGroupContext(ctx); err != nil {
		return fmt.Errorf("leave a group: %w", err)
	}
	return nil
}

// remove deletes the topic and the group of this name.
func remove(ctx context.Context, client *kgo.Client, name string) error {
	topics := kmsg.NewPtrDeleteTopicsRequest()
	topics.TopicNames = []string{name}
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = &name
	topics.Topics = append(topics.Topics, topic)
	_, topicErr := client.Request(ctx, topics)
	groups := kmsg.NewPtrDeleteGroupsRequest()
	groups.Groups = []string{name}
	_, groupErr := client.Request(ctx, groups)
	if err := errors.Join(topicErr, groupErr); err != nil {
		return fmt.Errorf("remove what warmed the cluster: %w", err)
	}
	return nil
}

// CreateTopic creates a topic with the cluster's own replication, on any
// cluster at addr, and returns when it is there.
func CreateTopic(ctx context.Context, addr, name string, partitions int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(addr, ",")...))
	if err != nil {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	defer client.Close()
	if err := createTopic(ctx, client, name, partitions); err != nil {
		return err
	}
	err = poll(ctx, 20*time.Millisecond, func() (bool, error) { return hasLeaders(ctx, client, name, partitions) })
	if err != nil {
		return fmt.Errorf("create topic %s: wait for its leaders: %w", name, err)
	}
	return nil
}

// hasLeaders tells whether the answering broker knows a leader of each
// partition: it may learn of a new topic after its creator does.
func hasLeaders(ctx context.Context, client *kgo.Client, name string, partitions int) (bool, error) {
	topic, err := topicMetadata(ctx, client, name)
	if err != nil {
		return false, err
	}
	led := 0
	for _, part := range topic.Partitions {
		if part.ErrorCode == 0 && part.Leader >= 0 {
			led++
		}
	}
	return led == partitions, nil
}

func topicMetadata(ctx context.Context, client *kgo.Client, name string) (kmsg.MetadataResponseTopic, error) {
	request := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &name
	request.Topics = append(request.Topics, topic)
	answer, err := client.Request(ctx, request)
	if err != nil {
		return kmsg.MetadataResponseTopic{}, fmt.Errorf("ask for topic %s: %w", name, err)
	}
	metadata, ok := answer.(*kmsg.MetadataResponse)
	if !ok || len(metadata.Topics) != 1 {
		return kmsg.MetadataResponseTopic{}, fmt.Errorf("ask for topic %s: got %T", name, answer)
	}
	return metadata.Topics[0], nil
}

func createTopic(ctx context.Context, client *kgo.Client, name string, partitions int) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(partitions), -1
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = 10_000
	request.Topics = append(request.Topics, topic)
	answer, err := client.Request(ctx, request)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	created, ok := answer.(*kmsg.CreateTopicsResponse)
	if !ok || len(created.Topics) != 1 {
		return fmt.Errorf("create topic %s: got %T", name, answer)
	}
	if err := kerr.ErrorForCode(created.Topics[0].ErrorCode); err != nil {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	return nil
}
