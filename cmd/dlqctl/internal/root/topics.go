package root

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
)

// newExitCodes makes the topic "dlqctl help exit-codes".
func newExitCodes() *cobra.Command {
	var b strings.Builder
	b.WriteString("dlqctl exits with:\n\n")
	for _, c := range cli.Codes() {
		fmt.Fprintf(&b, "  %3d  %s\n", c.Code, c.Meaning)
	}
	b.WriteString("\nThe numbers are a promise: scripts can branch on them.")
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long:  b.String(),
	}
}
