package retry

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MaxTopicBytes is the longest name a Kafka topic can have.
const MaxTopicBytes = 249

// The endings that are reserved for topics of ours.
const (
	retryInfix   = ".retry."
	replayEnding = ".replay"
	dlqEnding    = ".dlq"
	ledgerEnding = ".ledger"
)

// LaneTopic returns the name of the lane of a topic, a group and a delay:
// <topic>.<group part>.retry.<delay>.
//
// The group part is the group itself where it holds only letters, digits, _
// and -, and does not end in - and eight hexadecimal digits. Any other group
// is written with _ for every other character, followed by - and the first
// eight hexadecimal digits of the SHA-256 of topic, NUL and group. So the
// group part holds no dot, a plain group cannot be taken for a mapped one, and
// a name tells topic and group part apart.
//
// d must be a delay that [FormatDelay] accepts; any other counts as the
// nearest one that is not shorter, or as [MaxWait].
func LaneTopic(topic, group string, d time.Duration) string {
	d = roundUp(min(max(d, time.Millisecond), MaxWait))
	return owned(topic, group) + retryInfix + formatDelay(d)
}

// ReplayTopic returns the name of the replay lane of a topic and a group.
func ReplayTopic(topic, group string) string { return owned(topic, group) + replayEnding }

// DLQTopic returns the name of the dead-letter topic of a topic and a group.
func DLQTopic(topic, group string) string { return owned(topic, group) + dlqEnding }

// LedgerTopic returns the name of the ledger of a dead-letter topic.
func LedgerTopic(dlq string) string { return dlq + ledgerEnding }

// owned is what all topics of one topic and group begin with.
func owned(topic, group string) string { return topic + "." + groupPart(topic, group) }

func groupPart(topic, group string) string {
	if isGroupPart(group) && !looksMapped(group) {
		return group
	}
	sum := sha256.Sum256([]byte(topic + "\x00" + group))
	plain := strings.Map(func(r rune) rune {
		if isNameRune(r) {
			return r
		}
		return '_'
	}, group)
	return plain + "-" + hex.EncodeToString(sum[:4])
}

// isNameRune reports whether r may stand in a group part. A topic name may
// also hold a dot.
func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

func isGroupPart(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !isNameRune(r) })
}

// looksMapped reports whether a group ends like the mapped form of another.
func looksMapped(group string) bool {
	digits := len(group) - 8
	if digits < 1 || group[digits-1] != '-' {
		return false
	}
	return !strings.ContainsFunc(group[digits:], func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'f')
	})
}

// NameKind says what a topic of ours is for.
type NameKind uint8

// The kinds of names.
const (
	NameLane NameKind = iota + 1
	NameReplay
	NameDLQ
	NameLedger
)

// TopicName is a name of ours taken apart.
type TopicName struct {
	Kind NameKind
	// Owner is <topic>.<group part>: the same for every topic of one topic
	// and group. What it belongs to is told by a record's headers, not by it.
	Owner string
	// Delay is the lane's, for [NameLane]; zero otherwise.
	Delay time.Duration
}

// ParseTopic takes a name apart. It reports false for a name that [LaneTopic],
// [ReplayTopic], [DLQTopic] and [LedgerTopic] cannot have made.
func ParseTopic(name string) (TopicName, bool) {
	t := TopicName{Kind: NameLane}
	if at := strings.LastIndex(name, retryInfix); at >= 0 {
		d, err := ParseDelay(name[at+len(retryInfix):])
		if err == nil {
			t.Owner, t.Delay = name[:at], d
			return t, isOwner(t.Owner)
		}
	}
	for _, e := range []struct {
		ending string
		kind   NameKind
	}{{replayEnding, NameReplay}, {dlqEnding, NameDLQ}, {dlqEnding + ledgerEnding, NameLedger}} {
		if owner, ok := strings.CutSuffix(name, e.ending); ok {
			return TopicName{Kind: e.kind, Owner: owner}, isOwner(owner)
		}
	}
	return TopicName{}, false
}

// isOwner reports whether s is a topic, a dot and a group part.
func isOwner(s string) bool {
	dot := strings.LastIndexByte(s, '.')
	return dot > 0 && isGroupPart(s[dot+1:])
}

// Lane is an existing retry topic.
type Lane struct {
	Topic string
	Delay time.Duration
}

// FindLanes returns the lanes of a topic and a group among the names of
// topics, by ascending delay: those of today's policy and those that older
// ones left behind.
func FindLanes(names []string, topic, group string) []Lane {
	owner := owned(topic, group)
	var found []Lane
	for _, name := range names {
		if t, ok := ParseTopic(name); ok && t.Kind == NameLane && t.Owner == owner {
			found = append(found, Lane{Topic: name, Delay: t.Delay})
		}
	}
	slices.SortFunc(found, func(a, b Lane) int { return cmp.Compare(a.Delay, b.Delay) })
	return slices.CompactFunc(found, func(a, b Lane) bool { return a == b })
}

// The reserved endings as a regular expression, written so that POSIX
// extended syntax, Go and a list separated by commas all read it alike.
const (
	delayExpr    = `[0-9]+(ms|s|m|h)`
	reservedExpr = `^.+[.](retry[.]` + delayExpr + `|replay|dlq|dlq[.]ledger)$`
)

// LanePattern returns a regular expression that matches every lane of a topic
// and a group, of whatever delay. [FindLanes] is exact where it is generous:
// it also matches delays that are written otherwise, like 60s.
func LanePattern(topic, group string) string {
	return "^" + strings.ReplaceAll(regexp.QuoteMeta(owned(topic, group)), `\.`, "[.]") + "[.]retry[.]" + delayExpr + "$"
}

// ReservedPattern returns a regular expression that matches every name with a
// reserved ending, and nothing else. It begins with ^ and holds no comma, so
// it can stand in librdkafka's topic.blacklist, which keeps those topics out
// of regular-expression subscriptions.
func ReservedPattern() string { return reservedExpr }

// IsReservedTopic reports whether a name has one of the reserved endings:
// .retry.<delay>, .replay, .dlq and .dlq.ledger. Such a topic is no source,
// whoever made it: handling dead letters as if they were work has emptied and
// filled topics in circles.
func IsReservedTopic(name string) bool {
	for _, ending := range []string{replayEnding, dlqEnding, dlqEnding + ledgerEnding} {
		if rest, ok := strings.CutSuffix(name, ending); ok && rest != "" {
			return true
		}
	}
	at := strings.LastIndex(name, retryInfix)
	return at > 0 && isDelayText(name[at+len(retryInfix):])
}

// isDelayText reports whether s is digits and a unit.
func isDelayText(s string) bool {
	unit := strings.TrimLeft(s, "0123456789")
	return unit != s && slices.Contains([]string{"ms", "s", "m", "h"}, unit)
}

// ValidateTopicNames returns every mistake in a topic's and a group's names,
// joined, or nil: a topic that Kafka does not allow or whose ending is
// reserved, a missing group, a delay that has no name, and names longer than
// [MaxTopicBytes], of which only the longest is reported.
func ValidateTopicNames(topic, group string, delays []time.Duration) error {
	var probs problems
	if !isTopic(topic) {
		probs.addf("topic %q: must be letters, digits, '.', '_' and '-', 1 to %d bytes, and not '.' or '..'",
			topic, MaxTopicBytes)
	}
	if IsReservedTopic(topic) {
		probs.addf("topic %q: its ending is reserved for topics made by retries and dead letters", topic)
	}
	if group == "" {
		probs.addf("group of topic %q: must not be empty", topic)
	}
	probs.addAll(Lanes(delays).validate())
	longest := LedgerTopic(DLQTopic(topic, group))
	for _, d := range delays {
		if name := LaneTopic(topic, group, d); len(name) > len(longest) {
			longest = name
		}
	}
	if over := len(longest) - MaxTopicBytes; over > 0 {
		probs.addf("topic %q with group %q: the name %q is %d bytes longer than the %d Kafka allows: shorten topic or group",
			topic, group, longest, over, MaxTopicBytes)
	}
	return errors.Join(probs...)
}

func isTopic(s string) bool {
	if s == "" || len(s) > MaxTopicBytes || s == "." || s == ".." {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '.' && !isNameRune(r) })
}
