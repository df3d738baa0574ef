package consumer

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

// task is one record on its way through the runtime, in one allocation.
type task struct {
	rec    core.Rec // what the core knows of it
	record Record   // what the handler sees
	ctx    attempt  // the context of the first attempt
	tenure *tenure
	// attempt is the context of the attempt under way. Written by its worker
	// before it announces the attempt, read by the loop after.
	attempt *attempt
	stamp   *retry.Stamp // our headers on a lane or replay copy; nil on a first read
	failed  *failed      // nil while no attempt failed
	tsType  client.TimestampType
}

// failed is what a copy has to tell about the failed attempts since the record
// was read. Written by the worker of each, read by the publisher after the
// core passed the task on.
type failed struct {
	err      error // the last
	stack    []byte
	attempts []retry.Failure
}

// tenure is one epoch of a partition as the shells share it.
type tenure struct {
	part  *core.Part
	use   topicUse
	route *route
	// barred stops workers from beginning another record. Written by the
	// loop, read by workers.
	barred atomic.Bool
	// cause ends running attempts. Written by the loop before it looks for
	// running attempts, read by workers after they announced one.
	cause atomic.Pointer[error]
}

func (t *tenure) cancel(cause error) {
	t.barred.Store(true)
	t.cause.Store(&cause)
}

// route is a [Route] while running.
type route struct {
	Route

	index   int
	handler Handler // with the middleware around it
	// gated is set while a breaker of the route is open, so that a worker in
	// the middle of a run stops too. Written by the breaker's callback.
	gated atomic.Int32
}

// fill makes a task of a polled message.
func (t *task) fill(m *client.Message, ten *tenure) {
	t.tenure = ten
	t.tsType = m.TimestampType
	t.record = Record{
		Topic: m.Topic, Partition: m.Partition, Offset: m.Offset, Timestamp: timeOf(m.Timestamp),
		Key: m.Key, Value: m.Value, Headers: m.Headers, attempt: 1, epoch: m.LeaderEpoch,
	}
	t.rec.Part = ten.part
	t.rec.Payload = t
	if ten.route.Ordering == ByKey {
		t.rec.Key = m.Key
	}
	t.rec.Offset = m.Offset
	t.rec.LeaderEpoch = m.LeaderEpoch
	t.rec.Size = int32(min(sizeOf(m), math.MaxInt32))
}

// overhead is what a record takes beside its bytes: the task, the client's own
// message and the slice headers.
const overhead = 640

func sizeOf(m *client.Message) int {
	size := overhead + len(m.Key) + len(m.Value)
	for _, h := range m.Headers {
		size += 40 + len(h.Key) + len(h.Value)
	}
	return size
}

// readHeaders looks at our headers, if there are any. On a lane of ours they
// say what the record is; anywhere else they are luggage that somebody
// forwarded, except that a replay may name whom it is meant for.
func (rt *runtime) readHeaders(t *task, m *client.Message) {
	role := t.tenure.use.role
	if role == core.Source {
		t.record.group = rt.cfg.Group
		if !reserved(m.Headers) {
			return
		}
		rt.readForwarded(t, m)
		return
	}
	user, stamp, problems := retry.Decode(m.Headers)
	if problems.Has(retry.ProblemMissing|retry.ProblemPacked|retry.ProblemVersion) ||
		!retry.Trusted(stamp, rt.cfg.Group, rt.cluster) || stamp.Meta.Origin.Topic != t.tenure.use.origin {
		t.rec.Mark = core.Foreign
		return
	}
	t.adopt(user, &stamp)
	if problems != 0 {
		rt.log.badHeaders(t, problems)
	}
	rt.schedule(t, m)
}

// adopt takes over what our headers say: the record is a copy, shown to the
// handler as its origin.
func (t *task) adopt(user []Header, stamp *retry.Stamp) {
	o := stamp.Meta.Origin
	t.stamp = stamp
	t.tsType = client.TimestampType(o.TimestampType)
	t.record.Topic, t.record.Partition, t.record.Offset = o.Topic, o.Partition, o.Offset
	t.record.Timestamp, t.record.epoch = timeOf(o.Timestamp), o.LeaderEpoch
	t.record.group = stamp.Meta.Group
	t.record.Headers = user
	t.record.replays = int32(min(stamp.Meta.ReplayCount(), retry.MaxCount))
	t.rec.Attempts = int32(min(stamp.Count, retry.MaxCount))
	t.record.attempt = t.rec.Attempts + 1
}

// readForwarded looks at our headers on a source record.
func (rt *runtime) readForwarded(t *task, m *client.Message) {
	user, stamp, problems := retry.Decode(m.Headers)
	replay := stamp.Meta.Replay
	switch {
	case problems.Has(retry.ProblemPacked|retry.ProblemVersion) || replay == nil || replay.Target == nil:
		rt.log.forwardedHeaders(t)
	case retry.PassesBy(stamp, rt.cfg.Group, rt.cluster, m.Topic):
		t.rec.Mark = core.Passed
	case stamp.Kind == retry.StampReplay && retry.Trusted(stamp, rt.cfg.Group, rt.cluster) &&
		replay.Target.Topic == m.Topic && replay.Target.Group == rt.cfg.Group:
		// A replay to the source for us: its origin is the first one.
		t.adopt(user, &stamp)
		t.rec.Attempts, t.record.attempt = 0, 1
	default:
		rt.log.forwardedHeaders(t)
	}
}

func reserved(headers []Header) bool {
	for i := range headers {
		switch headers[i].Key {
		case retry.HeaderPacked, retry.HeaderCount, retry.HeaderDue, retry.HeaderOrigin,
			retry.HeaderDisposition, retry.HeaderFingerprint:
			return true
		}
	}
	return false
}

// schedule sets when a lane copy may be handled.
func (rt *runtime) schedule(t *task, m *client.Message) {
	now := rt.clock.wall()
	if first := t.stamp.Meta.First; first > 0 {
		t.rec.Failed = true
		t.rec.FirstFailure = rt.clock.instant(timeOf(first))
		t.rec.Held = time.Duration(t.stamp.Meta.Held) * time.Millisecond
	}
	if t.stamp.Due == 0 {
		return
	}
	wait, rest, skewed := retry.ReaderWait(now, timeOf(t.stamp.Due), timeOf(m.Timestamp), t.tenure.use.delay)
	if skewed {
		rt.log.skew(t, timeOf(m.Timestamp).Sub(now))
	}
	if wait > 0 {
		t.rec.Due = rt.clock.now().Add(wait)
	}
	t.rec.Rest = rest
}

// origin is where the task's record was first read.
func (t *task) origin() retry.Origin {
	if t.stamp != nil {
		return t.stamp.Meta.Origin
	}
	return retry.Origin{
		Topic: t.record.Topic, Partition: t.record.Partition, Offset: t.record.Offset,
		Timestamp: t.record.Timestamp.UnixMilli(), TimestampType: int8(t.tsType), LeaderEpoch: t.record.epoch,
	}
}
