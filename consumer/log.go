package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

// repeatEvery is how often the same warning is logged: often enough to see
// that it goes on, seldom enough to read the rest.
const repeatEvery = 10 * time.Second

// reporter turns what happens into log lines and observer calls. Coordinates
// only: never keys, payloads or header values. Safe for concurrent use.
type reporter struct {
	log      *slog.Logger
	observer Observer

	mu   sync.Mutex // guards last
	last map[string]repeat
}

type repeat struct {
	at         time.Time
	suppressed int
}

func newReporter(log *slog.Logger, observer Observer, group string) *reporter {
	return &reporter{
		log:      log.With(slog.String("component", "holdfast"), slog.String("group", group)),
		observer: observer,
		last:     map[string]repeat{},
	}
}

func (r *reporter) write(level slog.Level, text string, attrs ...slog.Attr) {
	r.log.LogAttrs(context.Background(), level, text, attrs...) //nolint:sloglint // the callers' texts are constants
}

// seldom writes a line that may come often. what tells which lines are the
// same; the count of those left out is added.
func (r *reporter) seldom(level slog.Level, what, text string, attrs ...slog.Attr) {
	now := time.Now()
	r.mu.Lock()
	before, seen := r.last[what]
	if seen && now.Sub(before.at) < repeatEvery {
		before.suppressed++
		r.last[what] = before
		r.mu.Unlock()
		return
	}
	r.last[what] = repeat{at: now}
	r.mu.Unlock()
	if before.suppressed > 0 {
		attrs = append(attrs, slog.Int("suppressed", before.suppressed))
	}
	r.write(level, text, attrs...)
}

func coordinates(t *task) []slog.Attr {
	p := t.tenure.part
	return []slog.Attr{
		slog.String("topic", p.Topic), slog.Int("partition", int(p.Partition)), slog.Int64("offset", t.rec.Offset),
	}
}

func errAttr(err error) slog.Attr { return slog.String("error", err.Error()) }

// notice logs and passes on what the core noticed.
func (r *reporter) notice(n *core.Notice) {
	ev := Event{
		Topic: n.Part.Topic, Partition: n.Part.Partition, Offset: -1,
		Disposition: string(n.Disposition), Wait: n.Wait, Count: n.Count,
	}
	attrs := []slog.Attr{slog.String("topic", n.Part.Topic), slog.Int("partition", int(n.Part.Partition))}
	if n.Rec != nil {
		ev.Offset = n.Offset
		attrs = append(attrs, slog.Int64("offset", n.Offset))
	}
	level, text := r.describe(n, &ev)
	if ev.Gate != "" {
		attrs = append(attrs, slog.String("gate", ev.Gate))
	}
	if ev.Disposition != "" {
		attrs = append(attrs, slog.String("disposition", ev.Disposition))
	}
	if n.Wait > 0 {
		attrs = append(attrs, slog.Duration("wait", n.Wait))
	}
	if n.Count > 0 {
		attrs = append(attrs, slog.Int("records", n.Count))
	}
	if t := taskOf(n.Rec); t != nil && t.failed != nil && (n.Kind == core.NoticeDead || n.Kind == core.NoticeRetry) {
		attrs = append(attrs, slog.Int("attempt", int(t.rec.Attempts)), slog.String("error_type", errorType(t.failed.err)))
	}
	if level >= slog.LevelWarn {
		r.seldom(level, fmt.Sprintf("%d/%s/%d", n.Kind, n.Part.Topic, n.Part.Partition), text, attrs...)
	} else {
		r.write(level, text, attrs...)
	}
	r.observe(ev)
}

func taskOf(rec *core.Rec) *task {
	if rec == nil {
		return nil
	}
	t, _ := rec.Payload.(*task)
	return t
}

func (r *reporter) observe(ev Event) {
	defer func() {
		if value := recover(); value != nil {
			r.seldom(slog.LevelError, "observer", "observer panicked", slog.String("panic", fmt.Sprintf("%T", value)))
		}
	}()
	r.observer.Observe(ev)
}

// words are a notice's event kind, level and text.
type words struct {
	kind  EventKind
	level slog.Level
	text  string
}

// describe gives a notice its words and fills in what its event says.
func (r *reporter) describe(n *core.Notice, ev *Event) (slog.Level, string) {
	table := [...]words{
		core.NoticeRetry:        {EventRetry, slog.LevelDebug, "attempt failed, will be retried"},
		core.NoticeDead:         {EventDead, slog.LevelWarn, "record given up on"},
		core.NoticeDropped:      {EventDropped, slog.LevelWarn, "record dropped"},
		core.NoticeParked:       {EventParked, slog.LevelDebug, "record moves to a lane, uncharged"},
		core.NoticeHeld:         {EventHeld, slog.LevelDebug, "record held, uncharged"},
		core.NoticePassed:       {EventPassed, slog.LevelDebug, "replay for another group passed by"},
		core.NoticeForeign:      {EventForeign, slog.LevelError, "record on our lane is not ours: its partition waits until somebody takes it away"},
		core.NoticeGateOn:       {EventGateClosed, slog.LevelDebug, "gate closed"},
		core.NoticeGateOff:      {EventGateOpened, slog.LevelDebug, "gate opened"},
		core.NoticeDrainTimeout: {EventDrainTimeout, slog.LevelWarn, "drain timed out, handlers are cancelled"},
		core.NoticeLate:         {EventLate, slog.LevelDebug, "late result dropped"},
		core.NoticeRewound:      {EventRewound, slog.LevelWarn, "offsets went back"},
		core.NoticePublishRetry: {EventPublishRetry, slog.LevelWarn, "copy could not be written, will be tried again"},
		core.NoticeBlocked:      {EventBlocked, slog.LevelError, "dead record has nowhere to go and is kept"},
	}
	w := table[n.Kind]
	ev.Kind = w.kind
	switch n.Kind { //nolint:exhaustive // the others say no more
	case core.NoticeGateOn, core.NoticeGateOff:
		ev.Gate = n.Gate.String()
	case core.NoticeRewound:
		ev.Offset = n.Offset
	default:
	}
	return w.level, w.text
}

func (r *reporter) assigned(name string, parts []client.TopicPartition) {
	r.write(slog.LevelInfo, "partitions assigned", slog.String("client", name), slog.Int("partitions", len(parts)))
}

func (r *reporter) revoked(name string, parts []client.TopicPartition, lost bool) {
	r.write(slog.LevelInfo, "partitions revoked", slog.String("client", name), slog.Int("partitions", len(parts)),
		slog.Bool("lost", lost))
}

func (r *reporter) clientError(name string, err error) {
	r.seldom(slog.LevelWarn, fmt.Sprintf("client/%s/%d", name, client.CodeOf(err)), "kafka client reports an error",
		slog.String("client", name), errAttr(err))
}

func (r *reporter) commitFailed(name string, err error) {
	level := slog.LevelWarn
	switch client.CodeOf(err) {
	case client.IllegalGeneration, client.UnknownMemberID, client.RebalanceInProgress, client.StaleMemberEpoch:
		level = slog.LevelInfo // a rebalance came between: whoever owns the partitions commits
	}
	r.seldom(level, "commit/"+name, "commit failed, will be repeated while the partitions are ours",
		slog.String("client", name), errAttr(err))
}

func (r *reporter) storeFailed(name string, err error) {
	r.seldom(slog.LevelDebug, "store/"+name, "positions not stored", slog.String("client", name), errAttr(err))
}

func (r *reporter) storeRefused(o client.Offset) {
	r.write(slog.LevelDebug, "position not stored", slog.String("topic", o.Topic),
		slog.Int("partition", int(o.Partition)), errAttr(o.Err))
}

func (r *reporter) pauseFailed(at client.TopicPartition, err error) {
	r.seldom(slog.LevelWarn, "pause", "pause or resume failed", slog.String("topic", at.Topic),
		slog.Int("partition", int(at.Partition)), errAttr(err))
}

func (r *reporter) assignFailed(name string, err error) {
	r.write(slog.LevelError, "assignment could not be acknowledged", slog.String("client", name), errAttr(err))
}

func (r *reporter) closeFailed(name string, err error) {
	r.write(slog.LevelWarn, "close failed", slog.String("client", name), errAttr(err))
}

func (r *reporter) flushFailed(err error) {
	r.seldom(slog.LevelDebug, "flush", "copies are slow to be acknowledged", errAttr(err))
}

func (r *reporter) publishFailed(t *task, target string, err error) {
	attrs := append(coordinates(t), errAttr(err))
	if target != "" {
		attrs = append(attrs, slog.String("target", target))
	}
	if hint := publishHint(client.CodeOf(err)); hint != "" {
		attrs = append(attrs, slog.String("hint", hint))
	}
	r.seldom(slog.LevelError, fmt.Sprintf("publish/%d", client.CodeOf(err)), "copy not written", attrs...)
}

// publishHint says what to do about a copy that is refused.
func publishHint(code client.Code) string {
	switch code { //nolint:exhaustive // most codes pass by themselves
	case client.MsgSizeTooLarge:
		return "raise the target's max.message.bytes, or choose TooLargeOmit"
	case client.UnknownTopicOrPartition, client.UnknownTopic, client.UnknownPartition:
		return "create the target topic"
	case client.TopicAuthorization, client.ClusterAuthorization:
		return "grant WRITE on the target topic"
	}
	return ""
}

func (r *reporter) classifierPanicked(t *task, value any) {
	r.seldom(slog.LevelError, "classifier", "classifier panicked, the error counts as transient",
		append(coordinates(t), slog.String("panic", fmt.Sprintf("%T", value)))...)
}

func (r *reporter) badHeaders(t *task, problems retry.Problems) {
	r.seldom(slog.LevelWarn, "headers", "retry headers were damaged and clamped",
		append(coordinates(t), slog.String("problems", problems.String()))...)
}

func (r *reporter) forwardedHeaders(t *task) {
	r.seldom(slog.LevelInfo, "forwarded", "retry headers of somebody else on a source record, not heeded", coordinates(t)...)
}

func (r *reporter) skew(t *task, ahead time.Duration) {
	r.seldom(slog.LevelWarn, "skew", "clock of the writer is ahead of ours", append(coordinates(t), slog.Duration("ahead", ahead))...)
}
