package inspect

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
)

func parse(t *testing.T, args ...string) (*Options, error) {
	t.Helper()
	var got *Options
	streams := &cli.Streams{Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }, Now: time.Now}
	cmd := New(streams, func(_ context.Context, o *Options) error {
		got = o
		return nil
	})
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	return got, cmd.ExecuteContext(t.Context())
}

func TestFlags(t *testing.T) {
	t.Parallel()
	o, err := parse(t, "d", "1/2", "-o", "ndjson", "--since", "7d", "--key", "", "--header", "a=b,c", "--disposition", "panic")
	if err != nil {
		t.Fatal(err)
	}
	now := time.UnixMilli(1790000000000)
	f, err := o.Select.Filter(o.IDs, now)
	if err != nil {
		t.Fatal(err)
	}
	if o.DLQ != "d" || len(f.IDs) != 1 || o.Format != "ndjson" || !f.Since.Equal(now.Add(-7*24*time.Hour)) {
		t.Errorf("options %+v, filter %+v", o, f)
	}
	if f.Key == nil || len(f.Headers) != 1 || *f.Headers[0].Value != "b,c" {
		t.Errorf("an empty key is a key, a comma is part of a header: %+v", f)
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{},
		{"d", "--value-only"},
		{"d", "0/1", "0/2", "--value-only"},
		{"d", "--raw"},
		{"d", "--limit", "-1"},
		{"d", "0/1", "--value-only", "--headers-only"},
	} {
		if o, err := parse(t, args...); cli.CodeOf(err) != cli.Usage || o != nil {
			t.Errorf("%v: %v, want a usage error", args, err)
		}
	}
}
