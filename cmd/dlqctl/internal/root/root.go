// Package root puts the commands of dlqctl together.
package root

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/inspect"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/queues"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/replay"
)

// Main runs dlqctl and returns its exit code.
func Main(streams *cli.Streams, args []string) cli.Code {
	ctx, stop := cli.WithSignals(context.Background())
	defer stop()
	return Execute(ctx, streams, args)
}

// Execute runs one command line.
func Execute(ctx context.Context, streams *cli.Streams, args []string) cli.Code {
	cmd := New(streams) //nolint:contextcheck // a command gets its context when it runs
	cmd.SetArgs(args)
	ran, err := cmd.ExecuteContextC(ctx)
	if err == nil {
		return cli.OK
	}
	code := cli.CodeOf(err)
	if s, ok := errors.AsType[*cli.SignalError](context.Cause(ctx)); ok && code != cli.Usage {
		code = s.Code() // whatever ended, it ended because of the signal
	}
	if e, ok := errors.AsType[*cli.Error](err); !ok || !e.Quiet {
		streams.Notef("dlqctl: %v", err)
	}
	if code == cli.Unreachable {
		streams.Notef("Are the brokers right and up, and is security.protocol the listener's? -v tells what the Kafka client has to say.")
	}
	if code == cli.Usage {
		streams.Notef("See '%s --help'.", ran.CommandPath())
	}
	return code
}

// New makes the command tree.
func New(streams *cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlqctl",
		Short: "Inspect dead letters and replay them",
		Long: "dlqctl inspects the records that consumers gave up on, and sends them back to\n" +
			"be handled, each exactly once.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Fail(cli.Usage, "unknown command %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetIn(streams.In)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.Err)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &cli.Error{Code: cli.Usage, Err: err} })
	cmd.AddCommand(
		inspect.New(streams, nil),
		queues.NewList(streams, nil),
		replay.New(streams, nil),
		newVersion(streams),
		newExitCodes(),
	)
	return cmd
}
