package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/holdfast-kafka/holdfast/internal/testkafka"
)

// What the command exits with.
const (
	exitStopped     = 0 // asked to stop once it ran
	exitFailed      = 1 // Kafka did not start, or ended by itself
	exitUsage       = 2
	exitInterrupted = 130 // asked to stop before it ran
)

const help = `Keeps a real Apache Kafka %s running on 127.0.0.1 until Ctrl-C.
Needs Java 17 or later and Maven. Nothing of what it held is kept.

Usage:
  testkafka [flags]

Flags:
  --port n        the port of the first broker; 0 picks a free one (9092)
  --topics list   topics to create, name:partitions separated by commas
  --brokers n     1 or 3; the second and third get free ports (1)
  --help          this text

Output:
  The brokers' addresses on the first line, then the paths of their logs.

Exit codes:
  0 stopped by Ctrl-C or SIGTERM   1 not started, or Kafka died
  2 wrong usage                    130 interrupted while starting

Examples:
  go run ./cmd/testkafka --topics payments:6,refunds:3
  go run ./cmd/testkafka --brokers 3 --port 19092
  HOLDFAST_TEST_KAFKA=127.0.0.1:9092 go test ./...
`

// command is what the flags ask for.
type command struct {
	options testkafka.Options
	topics  []topic
}

type topic struct {
	name       string
	partitions int
}

// errHelp is parse's answer to --help.
var errHelp = flag.ErrHelp

// Main runs the command until the context ends and returns its exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args)
	switch {
	case errors.Is(err, errHelp):
		fmt.Fprintf(stdout, help, testkafka.Version)
		return exitStopped
	case err != nil:
		fmt.Fprintf(stderr, "testkafka: %v\nRun testkafka --help for usage.\n", err)
		return exitUsage
	}
	c.options.Log = stderr
	started, err := c.run(ctx, stdout, stderr)
	switch {
	case !started && ctx.Err() != nil:
		fmt.Fprintln(stderr, "testkafka: interrupted")
		return exitInterrupted
	case err != nil:
		fmt.Fprintf(stderr, "testkafka: %v\n", err)
		return exitFailed
	}
	return exitStopped
}

// run keeps Kafka running until the context ends or a broker dies.
func (c command) run(ctx context.Context, stdout, stderr io.Writer) (started bool, err error) {
	cluster, err := testkafka.Start(ctx, c.options)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	for _, t := range c.topics {
		if err := testkafka.CreateTopic(ctx, cluster.Addr(), t.name, t.partitions); err != nil {
			return false, err
		}
	}
	fmt.Fprintln(stdout, cluster.Addr())
	for _, log := range cluster.Logs() {
		fmt.Fprintln(stdout, log)
	}
	fmt.Fprintln(stderr, "Apache Kafka is running; Ctrl-C stops it")
	return true, cluster.Wait(ctx)
}

// parse reads the flags.
func parse(args []string) (command, error) {
	var c command
	var topics string
	flags := flag.NewFlagSet("testkafka", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&c.options.Port, "port", 9092, "")
	flags.IntVar(&c.options.Brokers, "brokers", 1, "")
	flags.StringVar(&topics, "topics", "", "")
	if err := flags.Parse(args); err != nil {
		return command{}, err //nolint:wrapcheck // it names the flag
	}
	var problems []error
	if flags.NArg() > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	if c.options.Port < 0 || c.options.Port > 65535 {
		problems = append(problems, fmt.Errorf("--port is %d, want 0 to 65535", c.options.Port))
	}
	if c.options.Brokers != 1 && c.options.Brokers != 3 {
		problems = append(problems, fmt.Errorf("--brokers is %d, want 1 or 3", c.options.Brokers))
	}
	var err error
	if c.topics, err = parseTopics(topics); err != nil {
		problems = append(problems, err)
	}
	return c, errors.Join(problems...)
}

// maxPartitions is more than one small broker serves well.
const maxPartitions = 1000

// parseTopics reads name:partitions,name:partitions.
func parseTopics(list string) ([]topic, error) {
	if list == "" {
		return nil, nil
	}
	var topics []topic
	var problems []error
	for part := range strings.SplitSeq(list, ",") {
		name, count, found := strings.Cut(part, ":")
		partitions, err := strconv.Atoi(count)
		if !found || name == "" || err != nil || partitions < 1 || partitions > maxPartitions {
			problems = append(problems, fmt.Errorf("--topics has %q, want name:partitions with 1 to %d", part, maxPartitions))
			continue
		}
		topics = append(topics, topic{name: name, partitions: partitions})
	}
	return topics, errors.Join(problems...)
}
