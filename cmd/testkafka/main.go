// Command testkafka keeps a real Apache Kafka running on this machine for as
// long as it runs itself: without Docker, and with nothing kept afterwards.
// It is for trying things out and for running tests against, never for data
// that matters.
//
// Run testkafka --help for its flags.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
