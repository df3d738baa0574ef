package retry

import "strconv"

// Origin says where a record was first read: the same on every copy.
type Origin struct {
	Topic     string
	Partition int32
	Offset    int64
	// Timestamp is the record's own, in Unix milliseconds; -1 is none.
	Timestamp int64
	// TimestampType tells who set it: 0 unknown, 1 the producer
	// (CreateTime), 2 the broker (LogAppendTime).
	TimestampType int8
	// LeaderEpoch is the partition leader's epoch; -1 is not known.
	LeaderEpoch int32
}

// ID returns <topic>/<partition>/<offset>@<timestamp ms>/<group>, the
// idempotency key of all copies. The timestamp tells a record from another
// that took its offset after the topic was recreated.
func (o Origin) ID(group string) string {
	var buf [384]byte
	return string(o.appendID(buf[:0], group))
}

func (o Origin) appendID(dst []byte, group string) []byte {
	dst = append(dst, o.Topic...)
	dst = append(dst, '/')
	dst = strconv.AppendInt(dst, int64(o.Partition), 10)
	dst = append(dst, '/')
	dst = strconv.AppendInt(dst, o.Offset, 10)
	dst = append(dst, '@')
	dst = strconv.AppendInt(dst, o.Timestamp, 10)
	dst = append(dst, '/')
	return append(dst, group...)
}
