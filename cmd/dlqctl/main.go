// Command dlqctl inspects dead letters and replays them. See dlqctl help.
package main

import (
	"os"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/root"
)

func main() {
	streams := cli.Standard()
	os.Exit(int(root.Main(streams, os.Args[1:])))
}
