package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/core"
	"github.com/holdfast-kafka/holdfast/retry"
)

const (
	// laneRetentionMin keeps a lane's records over a long weekend's outage.
	laneRetentionMin = 7 * 24 * time.Hour
	// dlqRetention is what a created dead-letter topic gets: a month in which
	// somebody finds the time.
	dlqRetention = 30 * 24 * time.Hour
	// headroom is what a dead letter may need beyond its record: our headers
	// take 5 KiB at most, a batch's own header and a user's retry headers the
	// rest.
	headroom = 64 << 10
	// maxMessageDefault is Kafka's default of max.message.bytes.
	maxMessageDefault = 1_048_588
)

// provision asks the cluster about the topics, creates what is missing if that
// was asked for, and sets up what the runtime needs to know of them.
func (rt *runtime) provision(ctx context.Context) error {
	admin, err := rt.cfg.library.Admin(rt.cfg.admin())
	if err != nil {
		return fmt.Errorf("admin client: %w", err)
	}
	rt.admin = admin
	if rt.cluster, err = clusterID(ctx, admin); err != nil {
		return fmt.Errorf("no answer from brokers %s within %v (are they up, and is security.protocol the listener's?): %w",
			rt.cfg.Brokers, rt.cfg.StartTimeout, err)
	}
	existing, err := admin.Topics(ctx)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	rt.uses = rt.cfg.uses(existing)
	check := &provisioning{rt: rt, admin: admin, ctx: ctx, info: map[string]client.TopicInfo{}, settings: map[string]map[string]string{}}
	if rt.cfg.Provision != ProvisionOff {
		if err := check.run(); err != nil {
			return err
		}
	}
	rt.pub = newPublisher(rt, rt.cfg.producer(check.smallestLimit()), check.partitions())
	return nil
}

// clusterID asks until a broker answers. The library's calls do not end with
// their context but with its deadline, so each try is short: a stop during the
// start is heeded soon.
func clusterID(ctx context.Context, admin client.Admin) (string, error) {
	const try, again = 2 * time.Second, 200 * time.Millisecond
	var last error
	for {
		once, cancel := context.WithTimeout(ctx, try)
		id, err := admin.ClusterID(once)
		cancel()
		if err == nil {
			return id, nil
		}
		if ctx.Err() != nil {
			return "", errors.Join(last, err)
		}
		last = err // tells more than that the time is over
		if code := client.CodeOf(err); code != 0 && code != client.TimedOut && code != client.Transport && code != client.AllBrokersDown {
			return "", err
		}
		timer := time.NewTimer(again)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return "", last
		}
	}
}

// countPartitions asks for the partitions of a topic that was not checked at
// the start.
func (rt *runtime) countPartitions(topic string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), alonePatience)
	defer cancel()
	infos, err := rt.admin.Describe(ctx, []string{topic})
	switch {
	case err != nil:
		return 0, err
	case len(infos) != 1:
		return 0, &client.Error{Code: client.UnknownTopicOrPartition, Text: "topic " + topic + " is not known"}
	case infos[0].Err != nil:
		return 0, infos[0].Err
	case infos[0].Partitions == 0:
		return 0, &client.Error{Code: client.UnknownTopicOrPartition, Text: "topic " + topic + " has no partitions"}
	}
	return infos[0].Partitions, nil
}

// target is a topic the runtime writes to or reads its replays from.
type target struct {
	name, source string
	kind         core.Role // Lane, Replay; Source stands for the dead-letter topic
	what         string
}

// provisioning checks topics against what they must hold.
type provisioning struct {
	rt       *runtime
	admin    client.Admin
	ctx      context.Context //nolint:containedctx // it lives as long as the call
	info     map[string]client.TopicInfo
	settings map[string]map[string]string // nil value: could not be read
	problems []error
}

func (p *provisioning) targets() []target {
	var all []target
	group := p.rt.cfg.Group
	for i := range p.rt.cfg.Routes {
		route := &p.rt.cfg.Routes[i]
		for _, topic := range route.Topics {
			for _, delay := range route.lanes() {
				all = append(all, target{retry.LaneTopic(topic, group, delay), topic, core.Lane, "retry lane"})
			}
			if route.DLQ == ToDLQ {
				all = append(all,
					target{retry.ReplayTopic(topic, group), topic, core.Replay, "replay lane"},
					target{retry.DLQTopic(topic, group), topic, core.Source, "dead-letter topic"})
			}
		}
	}
	return all
}

func (p *provisioning) run() error {
	targets := p.targets()
	if err := p.describe(targets); err != nil {
		return err
	}
	if p.rt.cfg.Provision == Create {
		if err := p.create(targets); err != nil {
			return err
		}
	}
	for _, topic := range p.rt.cfg.sourceTopics() {
		if err := p.info[topic].Err; err != nil {
			p.addf("topic %s: %s; create it, or correct the route", topic, whatIs(err))
		}
	}
	for _, t := range targets {
		p.verify(t)
	}
	if len(p.problems) == 0 {
		return nil
	}
	return fmt.Errorf("topics are not ready for group %s (consumer.Create creates what is missing): %w",
		p.rt.cfg.Group, errors.Join(p.problems...))
}

func (p *provisioning) addf(format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf(format, args...))
}

// describe asks about all topics and their settings.
func (p *provisioning) describe(targets []target) error {
	names := p.rt.cfg.sourceTopics()
	for _, t := range targets {
		names = append(names, t.name)
	}
	infos, err := p.admin.Describe(p.ctx, names)
	if err != nil {
		return fmt.Errorf("describe topics: %w", err)
	}
	for _, info := range infos {
		p.info[info.Topic] = info
	}
	for _, name := range names {
		if p.info[name].Err == nil && p.settings[name] == nil {
			p.settings[name] = p.configOf(name)
		}
	}
	return nil
}

// configOf returns a topic's settings, nil when they cannot be read: that is
// no reason not to start.
func (p *provisioning) configOf(topic string) map[string]string {
	settings, err := p.admin.TopicConfig(p.ctx, topic)
	if err != nil {
		p.rt.log.write(slog.LevelWarn, "settings of a topic could not be checked", slog.String("topic", topic), errAttr(err))
		return nil
	}
	return settings
}

// create makes the targets that are missing, like their source.
func (p *provisioning) create(targets []target) error {
	var specs []client.TopicSpec
	var missing []target
	for _, t := range targets {
		if client.CodeOf(p.info[t.name].Err) != client.UnknownTopicOrPartition {
			continue
		}
		source := p.info[t.source]
		if source.Err != nil {
			continue // reported by run
		}
		specs = append(specs, client.TopicSpec{
			Topic: t.name, Partitions: source.Partitions, ReplicationFactor: source.ReplicationFactor,
			Config: p.wanted(t),
		})
		missing = append(missing, t)
	}
	if len(specs) == 0 {
		return nil
	}
	// Another member may be creating the same topics.
	if err := p.admin.CreateTopics(p.ctx, specs); err != nil && !onlyExisting(err) {
		return fmt.Errorf("create topics: %w", err)
	}
	for _, spec := range specs {
		p.rt.log.write(slog.LevelInfo, "topic created", slog.String("topic", spec.Topic), slog.Int("partitions", spec.Partitions))
	}
	return p.describeCreated(missing)
}

// describeCreated waits until every created topic is known to the broker that
// is asked.
func (p *provisioning) describeCreated(targets []target) error {
	for {
		if err := p.describe(targets); err != nil {
			return err
		}
		ready := !slices.ContainsFunc(targets, func(t target) bool {
			return client.CodeOf(p.info[t.name].Err) == client.UnknownTopicOrPartition
		})
		if ready {
			return nil
		}
		timer := time.NewTimer(100 * time.Millisecond)
		select {
		case <-timer.C:
		case <-p.ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for created topics: %w", p.ctx.Err())
		}
	}
}

// onlyExisting reports that all errors joined in err say that a topic exists.
func onlyExisting(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			if !onlyExisting(one) {
				return false
			}
		}
		return true
	}
	return client.CodeOf(err) == client.TopicAlreadyExists
}

// wanted are the settings of a topic that is created.
func (p *provisioning) wanted(t target) map[string]string {
	source := p.settings[t.source]
	settings := map[string]string{
		"cleanup.policy":         "delete",
		"retention.bytes":        "-1",
		"retention.ms":           strconv.FormatInt(p.retention(t).Milliseconds(), 10),
		"message.timestamp.type": "CreateTime",
		"max.message.bytes":      strconv.Itoa(number(source, "max.message.bytes", maxMessageDefault) + headroom),
	}
	if isr, ok := source["min.insync.replicas"]; ok {
		settings["min.insync.replicas"] = isr
	}
	return settings
}

// retention is how long a created target keeps its records.
func (p *provisioning) retention(t target) time.Duration {
	if t.kind == core.Source {
		return dlqRetention
	}
	return p.laneRetention(t)
}

// laneRetention is the least a lane must keep: a week, and as long as its
// source does.
func (p *provisioning) laneRetention(t target) time.Duration {
	ms := number(p.settings[t.source], "retention.ms", int(laneRetentionMin.Milliseconds()))
	if ms < 0 {
		return time.Duration(1<<63 - 1).Truncate(time.Millisecond) // for ever
	}
	return max(laneRetentionMin, time.Duration(min(ms, 1<<43))*time.Millisecond)
}

// verify checks one target.
func (p *provisioning) verify(t target) {
	info := p.info[t.name]
	if info.Err != nil {
		p.addf("%s %s: %s", t.what, t.name, whatIs(info.Err))
		return
	}
	source := p.info[t.source]
	if source.Err == nil && info.ReplicationFactor > 0 && info.ReplicationFactor < source.ReplicationFactor {
		p.addf("%s %s: has %d replicas, its source %s has %d; raise it, or a broker's loss takes what waits there",
			t.what, t.name, info.ReplicationFactor, t.source, source.ReplicationFactor)
	}
	settings := p.settings[t.name]
	if settings == nil {
		return
	}
	p.verifySettings(t, settings)
}

func (p *provisioning) verifySettings(t target, settings map[string]string) {
	wrong := func(key, why string, want any) {
		p.addf("%s %s: %s is %s, expected %v: %s", t.what, t.name, key, settings[key], want, why)
	}
	if policy := settings["cleanup.policy"]; policy != "" && policy != "delete" {
		wrong("cleanup.policy", "compaction removes records with equal keys", "delete")
	}
	if kind := settings["message.timestamp.type"]; kind == "LogAppendTime" && t.kind == core.Lane {
		wrong("message.timestamp.type", "due times follow from the writer's timestamp", "CreateTime")
	}
	if size := number(settings, "retention.bytes", -1); size != -1 && t.kind != core.Source {
		wrong("retention.bytes", "a full lane would drop records that wait", -1)
	}
	if t.kind != core.Source {
		least := p.laneRetention(t)
		if ms := number(settings, "retention.ms", -1); ms >= 0 && int64(ms) < least.Milliseconds() {
			wrong("retention.ms", "records would be deleted while they wait", fmt.Sprintf("at least %d, or -1", least.Milliseconds()))
		}
	}
	p.verifyLikeSource(t, settings, wrong)
}

// verifyLikeSource checks what must be no less than the source's.
func (p *provisioning) verifyLikeSource(t target, settings map[string]string, wrong func(key, why string, want any)) {
	source := p.settings[t.source]
	least := number(source, "max.message.bytes", 0)
	if t.kind == core.Source && source != nil {
		least += headroom
	}
	if size := number(settings, "max.message.bytes", maxMessageDefault); size < least {
		wrong("max.message.bytes", "the largest record of "+t.source+" would not fit with its headers", fmt.Sprintf("at least %d", least))
	}
	isr := number(source, "min.insync.replicas", 0)
	if have := number(settings, "min.insync.replicas", isr); have < isr {
		wrong("min.insync.replicas", "copies must be as safe as their source", fmt.Sprintf("at least %d", isr))
	}
}

// smallestLimit is the smallest max.message.bytes of the topics written to,
// zero when none is known.
func (p *provisioning) smallestLimit() int {
	smallest := 0
	for _, t := range p.targets() {
		if size := number(p.settings[t.name], "max.message.bytes", 0); size > 0 && (smallest == 0 || size < smallest) {
			smallest = size
		}
	}
	return smallest
}

// partitions are those of the topics that were described.
func (p *provisioning) partitions() map[string]int {
	counts := map[string]int{}
	for name, info := range maps.All(p.info) {
		if info.Err == nil {
			counts[name] = info.Partitions
		}
	}
	return counts
}

// number reads a whole number from settings.
func number(settings map[string]string, key string, otherwise int) int {
	n, err := strconv.Atoi(settings[key])
	if err != nil {
		return otherwise
	}
	return n
}

// whatIs puts an error about a topic into words.
func whatIs(err error) string {
	code := client.CodeOf(err)
	if code == client.UnknownTopicOrPartition {
		return "does not exist"
	}
	if code == client.TopicAuthorization {
		return "may not be described; grant DESCRIBE on it"
	}
	return err.Error()
}
