package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/output"
	"github.com/holdfast-kafka/holdfast/dlq"
	"github.com/holdfast-kafka/holdfast/retry"
)

// wholeWriter writes everything about a record for people.
type wholeWriter struct {
	out     io.Writer
	options *Options
	written int
}

func (w *wholeWriter) record(r *dlq.Record, decision dlq.Decision) error {
	var b strings.Builder
	if w.written > 0 {
		b.WriteString("\n")
	}
	w.written++
	writeSummary(&b, r, decision)
	writeLineage(&b, r, decision)
	writeHeaders(&b, r)
	if !w.options.HeadersOnly {
		fmt.Fprintf(&b, "\nKey: %s\n", shown(r.Key))
		w.writeValue(&b, r.Value)
	}
	if stack := r.Stamp.Meta.Stack; stack != "" {
		fmt.Fprintf(&b, "\nStack:\n%s\n", indent(output.Block(strings.TrimRight(stack, "\n"))))
	}
	_, err := io.WriteString(w.out, b.String())
	return err
}

func (w *wholeWriter) close() error { return nil }

// field is a line of the summary; empty ones are left out.
type field struct{ name, value string }

func writeSummary(b *strings.Builder, r *dlq.Record, decision dlq.Decision) {
	s, m := &r.Stamp, &r.Stamp.Meta
	fields := []field{
		{"Record", r.ID.String()},
		{"State", string(decision.State())},
		{"Died", output.Time(r.Timestamp)},
	}
	if r.Dialect == dlq.DialectForeign {
		fields = append(fields, field{"Written by", "another system; it has no default target"})
	} else {
		fields = append(fields,
			field{"Disposition", string(s.Disposition)},
			field{"Fingerprint", s.Fingerprint},
			field{"Error", strings.TrimSpace(m.ErrorType + " " + m.Error)},
			field{"Attempts", strconv.Itoa(s.Count)},
			field{"First failure", output.MilliTime(m.First)},
			field{"Last failure", output.MilliTime(m.Last)},
			field{"Origin", s.OriginID},
			field{"Group", m.Group},
			field{"Client", m.Client},
			field{"Replays", strconv.Itoa(m.ReplayCount())},
			field{"Problems", r.Problems.String()},
		)
	}
	for _, f := range fields {
		if f.value != "" {
			fmt.Fprintf(b, "%-14s %s\n", f.name+":", output.Line(f.value))
		}
	}
}

func writeLineage(b *strings.Builder, r *dlq.Record, decision dlq.Decision) {
	events := output.Lineage(r, decision)
	if len(events) == 0 {
		return
	}
	b.WriteString("\nLineage:\n")
	for _, e := range events {
		fmt.Fprintf(b, "  %-24s  %-15s  %s\n", output.MilliTime(e.At), e.What, output.Line(e.Text))
	}
}

func writeHeaders(b *strings.Builder, r *dlq.Record) {
	if len(r.Headers) == 0 {
		return
	}
	b.WriteString("\nHeaders:\n")
	for _, h := range r.Headers {
		if h.Key == retry.HeaderPacked {
			fmt.Fprintf(b, "  %s: (%d bytes, shown above)\n", h.Key, len(h.Value))
			continue
		}
		fmt.Fprintf(b, "  %s: %s\n", output.Line(h.Key), shown(h.Value))
	}
}

func (w *wholeWriter) writeValue(b *strings.Builder, value []byte) {
	var pretty bytes.Buffer
	switch {
	case len(value) == 0:
		fmt.Fprintf(b, "\nValue: %s\n", shown(value))
	case w.options.Raw:
		fmt.Fprintf(b, "\nValue (%d bytes):\n%s\n", len(value), value)
	case json.Indent(&pretty, value, "  ", "  ") == nil:
		fmt.Fprintf(b, "\nValue (%d bytes, JSON):\n  %s\n", len(value), output.Block(pretty.String()))
	default:
		fmt.Fprintf(b, "\nValue (%d bytes%s):\n%s\n", len(value), kind(value), indent(output.Block(string(value))))
	}
}

// shown tells null, empty and bytes apart, on one line.
func shown(value []byte) string {
	switch {
	case value == nil:
		return "(null)"
	case len(value) == 0:
		return "(empty)"
	default:
		return output.Line(string(value))
	}
}

func kind(value []byte) string {
	if utf8.Valid(value) {
		return ""
	}
	return ", not UTF-8"
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}
