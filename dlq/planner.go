package dlq

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/holdfast-kafka/holdfast/retry"
)

// recordOverhead is what Kafka adds to the bytes of a record sent alone: the
// batch's 61 bytes of header and the record's own lengths and numbers.
// headerOverhead is the same for one header.
const (
	recordOverhead = 61 + 64
	headerOverhead = 10
)

// planner makes a plan from dead letters and the ledger. It waits for nothing.
type planner struct {
	request    PlanRequest
	ledger     *Ledger
	cluster    string
	names      map[string]string // one copy of each text
	candidates []candidate
	skips      Skips
	selected   int64
	// first holds the first dead letter of each record, more those of the
	// few records that have several: a DLQ can hold millions.
	first map[recordKey]place
	more  map[recordKey]*siblings
}

// recordKey stands for one life of a record: its origin and how often it was
// replayed. Equal keys are dead letters of the same life.
type recordKey [16]byte

type place struct {
	partition int32
	decided   bool
	offset    int64
}

// siblings are the dead letters of one life of a record.
type siblings struct {
	open    []ID
	decided bool // about one of them something was decided
	taken   bool // one of them is in the plan
}

// candidate is a selected dead letter that can be sent as far as it tells.
type candidate struct {
	item   Item
	origin int32 // the partition it came from
	size   int   // bytes of the copy to send
	key    recordKey
}

func newPlanner(request PlanRequest, ledger *Ledger, cluster string) *planner {
	if request.MaxReplays == 0 {
		request.MaxReplays = DefaultMaxReplays
	}
	return &planner{
		request: request, ledger: ledger, cluster: cluster,
		names: map[string]string{}, skips: Skips{},
		first: map[recordKey]place{}, more: map[recordKey]*siblings{},
	}
}

// add takes in the next dead letter of the DLQ, selected or not.
func (p *planner) add(r *Record) {
	state := p.ledger.State(r.Partition, r.Offset)
	var key recordKey
	if r.Readable() {
		key = keyOf(r)
		p.note(key, place{partition: r.Partition, offset: r.Offset, decided: state != StateOpen})
	}
	if !p.request.Filter.Match(r, state) {
		return
	}
	p.selected++
	if reason := p.refuse(r, state); reason != "" {
		p.skips.add(reason, r.ID)
		return
	}
	p.candidates = append(p.candidates, p.candidate(r, key))
}

// refuse says why a dead letter cannot be sent wherever it would go, "" for no
// reason.
func (p *planner) refuse(r *Record, state State) SkipReason {
	m := &r.Stamp.Meta
	switch {
	case state != StateOpen:
		return SkipDecided
	case r.Dialect == DialectForeign:
		return SkipForeign
	case !r.Readable():
		return SkipUnreadable
	case m.Cluster != "" && p.cluster != "" && m.Cluster != p.cluster:
		return SkipCluster
	case m.ReplayCount() >= p.request.MaxReplays:
		return SkipMaxReplays
	case r.Value == nil && !p.request.AllowTombstones:
		return SkipTombstone
	case p.loops(r):
		return SkipLoop
	default:
		return ""
	}
}

// loops reports whether a dead letter would come back to where it is.
func (p *planner) loops(r *Record) bool {
	target := p.target(&r.Stamp.Meta)
	return target == r.Topic || target == retry.LedgerTopic(r.Topic)
}

func (p *planner) target(m *retry.Meta) string {
	if p.request.ToSource {
		return m.Origin.Topic
	}
	return retry.ReplayTopic(m.Origin.Topic, m.Group)
}

func (p *planner) candidate(r *Record, key recordKey) candidate {
	m := &r.Stamp.Meta
	return candidate{
		item: Item{
			Partition: r.Partition, Offset: r.Offset,
			Target: p.intern(p.target(m)), Group: p.intern(m.Group), Replays: m.ReplayCount(),
		},
		origin: m.Origin.Partition,
		size:   p.copySize(r),
		key:    key,
	}
}

func (p *planner) intern(s string) string {
	if known, ok := p.names[s]; ok {
		return known
	}
	p.names[s] = s
	return s
}

// copySize returns the bytes of the copy of a dead letter in a batch of its
// own, give or take the length of the run's name.
func (p *planner) copySize(r *Record) int {
	m := replayMessage(r, p.target(&r.Stamp.Meta), 0, p.lineage(r, strings.Repeat("r", runNameBytes)), p.cluster)
	n := len(m.Key) + len(m.Value) + recordOverhead
	for _, h := range m.Headers {
		n += len(h.Key) + len(h.Value) + headerOverhead
	}
	return n
}

func (p *planner) lineage(r *Record, entry string) retry.Replay {
	return lineage(r, entry, p.cluster, p.request.ToSource)
}

func keyOf(r *Record) recordKey {
	var count [8]byte
	binary.BigEndian.PutUint64(count[:], uint64(r.Stamp.Meta.ReplayCount()))
	sum := sha256.Sum256(append([]byte(r.Stamp.OriginID), count[:]...))
	return recordKey(sum[:16])
}

// note remembers a dead letter of a record.
func (p *planner) note(key recordKey, at place) {
	before, again := p.first[key]
	if !again {
		p.first[key] = at
		return
	}
	s := p.more[key]
	if s == nil {
		s = &siblings{}
		p.more[key] = s
		s.add(before)
	}
	s.add(at)
}

func (s *siblings) add(at place) {
	if at.decided {
		s.decided = true
		return
	}
	s.open = append(s.open, ID{Partition: at.partition, Offset: at.offset})
}

// targetNames returns the topics that the candidates would go to.
func (p *planner) targetNames() []string {
	seen := map[string]bool{}
	for i := range p.candidates {
		seen[p.candidates[i].item.Target] = true
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// build decides about the candidates, given what is known of their targets.
func (p *planner) build(targets []Target) *Plan {
	slices.SortFunc(p.candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.item.Partition, b.item.Partition), cmp.Compare(a.item.Offset, b.item.Offset))
	})
	byName := make(map[string]*Target, len(targets))
	for i := range targets {
		byName[targets[i].Topic] = &targets[i]
	}
	plan := &Plan{ToSource: p.request.ToSource, Skips: p.skips, Targets: targets, Selected: p.selected}
	for i := range p.candidates {
		c := &p.candidates[i]
		target := byName[c.item.Target]
		if reason := p.refuseTarget(c, target, int64(len(plan.Items))); reason != "" {
			p.skips.add(reason, ID{Topic: p.request.DLQ, Partition: c.item.Partition, Offset: c.item.Offset})
			continue
		}
		c.item.TargetPartition = c.origin % int32(target.Partitions)
		c.item.Duplicates = p.take(c)
		target.Records++
		plan.Items = append(plan.Items, c.item)
	}
	return plan
}

func (p *planner) refuseTarget(c *candidate, target *Target, planned int64) SkipReason {
	s := p.more[c.key]
	switch {
	case s != nil && (s.decided || s.taken):
		return SkipDuplicate
	case target == nil || !target.Exists || target.Partitions == 0:
		return SkipNoTarget
	case target.MaxBytes > 0 && c.size > target.MaxBytes:
		return SkipTooLarge
	case p.request.Limit > 0 && planned >= p.request.Limit:
		return SkipLimit
	default:
		return ""
	}
}

// take puts a candidate into the plan and returns its duplicates.
func (p *planner) take(c *candidate) []ID {
	s := p.more[c.key]
	if s == nil {
		return nil
	}
	s.taken = true
	self := ID{Partition: c.item.Partition, Offset: c.item.Offset}
	return slices.DeleteFunc(slices.Clone(s.open), func(id ID) bool { return id == self })
}
