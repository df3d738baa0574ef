package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
	"github.com/holdfast-kafka/holdfast/dlq"
)

// decide finds out whether the plan is to be carried out. If it is not, done
// is true and err is the command's.
func (o *Options) decide(ctx context.Context, plan *dlq.Plan) (done bool, err error) {
	switch {
	case plan.Selected == 0 && o.FailEmpty:
		return true, cli.Exit(cli.NoMatch)
	case len(plan.Items) == 0 || o.DryRun || !o.Yes && !o.Streams.CanPrompt():
		return true, o.stop(plan)
	case plan.Lease != nil && !o.Takeover:
		return true, fmt.Errorf("%w; 20 s after its last sign of life it counts as dead, --takeover stops it now", plan.Lease)
	case o.Yes:
		return false, nil
	default:
		return o.confirm(ctx, plan)
	}
}

// confirm has the user decide, like decide.
func (o *Options) confirm(ctx context.Context, plan *dlq.Plan) (done bool, err error) {
	answer, err := o.ask(ctx, plan)
	if err != nil {
		return true, err
	}
	if answer != "y" && answer != "yes" {
		return true, cli.Fail(cli.Declined, "not confirmed: nothing was sent")
	}
	return false, nil
}

// stop ends a dry run.
func (o *Options) stop(plan *dlq.Plan) error {
	if len(plan.Items) > 0 {
		o.Streams.Notef("dry run: nothing was sent; --yes sends")
	}
	if blocked := plan.Skips.Blocked(); blocked > 0 {
		return cli.Fail(cli.Refused, "%d selected records are blocked by a guard", blocked)
	}
	return nil
}

// ask waits for an answer, or for the context.
func (o *Options) ask(ctx context.Context, plan *dlq.Plan) (string, error) {
	_, _ = fmt.Fprintf(o.Streams.Err, "Send %d records to %s? [y/N] ", len(plan.Items), targetNames(plan))
	type reply struct {
		text string
		err  error
	}
	replies := make(chan reply, 1)
	go func() { // ends with the answer, or with the process
		text, err := bufio.NewReader(o.Streams.In).ReadString('\n')
		replies <- reply{text, err}
	}()
	select {
	case r := <-replies:
		if r.err != nil && r.text == "" {
			return "", nil // the input ended without an answer
		}
		return strings.ToLower(strings.TrimSpace(r.text)), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func targetNames(plan *dlq.Plan) string {
	var names []string
	for _, t := range plan.Targets {
		if t.Records > 0 {
			names = append(names, t.Topic)
		}
	}
	return strings.Join(names, ", ")
}

// conclude turns the result into the command's.
func (o *Options) conclude(ctx context.Context, plan *dlq.Plan, result *dlq.RunResult, err error) error {
	if err != nil {
		if result.Left > 0 {
			o.resume(result)
		}
		return err
	}
	if result.Interrupted {
		o.resume(result)
		if s, ok := errors.AsType[*cli.SignalError](context.Cause(ctx)); ok {
			return cli.Exit(s.Code())
		}
		return cli.Exit(cli.Interrupted)
	}
	if missed := plan.Skips.Blocked() + result.Skips.Blocked(); missed > 0 {
		return cli.Fail(cli.Partial, "%d selected records were not sent", missed)
	}
	return nil
}

// resume tells how to go on. The ledger knows what was sent, so the same
// command does it.
func (o *Options) resume(result *dlq.RunResult) {
	o.Streams.Notef("%d records are left; the same command goes on from there", result.Left)
}

// whoAmI names the user and the machine for the ledger.
func whoAmI(streams *cli.Streams) string {
	name := streams.Env("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		return name + "@" + host
	}
	return name
}
