// Package selector turns the flags that select dead letters into a filter.
package selector

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-kafka/holdfast/dlq"
	"github.com/holdfast-kafka/holdfast/retry"
)

// Options are the selecting flags as they were given.
type Options struct {
	Partitions   []int32
	From, To     string
	Since, Until string
	Key          string
	Headers      []string
	Dispositions []string
	Fingerprint  string
	Group        string
	Source       string
	States       []string

	flags *pflag.FlagSet
}

// Flags adds the selecting flags.
func (o *Options) Flags(flags *pflag.FlagSet) {
	o.flags = flags
	flags.Int32SliceVarP(&o.Partitions, "partition", "p", nil, "partitions of the DLQ")
	flags.StringVar(&o.From, "from", "", "first offset")
	flags.StringVar(&o.To, "to", "", "last offset")
	flags.StringVar(&o.Since, "since", "", "died at or after: RFC 3339, an age such as 2h or 7d, or @milliseconds")
	flags.StringVar(&o.Until, "until", "", "died before: RFC 3339, an age such as 2h or 7d, or @milliseconds")
	flags.StringVar(&o.Key, "key", "", "key equals")
	flags.StringArrayVar(&o.Headers, "header", nil, "header: name, name=value or name~expression; all must match")
	flags.StringSliceVar(&o.Dispositions, "disposition", nil, "why it is dead: poison, exhausted, decode, panic, timeout, expired, unreadable")
	flags.StringVar(&o.Fingerprint, "fingerprint", "", "fingerprint of the cause, or the beginning of one")
	flags.StringVar(&o.Group, "group", "", "group that gave up")
	flags.StringVar(&o.Source, "source", "", "topic the record came from")
	flags.StringSliceVar(&o.States, "state", nil, "what was decided: open, replayed, resolved, quarantined")
}

// Filter makes the filter. It reports every mistake at once.
func (o *Options) Filter(ids []string, now time.Time) (dlq.Filter, error) {
	f := dlq.Filter{
		Partitions: o.Partitions, Fingerprint: o.Fingerprint, Group: o.Group, Source: o.Source,
	}
	if o.flags.Changed("key") {
		f.Key = []byte(o.Key)
	}
	var problems []error
	note := func(err error) { problems = append(problems, err) }
	var err error
	f.IDs, err = each(ids, dlq.ParseID)
	note(err)
	for _, p := range o.Partitions {
		if p < 0 {
			note(fmt.Errorf("partition %d is negative", p))
		}
	}
	note(offsets(&f, o.From, o.To))
	f.Since, err = instant("since", o.Since, now)
	note(err)
	f.Until, err = instant("until", o.Until, now)
	note(err)
	f.Headers, err = each(o.Headers, dlq.ParseHeaderMatch)
	note(err)
	f.Dispositions, err = each(o.Dispositions, disposition)
	note(err)
	f.States, err = each(o.States, dlq.ParseState)
	note(err)
	return f, errors.Join(problems...)
}

// each parses every text and reports every mistake.
func each[T any](texts []string, parse func(string) (T, error)) ([]T, error) {
	var list []T
	var problems []error
	for _, text := range texts {
		v, err := parse(text)
		problems = append(problems, err)
		list = append(list, v)
	}
	return list, errors.Join(problems...)
}

func disposition(text string) (retry.Disposition, error) {
	d := retry.Disposition(text)
	if !d.Valid() {
		return "", fmt.Errorf("disposition %q is none", text)
	}
	return d, nil
}

func offsets(f *dlq.Filter, from, to string) error {
	var problems []error
	parse := func(name, text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			problems = append(problems, fmt.Errorf("%s %q is no offset", name, text))
		}
		return n
	}
	if from != "" {
		f.From = parse("from", from)
	}
	if to != "" {
		n := parse("to", to)
		f.To = &n
	}
	return errors.Join(problems...)
}

// instant reads a point in time: RFC 3339, an age, or @ Unix milliseconds.
func instant(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ms, ok := strings.CutPrefix(text, "@"); ok {
		n, err := strconv.ParseInt(ms, 10, 64)
		if err != nil || n < 0 {
			return time.Time{}, fmt.Errorf("%s %q: want @ and Unix milliseconds", name, text)
		}
		return time.UnixMilli(n), nil
	}
	if age, ok := parseAge(text); ok {
		if age < 0 {
			return time.Time{}, fmt.Errorf("%s %q: an age is not negative", name, text)
		}
		return now.Add(-age), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s %q: want RFC 3339, an age such as 2h or 7d, or @milliseconds", name, text)
	}
	return at, nil
}

// parseAge reads a duration, or whole days such as 7d.
func parseAge(text string) (age time.Duration, ok bool) {
	const day = 24 * time.Hour
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * day, true
		}
	}
	age, err := time.ParseDuration(text)
	return age, err == nil
}
