package output

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Format is how a command writes its data.
type Format string

// The formats. Table becomes tab-separated text where the output is no
// terminal.
const (
	Table  Format = "table"
	JSON   Format = "json"
	NDJSON Format = "ndjson"
)

// String returns the format's name.
func (f *Format) String() string { return string(*f) }

// Set reads a format's name.
func (f *Format) Set(text string) error {
	switch v := Format(text); v {
	case Table, JSON, NDJSON:
		*f = v
		return nil
	default:
		return fmt.Errorf("%q: want table, json or ndjson", text)
	}
}

// Type names the type in the help.
func (f *Format) Type() string { return "table|json|ndjson" }

// WriteJSON writes one value as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// WriteLine writes one value as JSON on one line.
func WriteLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Time writes a time as it stands everywhere in dlqctl: UTC, milliseconds.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// MilliTime writes a time in Unix milliseconds, "" for zero.
func MilliTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return Time(time.UnixMilli(ms))
}

// Age writes how long something is ago, in the largest unit that fits.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%dd", d/day)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	default:
		return fmt.Sprintf("%ds", max(d, 0)/time.Second)
	}
}
