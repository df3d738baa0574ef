package dlq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// scan is one pass over the partitions of a topic.
type scan struct {
	cluster *Cluster
	request ScanRequest
	visit   func(*client.Message) error
	left    map[int32]*reading // partitions that are not at their end
	scanned int64
	total   int64
	behind  int64     // offsets of finished partitions
	moved   time.Time // when something was last read
	told    time.Time // when progress was last told
	trouble error     // the last failure since something was read
	broken  bool      // the client had a fatal error, and closing it would never return
}

// reading is where the scan stands in one partition.
type reading struct {
	bound Bound
	next  int64 // the offset after the last record read
}

func newScan(c *Cluster, request ScanRequest, bounds []Bound, visit func(*client.Message) error) *scan {
	s := &scan{cluster: c, request: request, visit: visit, left: map[int32]*reading{}}
	for _, b := range bounds {
		s.total += b.End - b.Start
		if b.Start < b.End {
			s.left[b.Partition] = &reading{bound: b, next: b.Start}
		}
	}
	return s
}

func (s *scan) run(ctx context.Context) (err error) {
	consumer, err := s.cluster.config.Library.Consumer(s.cluster.consumerConfig())
	if err != nil {
		return err
	}
	defer func() {
		if !s.broken {
			err = errors.Join(err, consumer.Close())
		}
	}()
	start := make([]client.Offset, 0, len(s.left))
	for _, r := range s.left {
		start = append(start, client.Offset{
			TopicPartition: client.TopicPartition{Topic: s.request.Topic, Partition: r.bound.Partition},
			Offset:         r.next,
			LeaderEpoch:    client.NoLeaderEpoch,
		})
	}
	if err := consumer.Assign(start); err != nil {
		return err
	}
	s.moved, s.told = time.Now(), time.Now()
	for len(s.left) > 0 {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := s.step(consumer); err != nil {
			return err
		}
	}
	return nil
}

// step polls once.
func (s *scan) step(consumer client.Consumer) error {
	var m client.Message
	kind, err := consumer.Poll(scanPoll, &m)
	switch kind {
	case client.Record:
		return s.record(consumer, &m)
	case client.Statistics:
		if err := s.positions(consumer, m.Value); err != nil {
			return err
		}
		s.tell()
	case client.Failure:
		s.trouble, s.broken = err, s.broken || client.IsFatal(err)
		if hopeless(err) {
			return err
		}
	case client.Nothing:
	}
	return s.checkProgress()
}

// hopeless reports whether waiting cannot help.
func hopeless(err error) bool {
	switch client.CodeOf(err) {
	case client.TopicAuthorization, client.Authentication, client.SSL, client.UnknownTopicOrPartition,
		client.UnknownTopic, client.UnknownPartition, client.ClusterAuthorization:
		return true
	default:
		return client.IsFatal(err)
	}
}

func (s *scan) checkProgress() error {
	if quiet := time.Since(s.moved); quiet > s.cluster.config.RequestTimeout {
		return fmt.Errorf("nothing was read for %s: %w", quiet.Round(time.Second),
			errors.Join(context.DeadlineExceeded, s.trouble))
	}
	return nil
}

func (s *scan) record(consumer client.Consumer, m *client.Message) error {
	s.moved, s.trouble = time.Now(), nil
	r, ok := s.left[m.Partition]
	if !ok || m.Offset < r.next {
		return nil // prefetched behind the end, or read again after a failure
	}
	if m.Offset >= r.bound.End {
		return s.finish(consumer, r)
	}
	s.scanned++
	r.next = m.Offset + 1
	if err := s.visit(m); err != nil {
		return err
	}
	s.moved = time.Now() // the visitor may take its time
	if r.next >= r.bound.End {
		return s.finish(consumer, r)
	}
	if s.scanned%1024 == 0 {
		s.tell()
	}
	return nil
}

// finish leaves a partition. The others are read on.
func (s *scan) finish(consumer client.Consumer, r *reading) error {
	delete(s.left, r.bound.Partition)
	s.behind += r.bound.End - r.bound.Start
	if len(s.left) == 0 {
		return nil
	}
	return consumer.Pause([]client.TopicPartition{{Topic: s.request.Topic, Partition: r.bound.Partition}})
}

// statistics is the part of the client library's statistics that tells whether
// a partition was read to its end.
type statistics struct {
	Topics map[string]struct {
		Partitions map[string]struct {
			// EOF is the end that fetching has reached, behind records
			// that are never delivered, such as transaction markers.
			EOF int64 `json:"eof_offset"`
			// Queued counts the fetched records of all partitions that no
			// poll has taken yet.
			Queued int64 `json:"fetchq_cnt"`
		} `json:"partitions"`
	} `json:"topics"`
}

// positions finishes the partitions that hold no further record before their
// end. Fetching has reached the end and nothing fetched is left in the queue,
// and a poll that took something has returned before this one: so everything
// was seen.
func (s *scan) positions(consumer client.Consumer, raw []byte) error {
	var told statistics
	if err := json.Unmarshal(raw, &told); err != nil {
		return fmt.Errorf("statistics of the client library: %w", err)
	}
	for name, p := range told.Topics[s.request.Topic].Partitions {
		partition, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			continue // not a partition
		}
		r, ok := s.left[int32(partition)]
		if ok && p.Queued == 0 && p.EOF >= r.bound.End {
			s.moved = time.Now()
			if err := s.finish(consumer, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scan) tell() {
	if time.Since(s.told) >= time.Second {
		s.told = time.Now()
		s.report()
	}
}

func (s *scan) report() {
	if s.request.Progress == nil {
		return
	}
	passed := s.behind
	for _, r := range s.left {
		passed += r.next - r.bound.Start
	}
	s.request.Progress(ScanProgress{Scanned: s.scanned, Passed: passed, Total: s.total})
}
