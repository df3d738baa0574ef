package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// The exit statuses.
const (
	exitOK          = 0
	exitBroken      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(Main(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}

// options are what the flags say.
type options struct {
	brokers     string
	topic       string
	group       string
	payments    int
	paymentsSet bool
	seed        uint64
	consumeOnly bool
	release     int
	serve       bool
	json        bool
	// script is the gateway's, nil for that of the seed.
	script *script
}

// The defaults of the flags.
const (
	paymentsDefault = 2000
	paymentsMax     = 1_000_000
)

const usage = `A payment processor on Holdfast, with a card gateway that fails.

	go run ./examples/payments [flags]

Exit status: 0 all is well; 1 a figure that must be zero is not, or the run
failed; 2 wrong usage; 130 interrupted before the end.

Flags:
`

// parse reads the flags. It returns [flag.ErrHelp] when help was asked for.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("payments", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.brokers, "brokers", "", "a Kafka cluster, `host:port` separated by commas (default: a broker inside this process)")
	flags.StringVar(&o.topic, "topic", "payments", "the payments topic")
	flags.StringVar(&o.group, "group", "billing", "the consumer group")
	flags.IntVar(&o.payments, "payments", paymentsDefault, "how many payments to write; with -consume-only, how many to wait for (default there: until no more come)")
	flags.Uint64Var(&o.seed, "seed", 1, "what decides which payments are written and how the gateway fails")
	flags.BoolVar(&o.consumeOnly, "consume-only", false, "write no payments: handle those that others write, and leave the dead letters alone")
	flags.IntVar(&o.release, "release", 1, "with -consume-only, which release is deployed: 2 knows BRL, and amounts that are text, and a bank that was offline is back")
	flags.BoolVar(&o.serve, "serve", false, "go on until Ctrl-C, so that dlqctl can be tried from another terminal")
	flags.BoolVar(&o.json, "json", false, "print one line of JSON at the end, and no story")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("flags: %w", err)
	}
	flags.Visit(func(f *flag.Flag) { o.paymentsSet = o.paymentsSet || f.Name == "payments" })
	err := o.validate(flags.Args())
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "payments:", err)
	}
	return o, err
}

func (o *options) validate(rest []string) error {
	var errs []error
	if len(rest) > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q", rest[0]))
	}
	if o.payments < 1 || o.payments > paymentsMax {
		errs = append(errs, fmt.Errorf("-payments %d: must be 1 to %d", o.payments, paymentsMax))
	}
	if o.consumeOnly && o.brokers == "" {
		errs = append(errs, errors.New("-consume-only: needs -brokers: nobody else writes to the broker inside this process"))
	}
	if o.release != 1 && (o.release != 2 || !o.consumeOnly) {
		errs = append(errs, fmt.Errorf("-release %d: must be 1, or 2 with -consume-only", o.release))
	}
	if o.topic == "" || o.group == "" {
		errs = append(errs, errors.New("-topic and -group: must not be empty"))
	}
	return errors.Join(errs...)
}

// Main runs the program and returns its exit status. It ends early when ctx
// does.
func Main(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	return run(ctx, stdout, stderr, o)
}

func run(ctx context.Context, stdout, stderr io.Writer, o options) int {
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	teller := newTeller(stdout)
	if o.json {
		teller = newTeller(io.Discard)
	}
	start := time.Now()
	result := tell(ctx, o, teller, log)
	if result.counted {
		result.figures.ElapsedMS = time.Since(start).Milliseconds()
		teller.table(&result.figures)
		teller.verdict(&result.figures)
		teller.printf("%s", result.closing)
		if o.json {
			if err := json.NewEncoder(stdout).Encode(result.figures); err != nil {
				result.err = errors.Join(result.err, err)
			}
		}
	}
	if result.err != nil {
		_, _ = fmt.Fprintln(stderr, "payments:", result.err)
	}
	return result.status()
}

// result is how a story ended.
type result struct {
	figures figures
	// counted: the figures were counted.
	counted     bool
	interrupted bool
	// closing tells how to go on.
	closing string
	// usage: the run was refused for what the flags say.
	usage bool
	err   error
}

func (r *result) status() int {
	switch {
	case r.usage:
		return exitUsage
	case r.interrupted:
		return exitInterrupted
	case r.err != nil || !r.counted || len(r.figures.problems()) > 0:
		return exitBroken
	}
	return exitOK
}
