package inspect

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/output"
	"github.com/holdfast-kafka/holdfast/dlq"
)

// writer writes dead letters one by one in one of the forms.
type writer interface {
	record(r *dlq.Record, decision dlq.Decision) error
	close() error
}

func newWriter(o *Options) writer {
	out := o.Streams.Out
	switch {
	case o.ValueOnly:
		return &valueWriter{streams: o.Streams}
	case o.Format == output.NDJSON:
		return &lineWriter{out: out, payload: !o.HeadersOnly}
	case o.Format == output.JSON:
		return &listWriter{out: out, payload: !o.HeadersOnly}
	case len(o.IDs) > 0:
		return &wholeWriter{out: out, options: o}
	default:
		return newTableWriter(o.Streams)
	}
}

// valueWriter writes the bytes of the value.
type valueWriter struct{ streams *cli.Streams }

func (w *valueWriter) record(r *dlq.Record, _ dlq.Decision) error {
	if r.Value == nil {
		w.streams.Notef("the value of %s is null", r.ID)
		return nil
	}
	_, err := w.streams.Out.Write(r.Value)
	return err
}

func (w *valueWriter) close() error { return nil }

// lineWriter writes one envelope on each line.
type lineWriter struct {
	out     io.Writer
	payload bool
}

func (w *lineWriter) record(r *dlq.Record, decision dlq.Decision) error {
	return output.WriteLine(w.out, output.NewEnvelope(r, decision, w.payload))
}

func (w *lineWriter) close() error { return nil }

// listWriter writes a JSON list as the records come, so that a long one needs
// no memory.
type listWriter struct {
	out     io.Writer
	payload bool
	written int
}

func (w *listWriter) record(r *dlq.Record, decision dlq.Decision) error {
	text, err := json.MarshalIndent(output.NewEnvelope(r, decision, w.payload), "  ", "  ")
	if err != nil {
		return err
	}
	start := "[\n  "
	if w.written > 0 {
		start = ",\n  "
	}
	w.written++
	_, err = io.WriteString(w.out, start+string(text))
	return err
}

func (w *listWriter) close() error {
	end := "\n]\n"
	if w.written == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(w.out, end)
	return err
}

// tableWriter writes a row for each record, without payloads.
type tableWriter struct{ rows *output.Rows }

func newTableWriter(s *cli.Streams) *tableWriter {
	return &tableWriter{rows: output.NewRows(s.Out, s.OutTTY,
		"ID", "DIED", "STATE", "DISPOSITION", "FINGERPRINT", "ATTEMPTS", "ORIGIN", "GROUP", "ERROR")}
}

func (w *tableWriter) record(r *dlq.Record, decision dlq.Decision) error {
	s, m := &r.Stamp, &r.Stamp.Meta
	origin, disposition := "", string(s.Disposition)
	if m.Origin.Topic != "" {
		origin = dlq.ID{Topic: m.Origin.Topic, Partition: m.Origin.Partition, Offset: m.Origin.Offset}.String()
	}
	if r.Dialect == dlq.DialectForeign {
		disposition = "(" + string(r.Dialect) + ")"
	}
	short := dlq.ID{Partition: r.Partition, Offset: r.Offset}.String()
	w.rows.Add(short, output.Time(r.Timestamp), string(decision.State()), disposition,
		s.Fingerprint, strconv.Itoa(s.Count), origin, m.Group, m.Error)
	return nil
}

func (w *tableWriter) close() error { return w.rows.Close() }
