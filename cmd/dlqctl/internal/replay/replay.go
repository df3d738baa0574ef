// Package replay has the command that sends dead letters back to be handled.
package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/connect"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/output"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/selector"
	"github.com/holdfast-kafka/holdfast/dlq"
)

// DefaultRate is a pace at which a consumer that has just recovered is not
// knocked over again.
const DefaultRate = "50/s"

// unlimited is the rate for as fast as it goes.
const unlimited = "max"

// Options are the options of dlqctl replay.
type Options struct {
	Streams         *cli.Streams
	Connect         connect.Options
	Select          selector.Options
	Format          output.Format
	DLQ             string
	IDs             []string
	Yes             bool
	DryRun          bool
	Limit           int64
	Rate            string
	Batch           int
	ToSource        bool
	MaxReplays      int
	AllowTombstones bool
	Takeover        bool
	Reason          string
	FailEmpty       bool
}

// New makes dlqctl replay. A nil run runs the command; tests give their own.
func New(streams *cli.Streams, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{Streams: streams, Format: output.Table}
	if run == nil {
		run = Run
	}
	cmd := &cobra.Command{
		Use:   "replay DLQ [ID...]",
		Short: "Send dead letters back to be handled",
		Long: "Send the dead letters that match all given flags, or those with the given IDs,\n" +
			"back to be handled: to the replay lane of the group that gave up on them, which\n" +
			"no other group reads.\n\n" +
			"The plan is shown first. It is carried out with --yes or after a confirmation;\n" +
			"without a terminal and without --yes nothing is sent.\n\n" +
			"Each record is appended exactly once, also if dlqctl is killed: run it again.\n" +
			"What was replayed already is skipped.",
		Example: "  dlqctl replay payments.billing.dlq\n" +
			"  dlqctl replay payments.billing.dlq --fingerprint v1:5d41 --limit 1 --yes\n" +
			"  dlqctl replay payments.billing.dlq 3/10422 --yes --reason 'gateway is back'",
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.DLQ, o.IDs = args[0], args[1:]
			if o.Yes && o.DryRun {
				return cli.Fail(cli.Usage, "--yes and --dry-run exclude each other")
			}
			return run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	o.Connect.Flags(flags)
	o.Select.Flags(flags)
	flags.VarP(&o.Format, "output", "o", "how to write the plan and the result: table, json or ndjson")
	flags.BoolVarP(&o.Yes, "yes", "y", false, "carry the plan out without asking")
	flags.BoolVar(&o.DryRun, "dry-run", false, "show the plan and stop, also on a terminal")
	flags.Int64Var(&o.Limit, "limit", 0, "send at most so many records; 0 is no limit")
	flags.StringVar(&o.Rate, "rate", DefaultRate, "records per second, or "+unlimited)
	flags.IntVar(&o.Batch, "batch", dlq.DefaultBatch, "records in one transaction")
	flags.BoolVar(&o.ToSource, "to-source", false, "send to the topic the records came from; every group that reads it gets them")
	flags.IntVar(&o.MaxReplays, "max-replays", dlq.DefaultMaxReplays, "skip records that were replayed so often already")
	flags.BoolVar(&o.AllowTombstones, "allow-tombstones", false, "also send records whose value is null")
	flags.BoolVar(&o.Takeover, "takeover", false, "stop another run that works on the DLQ")
	flags.StringVar(&o.Reason, "reason", "", "why; it stands in the ledger")
	flags.BoolVar(&o.FailEmpty, "fail-empty", false, "exit with 3 when nothing matches")
	return cmd
}

// Run plans, shows the plan, and carries it out if it is confirmed.
func Run(ctx context.Context, o *Options) error {
	request, options, err := o.requests()
	if err != nil {
		return &cli.Error{Code: cli.Usage, Err: err}
	}
	cluster, err := o.Connect.Open(o.Streams)
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Close() }()
	plan, err := cluster.Plan(ctx, request)
	if err != nil {
		return err
	}
	if err := o.writePlan(plan); err != nil {
		return err
	}
	if done, err := o.decide(ctx, plan); done || err != nil {
		return err
	}
	progress := newProgress(o.Streams)
	options.Progress = progress.tell
	result, err := cluster.Replay(ctx, plan, options)
	progress.end()
	if written := o.writeResult(plan, &result); err == nil {
		err = written
	}
	return o.conclude(ctx, plan, &result, err)
}

// requests turns the flags into what the library asks for.
func (o *Options) requests() (dlq.PlanRequest, dlq.ReplayOptions, error) {
	var problems []error
	filter, err := o.Select.Filter(o.IDs, o.Streams.Now())
	problems = append(problems, err)
	rate, err := parseRate(o.Rate)
	problems = append(problems, err)
	request := dlq.PlanRequest{
		DLQ: o.DLQ, Filter: filter, ToSource: o.ToSource, MaxReplays: o.MaxReplays,
		AllowTombstones: o.AllowTombstones, Limit: o.Limit,
	}
	if o.MaxReplays < 1 {
		problems = append(problems, fmt.Errorf("--max-replays %d: want at least 1", o.MaxReplays))
	}
	options := dlq.ReplayOptions{
		By: whoAmI(o.Streams), Reason: o.Reason, Rate: rate, Batch: o.Batch, Takeover: o.Takeover,
	}
	problems = append(problems, request.Validate(), options.Validate())
	if o.Batch == 0 {
		problems = append(problems, errors.New("--batch 0: want at least 1"))
	}
	return request, options, errors.Join(problems...)
}

// parseRate reads records per second: 50, 50/s, 30/m, or max.
func parseRate(text string) (float64, error) {
	if text == unlimited {
		return 0, nil
	}
	number, seconds := text, 1.0
	if rest, ok := strings.CutSuffix(text, "/s"); ok {
		number = rest
	} else if rest, ok := strings.CutSuffix(text, "/m"); ok {
		number, seconds = rest, 60
	}
	rate, err := strconv.ParseFloat(number, 64)
	if err != nil || !(rate > 0 && rate <= 1e9) {
		return 0, fmt.Errorf("--rate %q: want records per second such as 50/s, per minute such as 30/m, or %s", text, unlimited)
	}
	return rate / seconds, nil
}
