package fake

import (
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// chunk is how many records of one partition stand together in the queue, as
// the records of one fetch do.
const chunk = 64

// prefetchLimit bounds the queue.
type prefetchLimit struct {
	records int
	bytes   int
}

// limitOf reads the limits, with the library's defaults.
func limitOf(config client.Config) prefetchLimit {
	return prefetchLimit{
		records: number(config, "queued.min.messages", 100_000),
		bytes:   number(config, "queued.max.messages.kbytes", 65_536) << 10,
	}
}

// fill fetches round robin until the queue is full or there is nothing more,
// and tells how long until a partition that is late begins.
func (m *Consumer) fill(now time.Time) time.Duration {
	wait := longest
	active := m.active(now, &wait)
	for more := true; more; {
		more = false
		for _, part := range active {
			if m.full() {
				return wait
			}
			if m.fetch(part) {
				more = true
			}
		}
	}
	return wait
}

func (m *Consumer) full() bool {
	return len(m.queue) >= m.limit.records || m.queueBytes >= m.limit.bytes
}

// active lists what may be fetched now.
func (m *Consumer) active(now time.Time, wait *time.Duration) []client.TopicPartition {
	var out []client.TopicPartition
	for _, part := range m.assigned() {
		claim := m.claims[part]
		if m.paused[part] {
			continue
		}
		if late := claim.from.Sub(now); late > 0 {
			*wait = min(*wait, late)
			continue
		}
		out = append(out, part)
	}
	return out
}

// fetch moves up to a chunk of a partition into the queue and reports whether
// there was any.
func (m *Consumer) fetch(part client.TopicPartition) bool {
	claim, log := m.claims[part], m.cluster.partition(part)
	if log == nil || !m.position(claim, log) {
		return false
	}
	records, next := log.read(claim.next, m.isolation, min(chunk, m.limit.records-len(m.queue)))
	claim.next, claim.high = next, log.high
	if m.interval > 0 {
		claim.low = log.low
	}
	for i := range records {
		m.queueBytes += size(&records[i])
	}
	m.queue = append(m.queue, records...)
	m.fetched += int64(len(records))
	return len(records) > 0
}

// position makes sure that a claim knows where it is, and that the log still
// reaches there.
func (m *Consumer) position(claim *claim, log *partition) bool {
	if claim.resolved {
		return m.inRange(claim, log)
	}
	switch start := m.begins(claim, log); start {
	case client.OffsetEarliest:
		m.settleAt(claim, log.low)
	case client.OffsetLatest:
		m.settleAt(claim, log.end(m.isolation))
	case client.OffsetStored:
		return m.resetTo(claim, log, client.NoOffset)
	default:
		m.settleAt(claim, start)
	}
	return m.inRange(claim, log)
}

func (m *Consumer) begins(claim *claim, log *partition) int64 {
	if claim.start != client.OffsetStored {
		return claim.start
	}
	return m.cluster.group(m.groupID).position(log.at).Offset
}

func (m *Consumer) settleAt(claim *claim, offset int64) {
	claim.resolved = true
	claim.app, claim.next = offset, offset
}

func (m *Consumer) inRange(claim *claim, log *partition) bool {
	if claim.next >= log.low && claim.next <= log.high {
		return true
	}
	return m.resetTo(claim, log, client.OffsetOutOfRange)
}

// resetTo applies auto.offset.reset. Without one the partition stands still
// after an error that names no partition.
func (m *Consumer) resetTo(claim *claim, log *partition, why client.Code) bool {
	switch m.reset {
	case "earliest", "smallest", "beginning":
		m.settleAt(claim, log.low)
		return true
	case "", "latest", "largest", "end":
		m.settleAt(claim, log.end(m.isolation))
		return true
	default:
		m.push(op{failure: fail(client.AutoOffsetReset, "no position (%d) and no reset policy", why)})
		claim.from = time.Now().Add(longest / 4)
		return false
	}
}
