// Package inspect has the command that shows dead letters.
package inspect

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/connect"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/output"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/selector"
	"github.com/holdfast-kafka/holdfast/dlq"
)

// Options are the options of dlqctl inspect.
type Options struct {
	Streams     *cli.Streams
	Connect     connect.Options
	Select      selector.Options
	Format      output.Format
	DLQ         string
	IDs         []string
	Limit       int64
	HeadersOnly bool
	Raw         bool
	ValueOnly   bool
	FailEmpty   bool
}

// New makes dlqctl inspect. A nil run runs the command; tests give their own.
func New(streams *cli.Streams, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{Streams: streams, Format: output.Table}
	if run == nil {
		run = Run
	}
	cmd := &cobra.Command{
		Use:     "inspect DLQ [ID...]",
		Aliases: []string{"show"},
		Short:   "List the dead letters of a DLQ, or show some of them whole",
		Long: "List the dead letters of a DLQ that match all given flags. With IDs, which are\n" +
			"partition/offset, show those whole: why and when each failed, what was decided,\n" +
			"headers, value and stack.\n\n" +
			"Reading joins no group and commits nothing. Payloads are not listed in tables.",
		Example: "  dlqctl inspect payments.billing.dlq --since 2h --disposition panic\n" +
			"  dlqctl inspect payments.billing.dlq 3/10422\n" +
			"  dlqctl inspect payments.billing.dlq 3/10422 --value-only > value.bin\n" +
			"  dlqctl inspect payments.billing.dlq -o ndjson | jq .failure.text",
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.DLQ, o.IDs = args[0], args[1:]
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	o.Connect.Flags(flags)
	o.Select.Flags(flags)
	flags.VarP(&o.Format, "output", "o", "how to write: table (tab-separated in a pipe), json or ndjson")
	flags.Int64Var(&o.Limit, "limit", 0, "show at most so many records; 0 is no limit")
	flags.BoolVar(&o.HeadersOnly, "headers-only", false, "leave keys and values out")
	flags.BoolVar(&o.Raw, "raw", false, "write the value as it is, neither decoded nor escaped")
	flags.BoolVar(&o.ValueOnly, "value-only", false, "write nothing but the bytes of the value; with one ID")
	flags.BoolVar(&o.FailEmpty, "fail-empty", false, "exit with 3 when nothing matches")
	return cmd
}

func (o *Options) validate() error {
	switch {
	case o.Limit < 0:
		return cli.Fail(cli.Usage, "--limit %d is negative", o.Limit)
	case o.ValueOnly && len(o.IDs) != 1:
		return cli.Fail(cli.Usage, "--value-only needs one ID")
	case o.Raw && len(o.IDs) == 0:
		return cli.Fail(cli.Usage, "--raw needs an ID")
	case o.ValueOnly && o.HeadersOnly:
		return cli.Fail(cli.Usage, "--value-only and --headers-only exclude each other")
	default:
		return nil
	}
}

// Run shows the dead letters.
func Run(ctx context.Context, o *Options) error {
	filter, err := o.Select.Filter(o.IDs, o.Streams.Now())
	if err != nil {
		return &cli.Error{Code: cli.Usage, Err: err}
	}
	for _, id := range filter.IDs {
		if id.Topic != "" && id.Topic != o.DLQ {
			return cli.Fail(cli.Usage, "record %s is not of %s", id, o.DLQ)
		}
	}
	cluster, err := o.Connect.Open(o.Streams)
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Close() }()
	ledger, err := cluster.Ledger(ctx, o.DLQ)
	if err != nil {
		return err
	}
	if ledger.Unreadable > 0 {
		o.Streams.Notef("warning: %d entries of the ledger cannot be read: states may be out of date", ledger.Unreadable)
	}
	shown, err := show(ctx, o, cluster, ledger, &filter)
	if err != nil {
		return err
	}
	return o.conclude(shown)
}

// show writes the selected records as they are read and returns how many.
func show(ctx context.Context, o *Options, cluster *dlq.Cluster, ledger *dlq.Ledger, filter *dlq.Filter) (int64, error) {
	w := newWriter(o)
	var shown int64
	result, err := cluster.Scan(ctx, dlq.ScanRequest{Topic: o.DLQ, Filter: filter}, func(r *dlq.Record) error {
		decision := ledger.Decision(r.Partition, r.Offset)
		if !filter.Match(r, decision.State()) {
			return nil
		}
		if err := w.record(r, decision); err != nil {
			return err
		}
		if shown++; shown == o.Limit {
			return dlq.ErrStop
		}
		return nil
	})
	if closed := w.close(); err == nil {
		err = closed
	}
	if err == nil && len(o.IDs) == 0 {
		o.note(result, shown)
	}
	return shown, err
}

func (o *Options) note(result dlq.ScanResult, shown int64) {
	truncated := ""
	if result.Stopped {
		truncated = ", truncated by --limit"
	}
	o.Streams.Notef("scanned %d, matched %d%s", result.Scanned, shown, truncated)
}

// conclude judges whether what was asked for was found.
func (o *Options) conclude(shown int64) error {
	switch {
	case shown == 0 && o.FailEmpty:
		return cli.Exit(cli.NoMatch)
	case shown < int64(len(o.IDs)) && o.Limit == 0:
		return cli.Fail(cli.Failure, "%d of %d records are not in %s or do not match: they may have expired",
			int64(len(o.IDs))-shown, len(o.IDs), o.DLQ)
	default:
		return nil
	}
}
