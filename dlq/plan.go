package dlq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// DefaultMaxReplays is how often one record is replayed before a person has to
// look: a record that died four times will die a fifth time.
const DefaultMaxReplays = 3

// PlanRequest says what to replay and where to.
type PlanRequest struct {
	DLQ string
	// Filter selects the dead letters. Those that are not open are selected
	// too, and skipped with the reason.
	Filter Filter
	// ToSource sends to the topic the record came from instead of the
	// failing group's own replay lane. Every group that reads the topic gets
	// it; those of this framework that it is not meant for let it pass.
	ToSource bool
	// MaxReplays skips records that were replayed so often already. Zero:
	// [DefaultMaxReplays].
	MaxReplays int
	// AllowTombstones also sends records whose value is null: on a compacted
	// topic they delete.
	AllowTombstones bool
	// Limit bounds how many records are sent. Zero: all.
	Limit int64
	// Progress is told how far the scan of the DLQ is. Nil: not.
	Progress func(ScanProgress)
}

// Validate reports every mistake at once.
func (r *PlanRequest) Validate() error {
	var problems []error
	if r.DLQ == "" {
		problems = append(problems, errors.New("no DLQ given"))
	}
	if r.MaxReplays < 0 {
		problems = append(problems, fmt.Errorf("max replays %d is negative", r.MaxReplays))
	}
	if r.Limit < 0 {
		problems = append(problems, fmt.Errorf("limit %d is negative", r.Limit))
	}
	for _, id := range r.Filter.IDs {
		if id.Topic != "" && id.Topic != r.DLQ {
			problems = append(problems, fmt.Errorf("record %s is not of %s", id, r.DLQ))
		}
	}
	return errors.Join(problems...)
}

// SkipReason says why a selected dead letter is not sent.
type SkipReason string

// The reasons to skip.
const (
	// SkipDecided: it is not open: replayed, resolved or quarantined.
	SkipDecided SkipReason = "decided"
	// SkipDuplicate: another dead letter of the same record is sent or was.
	SkipDuplicate SkipReason = "duplicate"
	// SkipForeign: written by another system, so there is no default target.
	SkipForeign SkipReason = "foreign"
	// SkipUnreadable: our headers on it are damaged.
	SkipUnreadable SkipReason = "unreadable"
	// SkipCluster: it comes from another cluster, whose lanes are not here.
	SkipCluster SkipReason = "cluster"
	// SkipMaxReplays: it was replayed too often.
	SkipMaxReplays SkipReason = "max-replays"
	// SkipTombstone: its value is null.
	SkipTombstone SkipReason = "tombstone"
	// SkipTooLarge: the target's max.message.bytes is too small for it.
	SkipTooLarge SkipReason = "too-large"
	// SkipNoTarget: the topic it would go to does not exist.
	SkipNoTarget SkipReason = "no-target"
	// SkipLoop: the target is the DLQ itself.
	SkipLoop SkipReason = "loop"
	// SkipLimit: the limit was reached before it.
	SkipLimit SkipReason = "limit"
	// SkipExpired: it no longer existed when the run came to it.
	SkipExpired SkipReason = "expired"
)

// Blocked reports whether a guard stands behind the reason: somebody wanted
// the record sent and it is not. The others are as it should be.
func (r SkipReason) Blocked() bool {
	return r != SkipDecided && r != SkipDuplicate && r != SkipLimit
}

// Skipped counts the dead letters that were skipped for one reason.
type Skipped struct {
	Count    int64
	Examples []ID // the first few
}

// Skips counts what was skipped, by reason.
type Skips map[SkipReason]*Skipped

func (s Skips) add(reason SkipReason, id ID) {
	const examples = 3
	k := s[reason]
	if k == nil {
		k = &Skipped{}
		s[reason] = k
	}
	if k.Count++; len(k.Examples) < examples {
		k.Examples = append(k.Examples, id)
	}
}

// Blocked returns how many were skipped because of a guard.
func (s Skips) Blocked() int64 {
	var n int64
	for reason, k := range s {
		if reason.Blocked() {
			n += k.Count
		}
	}
	return n
}

// Total returns how many were skipped in all.
func (s Skips) Total() int64 {
	var n int64
	for _, k := range s {
		n += k.Count
	}
	return n
}

// Target is a topic that a plan sends to.
type Target struct {
	Topic string
	// Exists: the topic is there. Partitions and MaxBytes say how many
	// partitions it has and how large a batch may be, 0 if not known.
	Exists     bool
	Partitions int
	MaxBytes   int
	// Groups are the consumer groups that have read the topic, and so get
	// what is sent there. Filled for source topics only.
	Groups []string
	// Records is how many records the plan sends there.
	Records int64
}

// Item is one dead letter to be sent.
type Item struct {
	Partition int32
	Offset    int64
	// Target and TargetPartition say where to.
	Target          string
	TargetPartition int32
	// Group is the group that gave up on it.
	Group string
	// Replays is how often it was replayed before.
	Replays int
	// Duplicates are the other open dead letters of the same record. They
	// are settled together with it.
	Duplicates []ID
}

// Plan is what a replay would do. It holds coordinates and no payloads.
type Plan struct {
	Cluster  string // the cluster's id
	DLQ      string
	TopicID  string // the DLQ's topic id: offsets mean nothing in another
	ToSource bool
	Items    []Item // by partition and offset
	Skips    Skips
	Targets  []Target
	// Scanned is how many dead letters were read, Selected how many of them
	// the filter selected: Selected = len(Items) + Skips.Total().
	Scanned  int64
	Selected int64
	// Lease tells of a run that works on the DLQ, nil for none.
	Lease *LeaseError
}

// Plan finds out what a replay would do. It writes nothing.
func (c *Cluster) Plan(ctx context.Context, request PlanRequest) (*Plan, error) {
	if err := request.Validate(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	info, err := c.topic(ctx, request.DLQ)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	cluster, err := c.ID(ctx)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	ledger, err := c.readLedger(ctx, info)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	p := newPlanner(request, ledger, cluster)
	// The whole DLQ is read, whatever the filter: a duplicate of a selected
	// dead letter can be anywhere.
	scanned, err := c.Scan(ctx, ScanRequest{Topic: request.DLQ, Progress: request.Progress}, func(r *Record) error {
		p.add(r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	targets, err := c.targets(ctx, p.targetNames(), request.ToSource)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	plan := p.build(targets)
	plan.Cluster, plan.DLQ, plan.TopicID, plan.Scanned = cluster, request.DLQ, info.ID, scanned.Scanned
	if ledger.lease.live(c.config.Now()) {
		plan.Lease = ledger.lease.refusal(request.DLQ)
	}
	return plan, nil
}

// targets finds out about the topics a plan would send to.
func (c *Cluster) targets(ctx context.Context, names []string, toSource bool) ([]Target, error) {
	infos, err := c.describe(ctx, names...)
	if err != nil {
		return nil, err
	}
	targets := make([]Target, len(names))
	for i, info := range infos {
		targets[i] = Target{Topic: names[i], Exists: info.Err == nil, Partitions: info.Partitions}
		if info.Err != nil {
			if client.CodeOf(info.Err) != client.UnknownTopicOrPartition {
				return nil, fmt.Errorf("target %s: %w", names[i], info.Err)
			}
			continue
		}
		if targets[i].MaxBytes, err = c.maxBytes(ctx, names[i]); err != nil {
			return nil, fmt.Errorf("target %s: %w", names[i], err)
		}
		if toSource {
			if targets[i].Groups, err = c.readers(ctx, names[i]); err != nil {
				return nil, fmt.Errorf("readers of %s: %w", names[i], err)
			}
		}
	}
	return targets, nil
}

// maxBytes returns a topic's max.message.bytes, 0 where it may not be asked.
func (c *Cluster) maxBytes(ctx context.Context, topic string) (int, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	settings, err := c.admin.TopicConfig(ctx, topic)
	if client.CodeOf(err) == client.TopicAuthorization {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(settings["max.message.bytes"])
	if err != nil {
		return 0, nil // not told
	}
	return n, nil
}

// readers returns the groups that have a committed position on a topic.
func (c *Cluster) readers(ctx context.Context, topic string) ([]string, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	groups, err := c.admin.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var readers []string
	for _, group := range groups {
		offsets, err := c.admin.GroupOffsets(ctx, group, topic)
		if err != nil {
			return nil, err
		}
		if len(offsets) > 0 {
			readers = append(readers, group)
		}
	}
	slices.Sort(readers)
	return readers, nil
}
