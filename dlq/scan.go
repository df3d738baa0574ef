package dlq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// ScanRequest says what to read.
type ScanRequest struct {
	Topic string
	// Filter bounds the offsets that are read. It selects nothing among
	// them: that is the visitor's.
	Filter *Filter
	// Progress is called about once a second and at the end. Nil: not.
	Progress func(ScanProgress)
}

// ScanProgress tells how far a scan is.
type ScanProgress struct {
	Scanned int64 // records read
	Passed  int64 // offsets behind us
	Total   int64 // offsets in all; more than the records there are
}

// Bound is what a scan reads of one partition.
type Bound struct {
	Partition int32
	// Low and High are the first offset that still exists and the end of
	// what was committed when the scan started.
	Low, High int64
	// Start and End are the offsets to read, End excluded.
	Start, End int64
}

// ScanResult tells what a scan read.
type ScanResult struct {
	Scanned int64
	Bounds  []Bound
	// Stopped: the visitor ended the scan early.
	Stopped bool
}

const (
	// scanGroup satisfies the client library, which wants a group in every
	// consumer. It is never joined and nothing is committed to it.
	scanGroup = "holdfast-dlqctl"
	// scanPoll is how long one poll waits, and so how late a cancelled
	// context is noticed.
	scanPoll = 100 * time.Millisecond
	// scanTick is how often the client tells its positions: how late the end
	// of a log is noticed that ends in a transaction marker.
	scanTick = 50 * time.Millisecond
)

// Scan reads a topic from its beginning to where it ended when the scan
// started, and calls visit with each committed record: in order within a
// partition, in no order between them. An error of visit ends the scan;
// [ErrStop] ends it without one. The record is the visitor's to keep.
//
// It ends even if the last offsets hold no record, as after a transaction or
// compaction. It joins no group and commits nothing.
func (c *Cluster) Scan(ctx context.Context, request ScanRequest, visit func(*Record) error) (ScanResult, error) {
	info, err := c.topic(ctx, request.Topic)
	if err != nil {
		return ScanResult{}, fmt.Errorf("scan %s: %w", request.Topic, err)
	}
	bounds, err := c.scanBounds(ctx, request.Topic, info.Partitions, request.Filter)
	if err != nil {
		return ScanResult{}, fmt.Errorf("scan %s: %w", request.Topic, err)
	}
	return c.scanWithin(ctx, request, bounds, func(m *client.Message) error { return visit(recordOf(m)) })
}

// scanBounds freezes where the scan ends.
func (c *Cluster) scanBounds(ctx context.Context, topic string, partitions int, filter *Filter) ([]Bound, error) {
	lows, err := c.offsets(ctx, topic, partitions, client.OffsetEarliest, client.ReadCommitted)
	if err != nil {
		return nil, err
	}
	highs, err := c.offsets(ctx, topic, partitions, client.OffsetLatest, client.ReadCommitted)
	if err != nil {
		return nil, err
	}
	bounds := make([]Bound, 0, partitions)
	for i := range lows {
		b := Bound{Partition: int32(i), Low: lows[i], High: highs[i], Start: lows[i], End: highs[i]}
		if filter != nil {
			from, to, ok := filter.bounds(b.Partition)
			if !ok {
				continue
			}
			b.Start = max(b.Start, from)
			if to != nil {
				b.End = min(b.End, *to+1)
			}
		}
		b.End = max(b.End, b.Start)
		bounds = append(bounds, b)
	}
	return bounds, nil
}

// scanWithin reads the given bounds.
func (c *Cluster) scanWithin(ctx context.Context, request ScanRequest, bounds []Bound, visit func(*client.Message) error) (ScanResult, error) {
	s := newScan(c, request, bounds, visit)
	result := ScanResult{Bounds: bounds}
	var err error
	if len(s.left) > 0 {
		err = s.run(ctx)
	}
	result.Scanned = s.scanned
	if errors.Is(err, ErrStop) {
		result.Stopped, err = true, nil
	}
	if err != nil {
		return result, fmt.Errorf("scan %s: %w", request.Topic, err)
	}
	s.report()
	return result, nil
}

// consumerConfig is what a reader outside of groups is made with.
func (c *Cluster) consumerConfig() client.Config {
	config := client.Config{
		"group.id":                 scanGroup,
		"auto.offset.reset":        "earliest",
		"check.crcs":               "true",
		"enable.auto.commit":       "false",
		"enable.auto.offset.store": "false",
		"enable.partition.eof":     "true",
		"isolation.level":          "read_committed",
		"statistics.interval.ms":   strconv.FormatInt(scanTick.Milliseconds(), 10),
		// With the default of a second the poll loop runs dry.
		"fetch.queue.backoff.ms": "10",
		"fetch.wait.max.ms":      "100",
	}
	if group := c.config.Kafka["group.id"]; group != "" {
		config["group.id"] = group
	}
	return c.config.client(config)
}
