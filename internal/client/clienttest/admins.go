package clienttest

import (
	"errors"
	"slices"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

func adminBehaviours() []behaviour {
	return []behaviour{
		{"a cluster has an id", clusterID},
		{"a topic is created, listed, described and deleted", topicLife},
		{"a topic that exists is told by its code", topicExists},
		{"a topic's settings are its own over the broker's", topicSettings},
		{"offsets are found by name and by time", listOffsets},
		{"deleted records are gone and the low offset moves", deleteRecords},
		{"groups and their positions are listed", groupPositions},
		{"a call with an ended context fails with it", endedContext},
	}
}

func clusterID(b *bench) {
	id, err := b.admin.ClusterID(b.context())
	if id == "" || err != nil {
		b.Errorf("got %q, %v", id, err)
	}
}

func topicLife(b *bench) {
	topic, ghost := b.topic("life", 3), b.name("ghost")
	infos, err := b.admin.Describe(b.context(), []string{ghost, topic, ghost, topic})
	b.must(err)
	if len(infos) != 4 {
		b.Fatalf("got %d descriptions, want 4", len(infos))
	}
	got := infos[1]
	if got.Topic != topic || got.Partitions != 3 || got.ReplicationFactor < 1 || got.ID == "" || got.Err != nil || infos[3] != got {
		b.Errorf("got %+v, want 3 partitions, an id and no error", got)
	}
	if infos[0].Topic != ghost || infos[2] != infos[0] && client.CodeOf(infos[2].Err) == 0 {
		b.Errorf("got %+v and %+v of a topic that does not exist", infos[0], infos[2])
	}
	b.wantCode("unknown topic", infos[0].Err, client.UnknownTopicOrPartition)

	names, err := b.admin.Topics(b.context())
	b.must(err)
	if !slices.Contains(names, topic) || slices.Contains(names, ghost) {
		b.Errorf("listed %v", names)
	}
	b.must(b.admin.DeleteTopics(b.context(), []string{topic}))
	b.wantCode("delete again", b.admin.DeleteTopics(b.context(), []string{topic}), client.UnknownTopicOrPartition)
}

func topicExists(b *bench) {
	topic, fresh := b.topic("exists", 1), b.name("fresh")
	err := b.admin.CreateTopics(b.context(), []client.TopicSpec{{Topic: topic, Partitions: 1}, {Topic: fresh, Partitions: 1}})
	b.wantCode("create", err, client.TopicAlreadyExists)
	b.awaitTopic(fresh)
	infos, err := b.admin.Describe(b.context(), []string{fresh})
	b.must(err)
	b.check(infos[0].Err)
	err = b.admin.CreateTopics(b.context(), []client.TopicSpec{{Topic: b.name("many"), Partitions: 1, ReplicationFactor: 100}})
	b.wantCode("replication factor", err, client.InvalidReplicationFactor)
}

func topicSettings(b *bench) {
	topic := b.topicWith("settings", 1, map[string]string{"retention.ms": "1234567"})
	settings, err := b.admin.TopicConfig(b.context(), topic)
	b.must(err)
	for key, want := range map[string]string{"retention.ms": "1234567", "cleanup.policy": "delete", "message.timestamp.type": "CreateTime"} {
		if settings[key] != want {
			b.Errorf("%s is %q, want %q", key, settings[key], want)
		}
	}
	_, err = b.admin.TopicConfig(b.context(), b.name("ghost"))
	b.wantCode("unknown topic", err, client.UnknownTopicOrPartition)
}

func listOffsets(b *bench) {
	topic := b.topic("times", 2)
	w := b.producer(nil)
	for _, ms := range []int64{1_700_000_001_000, 1_700_000_002_000, 1_700_000_003_000} {
		b.must(w.Produce(&client.Message{Topic: topic, Timestamp: ms}, nil))
		w.flush()
	}
	parts := []client.TopicPartition{at(topic, 1), at(topic, 0), at(topic, 1)}
	for _, c := range []struct{ at, first, second int64 }{
		{client.OffsetEarliest, 0, 0},
		{client.OffsetLatest, 0, 3},
		{0, -1, 0},
		{1_700_000_002_000, -1, 1},
		{1_700_000_002_001, -1, 2},
		{1_700_000_003_001, -1, -1},
	} {
		offsets, err := b.admin.ListOffsets(b.context(), parts, c.at, client.ReadCommitted)
		b.must(err)
		for i, want := range []int64{c.first, c.second, c.first} {
			if got := offsets[i]; got.Offset != want || got.TopicPartition != parts[i] || got.Err != nil {
				b.Errorf("at %d: entry %d is %+v, want offset %d", c.at, i, got, want)
			}
		}
	}
	offsets, err := b.admin.ListOffsets(b.context(), []client.TopicPartition{at(b.name("ghost"), 0)}, client.OffsetLatest, client.ReadCommitted)
	if err == nil {
		err = offsets[0].Err
	}
	if client.CodeOf(err) == 0 {
		b.Errorf("unknown topic: got %v, want an error", err)
	}
	_, err = b.admin.ListOffsets(b.context(), parts, -7, client.ReadCommitted)
	b.wantCode("no such position", err, client.InvalidArg)
}

func deleteRecords(b *bench) {
	topic := b.topic("trimmed", 1)
	b.write(topic, 0, numbers(10)...)
	b.must(b.admin.DeleteRecords(b.context(), []client.Offset{position(topic, 0, 4)}))
	offsets, err := b.admin.ListOffsets(b.context(), []client.TopicPartition{at(topic, 0)}, client.OffsetEarliest, client.ReadCommitted)
	b.must(err)
	if offsets[0].Offset != 4 {
		b.Errorf("low offset is %d, want 4", offsets[0].Offset)
	}
	m := b.reader(nil, position(topic, 0, 0))
	m.read(6)
	wantOffsets(b, m, topic, 0, upTo(4, 10))
	b.wantCode("beyond the end", b.admin.DeleteRecords(b.context(), []client.Offset{position(topic, 0, 99)}), client.OffsetOutOfRange)
}

func groupPositions(b *bench) {
	topic, other := b.topic("positions", 3), b.topic("elsewhere", 1)
	for p := range int32(3) {
		b.write(topic, p, numbers(10)...)
	}
	m := b.consumer(b.name("group"), nil)
	m.subscribe(topic, other)
	b.until("all is assigned", func() bool { return len(m.owned) == 4 }, m)
	b.must(m.Store([]client.Offset{position(topic, 2, 7), position(topic, 0, 5)}))
	b.must(m.Commit())

	groups, err := b.admin.Groups(b.context())
	b.must(err)
	if !slices.Contains(groups, b.name("group")) {
		b.Errorf("listed %v", groups)
	}
	offsets, err := b.admin.GroupOffsets(b.context(), b.name("group"), topic)
	b.must(err)
	if len(offsets) != 2 || offsets[0].TopicPartition != at(topic, 0) || offsets[0].Offset != 5 ||
		offsets[1].TopicPartition != at(topic, 2) || offsets[1].Offset != 7 {
		b.Errorf("got %+v, want partition 0 at 5 and 2 at 7", offsets)
	}
	offsets, err = b.admin.GroupOffsets(b.context(), b.name("group"), other)
	if len(offsets) != 0 || err != nil {
		b.Errorf("got %+v, %v, want none", offsets, err)
	}
}

func endedContext(b *bench) {
	if _, err := b.admin.Describe(ended(), []string{"t"}); !errors.Is(err, ended().Err()) {
		b.Errorf("got %v, want the context's error", err)
	}
	if _, err := b.admin.Topics(ended()); !errors.Is(err, ended().Err()) {
		b.Errorf("got %v, want the context's error", err)
	}
}
