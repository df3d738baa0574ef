package replay

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
	"github.com/holdfast-kafka/holdfast/dlq"
)

func streams() *cli.Streams {
	return &cli.Streams{Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }, Now: time.Now}
}

// parse runs a command line and returns the options it came to.
func parse(t *testing.T, args ...string) (*Options, error) {
	t.Helper()
	var got *Options
	cmd := New(streams(), func(_ context.Context, o *Options) error {
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
	o, err := parse(t, "d", "0/1", "-y", "--to-source", "--limit", "5", "--rate", "30/m", "--max-replays", "2",
		"--allow-tombstones", "--takeover", "--reason", "r", "--batch", "7", "--state", "open", "-p", "1,2")
	if err != nil {
		t.Fatal(err)
	}
	request, options, err := o.requests()
	if err != nil {
		t.Fatal(err)
	}
	if request.DLQ != "d" || len(request.Filter.IDs) != 1 || !request.ToSource || request.Limit != 5 ||
		request.MaxReplays != 2 || !request.AllowTombstones || len(request.Filter.Partitions) != 2 || !o.Yes {
		t.Errorf("request %+v", request)
	}
	if options.Rate != 0.5 || options.Batch != 7 || !options.Takeover || options.Reason != "r" || options.By == "" {
		t.Errorf("options %+v", options)
	}
}

func TestFlagDefaults(t *testing.T) {
	t.Parallel()
	o, err := parse(t, "d")
	if err != nil {
		t.Fatal(err)
	}
	request, options, err := o.requests()
	if err != nil || options.Rate != 50 || options.Batch != dlq.DefaultBatch || request.MaxReplays != dlq.DefaultMaxReplays {
		t.Errorf("request %+v, options %+v, %v", request, options, err)
	}
}

func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"50/s": 50, "0.5": 0.5, "30/m": 0.5, "max": 0} {
		if got, err := parseRate(text); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "fast", "NaN", "Inf", "1/h", "1e99"} {
		if got, err := parseRate(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}
