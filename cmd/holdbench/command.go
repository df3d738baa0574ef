package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"github.com/spf13/cobra"
)

// options are the flags all scenarios share.
type options struct {
	brokers string
	json    bool
	pairs   int
	window  time.Duration
	profile string
	out     io.Writer
	log     io.Writer
}

// scenario is one benchmark.
type scenario struct {
	name, short, long string
	run               func(ctx context.Context, o *options) (any, error)
}

func scenarios() []scenario {
	return []scenario{
		{"noop", "Rate of a handler that does nothing, against bare poll loops", noopHelp, runNoop},
		{"bykey", "Rate of slow handlers ordered by key, against a plain pool of goroutines", byKeyHelp, runByKey},
	}
}

// Main runs a command line and returns the exit status: 0 when the figures
// were measured, 1 when they could not be, 2 for a wrong command line.
func Main(ctx context.Context, args []string, out, log io.Writer) int {
	o := &options{out: out, log: log}
	root := &cobra.Command{
		Use: "holdbench", Short: "Measure Holdfast as ratios to the bare Kafka client",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(log)
	flags := root.PersistentFlags()
	flags.StringVar(&o.brokers, "brokers", "", "bootstrap addresses; without it Apache Kafka is started as a process (needs Java 17 and Maven)")
	flags.BoolVar(&o.json, "json", false, "print one line of JSON")
	flags.IntVar(&o.pairs, "pairs", 7, "interleaved measurements of each side")
	flags.DurationVar(&o.window, "window", 5*time.Second, "length of one measurement, after a warm-up")
	flags.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the whole run to this file")
	started := false
	for _, s := range scenarios() {
		root.AddCommand(&cobra.Command{
			Use: s.name, Short: s.short, Long: s.long, Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				started = true
				return o.measure(cmd.Context(), s)
			},
		})
	}
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(log, "holdbench: interrupted")
		return 1
	}
	fmt.Fprintln(log, "holdbench:", err)
	if !started {
		return 2
	}
	return 1
}

func (o *options) measure(ctx context.Context, s scenario) error {
	if o.pairs < 1 || o.window < 100*time.Millisecond {
		return errors.New("pairs must be at least 1 and window at least 100ms")
	}
	stop, err := o.broker(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if o.profile != "" {
		file, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	figures, err := s.run(ctx, o)
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(o.out).Encode(figures)
	}
	_, err = fmt.Fprint(o.out, figures)
	return err
}

func (o *options) progressf(format string, args ...any) {
	fmt.Fprintf(o.log, format+"\n", args...)
}
