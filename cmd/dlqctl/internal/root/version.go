package root

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
)

func newVersion(streams *cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Tell the version",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(streams.Out, "dlqctl", version())
			return err
		},
	}
}

// version is the module's version, or the commit a build from source was made
// of.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return "(devel) " + setting.Value
		}
	}
	return "(devel)"
}
