//go:build cgo

package confluent

import (
	"unsafe"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// These compile only while both header types have the same fields in the same
// order, which is what lets the casts below share the memory of a record's
// headers instead of copying them.
var (
	_ = retry.Header(kafka.Header{})
	_ = kafka.Header(retry.Header{})
)

func headersIn(headers []kafka.Header) []retry.Header {
	return unsafe.Slice((*retry.Header)(unsafe.Pointer(unsafe.SliceData(headers))), len(headers)) //nolint:gosec // see above
}

func headersOut(headers []retry.Header) []kafka.Header {
	return unsafe.Slice((*kafka.Header)(unsafe.Pointer(unsafe.SliceData(headers))), len(headers)) //nolint:gosec // see above
}

// offsetIn maps librdkafka's two numbers for "the committed position" and "no
// position" to the one of package client.
func offsetIn(offset kafka.Offset) int64 {
	if offset == kafka.OffsetStored || offset == kafka.OffsetInvalid {
		return client.OffsetStored
	}
	return int64(offset)
}

func offsetOut(offset int64) kafka.Offset {
	if offset == client.OffsetStored {
		return kafka.OffsetStored
	}
	return kafka.Offset(offset)
}

func partitionsIn(parts []kafka.TopicPartition) []client.TopicPartition {
	out := make([]client.TopicPartition, len(parts))
	for i := range parts {
		out[i] = partitionIn(&parts[i])
	}
	return out
}

func partitionIn(part *kafka.TopicPartition) client.TopicPartition {
	out := client.TopicPartition{Partition: part.Partition}
	if part.Topic != nil {
		out.Topic = *part.Topic
	}
	return out
}

func partitionsOut(parts []client.TopicPartition) []kafka.TopicPartition {
	out := make([]kafka.TopicPartition, len(parts))
	for i := range parts {
		out[i].Topic, out[i].Partition = &parts[i].Topic, parts[i].Partition
		out[i].Offset = kafka.OffsetInvalid
	}
	return out
}

// positionsOut leaves the leader epoch out: a wrong one, and zero is a real
// epoch, would make the client believe that the log was truncated.
func positionsOut(offsets []client.Offset) []kafka.TopicPartition {
	out := make([]kafka.TopicPartition, len(offsets))
	for i := range offsets {
		out[i].Topic, out[i].Partition = &offsets[i].Topic, offsets[i].Partition
		out[i].Offset = offsetOut(offsets[i].Offset)
	}
	return out
}

func storedOut(offsets []client.Offset) []kafka.TopicPartition {
	out := positionsOut(offsets)
	for i := range offsets {
		if offsets[i].LeaderEpoch >= 0 {
			out[i].LeaderEpoch = &offsets[i].LeaderEpoch
		}
	}
	return out
}

func offsetsIn(parts []kafka.TopicPartition) []client.Offset {
	out := make([]client.Offset, len(parts))
	for i := range parts {
		out[i] = client.Offset{
			TopicPartition: partitionIn(&parts[i]),
			Offset:         offsetIn(parts[i].Offset),
			LeaderEpoch:    epochIn(parts[i].LeaderEpoch),
			Err:            errorOf(parts[i].Error),
		}
	}
	return out
}

func epochIn(epoch *int32) int32 {
	if epoch == nil {
		return client.NoLeaderEpoch
	}
	return *epoch
}
