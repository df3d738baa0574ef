// Package queues has the commands about DLQs as a whole.
package queues

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/connect"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/output"
	"github.com/holdfast-kafka/holdfast/dlq"
)

// ListOptions are the options of dlqctl ls.
type ListOptions struct {
	Streams   *cli.Streams
	Connect   connect.Options
	Format    output.Format
	Pattern   string
	FailEmpty bool
}

// NewList makes dlqctl ls. A nil run runs the command; tests give their own.
func NewList(streams *cli.Streams, run func(context.Context, *ListOptions) error) *cobra.Command {
	o := &ListOptions{Streams: streams, Format: output.Table}
	if run == nil {
		run = List
	}
	cmd := &cobra.Command{
		Use:   "ls [PATTERN]",
		Short: "List the DLQs",
		Long: "List the DLQs with how many dead letters they hold and how many of those are\n" +
			"open. Both are upper bounds: offsets without a record count too.\n\n" +
			"PATTERN is a topic name with * and ?. Without it every topic is listed that is\n" +
			"named like a DLQ of Holdfast.",
		Example: "  dlqctl ls\n  dlqctl ls 'payments.*'",
		Args:    cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Pattern = args[0]
			}
			return run(cmd.Context(), o)
		},
	}
	o.Connect.Flags(cmd.Flags())
	cmd.Flags().VarP(&o.Format, "output", "o", "how to write: table (tab-separated in a pipe), json or ndjson")
	cmd.Flags().BoolVar(&o.FailEmpty, "fail-empty", false, "exit with 3 when there is no DLQ")
	return cmd
}

// List writes the DLQs.
func List(ctx context.Context, o *ListOptions) error {
	cluster, err := o.Connect.Open(o.Streams)
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Close() }()
	queues, err := cluster.Queues(ctx, o.Pattern)
	if err != nil {
		return err
	}
	if err := write(o, queues); err != nil {
		return err
	}
	if len(queues) == 0 && o.FailEmpty {
		return cli.Exit(cli.NoMatch)
	}
	return nil
}

// jsonQueue is a DLQ in JSON.
type jsonQueue struct {
	Topic      string `json:"topic"`
	Partitions int    `json:"partitions"`
	Depth      int64  `json:"depth"`
	Open       int64  `json:"open"`
	Oldest     int64  `json:"oldest,omitempty"`
	Source     string `json:"source,omitempty"`
	Group      string `json:"group,omitempty"`
	Run        string `json:"run,omitempty"`
}

func write(o *ListOptions, queues []dlq.Queue) error {
	list := make([]jsonQueue, len(queues))
	for i, q := range queues {
		list[i] = jsonQueue{
			Topic: q.Topic, Partitions: q.Partitions, Depth: q.Depth, Open: q.Open,
			Source: q.Source, Group: q.Group, Run: q.Run,
		}
		if !q.Oldest.IsZero() {
			list[i].Oldest = q.Oldest.UnixMilli()
		}
	}
	switch o.Format {
	case output.JSON:
		return output.WriteJSON(o.Streams.Out, list)
	case output.NDJSON:
		for _, q := range list {
			if err := output.WriteLine(o.Streams.Out, q); err != nil {
				return err
			}
		}
		return nil
	case output.Table:
	}
	return writeTable(o, queues)
}

func writeTable(o *ListOptions, queues []dlq.Queue) error {
	s := o.Streams
	rows := output.NewRows(s.Out, s.OutTTY, "DLQ", "PARTITIONS", "DEPTH", "OPEN", "OLDEST", "SOURCE", "GROUP", "RUN")
	for _, q := range queues {
		oldest := output.Time(q.Oldest)
		if s.OutTTY {
			oldest = age(q.Oldest, s.Now())
		}
		rows.Add(q.Topic, strconv.Itoa(q.Partitions), bound(q.Depth, s.OutTTY), bound(q.Open, s.OutTTY), oldest, q.Source, q.Group, q.Run)
	}
	return rows.Close()
}

// bound marks a number as an upper bound for people; programs get the number.
func bound(n int64, tty bool) string {
	text := strconv.FormatInt(n, 10)
	if tty && n > 0 {
		return "≤" + text
	}
	return text
}

func age(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return output.Age(now.Sub(at))
}
