package fake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// brokers bounds the replication factor that can be asked for.
const brokers = 3

// admin is a [client.Admin] of a [Cluster].
type admin struct{ cluster *Cluster }

// Admin makes an admin client. No configuration is looked at.
func (c *Cluster) Admin(client.Config) (client.Admin, error) {
	return &admin{cluster: c}, nil
}

// call takes the lock and tells what fails before anything is done.
func (a *admin) call(ctx context.Context, call AdminCall) (unlock func(), err error) {
	a.cluster.mu.Lock()
	if ctx.Err() != nil {
		return a.cluster.mu.Unlock, fmt.Errorf("%s: %w", call, context.Cause(ctx))
	}
	for i, fault := range a.cluster.faults.admin {
		if fault.call == call {
			a.cluster.faults.admin = slices.Delete(a.cluster.faults.admin, i, i+1)
			return a.cluster.mu.Unlock, fmt.Errorf("%s: %w", call, fail(fault.code, "refused"))
		}
	}
	return a.cluster.mu.Unlock, nil
}

func (a *admin) ClusterID(ctx context.Context) (string, error) {
	unlock, err := a.call(ctx, CallClusterID)
	defer unlock()
	if err != nil {
		return "", err
	}
	return a.cluster.config.ID, nil
}

func (a *admin) Topics(ctx context.Context) ([]string, error) {
	unlock, err := a.call(ctx, CallTopics)
	defer unlock()
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(a.cluster.topics))
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "__") }), nil
}

func (a *admin) Describe(ctx context.Context, topics []string) ([]client.TopicInfo, error) {
	unlock, err := a.call(ctx, CallDescribe)
	defer unlock()
	if err != nil {
		return nil, err
	}
	infos := make([]client.TopicInfo, len(topics))
	for i, name := range topics {
		infos[i].Topic = name
		if t := a.cluster.topics[name]; t != nil {
			infos[i].ID, infos[i].Partitions, infos[i].ReplicationFactor = t.id, len(t.partitions), t.replicas
		} else {
			infos[i].Err = unknownTopic(name)
		}
	}
	return infos, nil
}

func unknownTopic(name string) *client.Error {
	return fail(client.UnknownTopicOrPartition, "topic %s does not exist", name)
}

func (a *admin) TopicConfig(ctx context.Context, topic string) (map[string]string, error) {
	unlock, err := a.call(ctx, CallTopicConfig)
	defer unlock()
	if err != nil {
		return nil, err
	}
	t := a.cluster.topics[topic]
	if t == nil {
		return nil, unknownTopic(topic)
	}
	return maps.Clone(t.config), nil
}

func (a *admin) CreateTopics(ctx context.Context, specs []client.TopicSpec) error {
	unlock, err := a.call(ctx, CallCreateTopics)
	defer unlock()
	if err != nil {
		return err
	}
	var problems []error
	for _, spec := range specs {
		switch {
		case a.cluster.topics[spec.Topic] != nil:
			problems = append(problems, fail(client.TopicAlreadyExists, "topic %s exists", spec.Topic))
		case spec.ReplicationFactor > brokers:
			problems = append(problems, fail(client.InvalidReplicationFactor, "topic %s: %d replicas on %d brokers",
				spec.Topic, spec.ReplicationFactor, brokers))
		default:
			a.cluster.addTopic(spec)
		}
	}
	return errors.Join(problems...)
}

func (a *admin) DeleteTopics(ctx context.Context, topics []string) error {
	unlock, err := a.call(ctx, CallDeleteTopics)
	defer unlock()
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range topics {
		if a.cluster.topics[name] == nil {
			problems = append(problems, unknownTopic(name))
			continue
		}
		delete(a.cluster.topics, name)
		for _, g := range a.cluster.groups {
			maps.DeleteFunc(g.committed, func(at client.TopicPartition, _ client.Offset) bool { return at.Topic == name })
		}
	}
	a.cluster.topicsChanged()
	return errors.Join(problems...)
}

func (a *admin) ListOffsets(ctx context.Context, parts []client.TopicPartition, at int64, isolation client.Isolation) ([]client.Offset, error) {
	unlock, err := a.call(ctx, CallListOffsets)
	defer unlock()
	if err != nil {
		return nil, err
	}
	if at < client.OffsetEarliest {
		return nil, fail(client.InvalidArg, "no position is called %d", at)
	}
	out := make([]client.Offset, len(parts))
	for i, part := range parts {
		out[i] = client.Offset{TopicPartition: part, Offset: -1, LeaderEpoch: client.NoLeaderEpoch}
		switch log := a.cluster.partition(part); {
		case log == nil:
			out[i].Err = fail(client.UnknownTopicOrPartition, "%s/%d does not exist", part.Topic, part.Partition)
		case at == client.OffsetEarliest:
			out[i].Offset = log.low
		case at == client.OffsetLatest:
			out[i].Offset = log.end(isolation)
		default:
			out[i].Offset = log.firstSince(at, isolation)
		}
	}
	return out, nil
}

func (a *admin) DeleteRecords(ctx context.Context, before []client.Offset) error {
	unlock, err := a.call(ctx, CallDeleteRecords)
	defer unlock()
	if err != nil {
		return err
	}
	var problems []error
	for _, o := range before {
		switch log := a.cluster.partition(o.TopicPartition); {
		case log == nil:
			problems = append(problems, fail(client.UnknownTopicOrPartition, "%s/%d does not exist", o.Topic, o.Partition))
		case o.Offset == client.OffsetLatest:
			log.trim(log.high)
		case o.Offset < 0 || o.Offset > log.high:
			problems = append(problems, fail(client.OffsetOutOfRange, "%s/%d ends at %d", o.Topic, o.Partition, log.high))
		default:
			log.trim(o.Offset)
		}
	}
	return errors.Join(problems...)
}

func (a *admin) Groups(ctx context.Context) ([]string, error) {
	unlock, err := a.call(ctx, CallGroups)
	defer unlock()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(a.cluster.groups)) {
		if g := a.cluster.groups[name]; len(g.members) > 0 || len(g.committed) > 0 {
			names = append(names, name)
		}
	}
	return names, nil
}

func (a *admin) GroupOffsets(ctx context.Context, group, topic string) ([]client.Offset, error) {
	unlock, err := a.call(ctx, CallGroupOffsets)
	defer unlock()
	if err != nil {
		return nil, err
	}
	var out []client.Offset
	if g := a.cluster.groups[group]; g != nil {
		for _, at := range sortedKeys(g.committed) {
			if at.Topic == topic {
				out = append(out, g.committed[at])
			}
		}
	}
	return out, nil
}

func (a *admin) Close() error { return nil }
