// Command holdbench measures Holdfast against the Kafka client it is built on,
// as ratios within one run: absolute rates say more about the machine than
// about the product.
//
// Run holdbench without arguments for its scenarios.
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
