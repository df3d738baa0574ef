package cli

import (
	"github.com/spf13/cobra"
)

// Args turns a mistake in the arguments into a usage error.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &Error{Code: Usage, Err: err}
		}
		return nil
	}
}
