package dlq

import (
	"fmt"
	"strconv"
	"strings"
)

// ID names one dead letter. Topic may be empty where only one DLQ is spoken of.
type ID struct {
	Topic     string
	Partition int32
	Offset    int64
}

// String returns topic/partition/offset, or partition/offset without a topic.
func (id ID) String() string {
	short := strconv.Itoa(int(id.Partition)) + "/" + strconv.FormatInt(id.Offset, 10)
	if id.Topic == "" {
		return short
	}
	return id.Topic + "/" + short
}

// ParseID reads partition/offset or topic/partition/offset.
func ParseID(text string) (ID, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return ID{}, fmt.Errorf("record id %q: want partition/offset or topic/partition/offset", text)
	}
	var id ID
	if len(parts) == 3 {
		if id.Topic = parts[0]; id.Topic == "" {
			return ID{}, fmt.Errorf("record id %q: the topic is empty", text)
		}
		parts = parts[1:]
	}
	partition, err := number(parts[0], 32)
	if err != nil {
		return ID{}, fmt.Errorf("record id %q: partition %w", text, err)
	}
	if id.Offset, err = number(parts[1], 64); err != nil {
		return ID{}, fmt.Errorf("record id %q: offset %w", text, err)
	}
	id.Partition = int32(partition)
	return id, nil
}

// number reads a decimal number without a sign.
func number(text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil || text[0] == '+' || n < 0 {
		return 0, fmt.Errorf("%q is not a number from 0 to 2^%d-1", text, bits-1)
	}
	return n, nil
}
