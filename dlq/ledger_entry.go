package dlq

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// entryVersion is the version of the ledger's values.
const entryVersion = 1

// Entry is one decision about a set of dead letters of one partition. Written
// to the ledger as
//
//	key   <dlq topic id>/<partition>/<first offset>/<entry id>
//	value {"v":1,"state":"replayed","ranges":[[3,7],[9,9]],"by":"kim","at":1790000000000,...}
//
// Keys are unique, so compaction removes only what was deleted on purpose, and
// the ledger is state and history in one.
type Entry struct {
	// TopicID is the DLQ's topic id. Entries of another one speak of a topic
	// that was deleted, and count for nothing.
	TopicID   string
	Partition int32
	// ID is unique among the entries of a partition. The entries of one
	// transaction share it.
	ID    string
	State State
	// Ranges are the offsets the decision covers, in order and disjoint.
	Ranges []Range
	By     string    // who decided
	At     time.Time // when, by the writer's clock, in milliseconds
	Why    string    // the reason given, may be empty
	Run    string    // the run that wrote it, may be empty
	Target string    // for a replay: the topic it went to
	// Of makes the entry an outcome: the id of the replay it is about. It
	// counts only while that replay is the last decision.
	Of string
}

// wireEntry is an entry's value in JSON.
type wireEntry struct {
	Version int        `json:"v"`
	State   State      `json:"state"`
	Ranges  [][2]int64 `json:"ranges"`
	By      string     `json:"by,omitempty"`
	At      int64      `json:"at"`
	Why     string     `json:"why,omitempty"`
	Run     string     `json:"run,omitempty"`
	Target  string     `json:"target,omitempty"`
	Of      string     `json:"of,omitempty"`
}

// key returns the entry's key. An entry without ranges has none.
func (e *Entry) key() string {
	return e.TopicID + "/" + strconv.Itoa(int(e.Partition)) + "/" +
		strconv.FormatInt(e.Ranges[0].From, 10) + "/" + e.ID
}

// message returns what to write to the ledger of a DLQ. The entry stands in
// the partition of its dead letters. A ledger that was made before the DLQ got
// more partitions has fewer.
func (e *Entry) message(ledger string, partitions int) (client.Message, error) {
	wire := wireEntry{
		Version: entryVersion, State: e.State, By: e.By, At: e.At.UnixMilli(),
		Why: e.Why, Run: e.Run, Target: e.Target, Of: e.Of,
		Ranges: make([][2]int64, len(e.Ranges)),
	}
	for i, r := range e.Ranges {
		wire.Ranges[i] = [2]int64{r.From, r.To}
	}
	value, err := json.Marshal(wire)
	if err != nil {
		return client.Message{}, fmt.Errorf("ledger entry %s: %w", e.ID, err)
	}
	return client.Message{
		Topic:     ledger,
		Partition: e.Partition % int32(partitions),
		Key:       []byte(e.key()),
		Value:     value,
	}, nil
}

// parseEntry reads a record of the ledger. Entries of another topic id are
// read too.
func parseEntry(key, value []byte) (*Entry, error) {
	parts := strings.SplitN(string(key), "/", 4)
	if len(parts) != 4 {
		return nil, fmt.Errorf("ledger key %q: want four parts", key)
	}
	partition, err := number(parts[1], 32)
	if err != nil {
		return nil, fmt.Errorf("ledger key %q: partition %w", key, err)
	}
	var wire wireEntry
	if err := json.Unmarshal(value, &wire); err != nil {
		return nil, fmt.Errorf("ledger entry %q: %w", key, err)
	}
	if wire.Version != entryVersion {
		return nil, fmt.Errorf("ledger entry %q: version %d, this program reads %d", key, wire.Version, entryVersion)
	}
	e := &Entry{
		TopicID: parts[0], Partition: int32(partition), ID: parts[3], State: wire.State,
		By: wire.By, At: time.UnixMilli(wire.At), Why: wire.Why, Run: wire.Run, Target: wire.Target, Of: wire.Of,
		Ranges: make([]Range, len(wire.Ranges)),
	}
	for i, r := range wire.Ranges {
		if r[0] < 0 || r[1] < r[0] {
			return nil, fmt.Errorf("ledger entry %q: range %v", key, r)
		}
		e.Ranges[i] = Range{From: r[0], To: r[1]}
	}
	if len(e.Ranges) == 0 || parts[2] != strconv.FormatInt(e.Ranges[0].From, 10) {
		return nil, fmt.Errorf("ledger entry %q: the key and the ranges disagree", key)
	}
	return e, nil
}
