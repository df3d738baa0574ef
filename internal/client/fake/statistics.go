package fake

import (
	"encoding/json"
	"strconv"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// The library's statistics, as far as this package knows the numbers, under
// its names.
type statistics struct {
	Name   string                     `json:"name"`
	Type   string                     `json:"type"`
	RxMsgs int64                      `json:"rxmsgs"`
	Topics map[string]topicStatistics `json:"topics"`
}

type topicStatistics struct {
	Topic      string                         `json:"topic"`
	Partitions map[string]partitionStatistics `json:"partitions"`
}

type partitionStatistics struct {
	Partition int32 `json:"partition"`
	Queued    int   `json:"fetchq_cnt"`
	App       int64 `json:"app_offset"`
	Stored    int64 `json:"stored_offset"`
	Committed int64 `json:"committed_offset"`
	Low       int64 `json:"lo_offset"`
	High      int64 `json:"hi_offset"`
	Stable    int64 `json:"ls_offset"`
	Lag       int64 `json:"consumer_lag"`
}

// statistics returns the JSON. The lock is held.
func (m *Consumer) statistics() []byte {
	out := statistics{Name: m.name, Type: "consumer", RxMsgs: m.fetched, Topics: make(map[string]topicStatistics)}
	for _, part := range m.assigned() {
		log := m.cluster.partition(part)
		if log == nil {
			continue
		}
		claim := m.claims[part]
		stats := partitionStatistics{
			Partition: part.Partition,
			App:       claim.app,
			Stored:    claim.stored.Offset,
			Committed: claim.committed,
			Low:       unknownIs(claim.low),
			High:      unknownIs(claim.high),
			Stable:    log.stable(),
			Lag:       max(-1, log.stable()-max(claim.app, claim.committed)),
		}
		for i := range m.queue {
			if m.queue[i].Topic == part.Topic && m.queue[i].Partition == part.Partition {
				stats.Queued++
			}
		}
		t, ok := out.Topics[part.Topic]
		if !ok {
			t = topicStatistics{Topic: part.Topic, Partitions: make(map[string]partitionStatistics)}
			out.Topics[part.Topic] = t
		}
		t.Partitions[strconv.Itoa(int(part.Partition))] = stats
	}
	data, err := json.Marshal(out)
	if err != nil {
		panic(err) // numbers and strings always marshal
	}
	return data
}

// unknownIs is the library's number for an offset it does not know.
func unknownIs(offset int64) int64 {
	if offset < 0 {
		return client.OffsetStored
	}
	return offset
}
