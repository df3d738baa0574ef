package testkafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// rehearsalTimeout is ten times what a busy machine was seen to need.
const rehearsalTimeout = 2 * time.Minute

// rehearse lets Kafka's own tool format a directory, for the checkpoint, and
// starts a broker on it once, for the archive of its classes.
func (i *installation) rehearse(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rehearsalTimeout)
	defer cancel()
	dir, err := os.MkdirTemp(i.dir, "rehearse-")
	if err != nil {
		return fmt.Errorf("prepare Kafka: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // scratch inside the cache
	nodes, err := layout(dir, 1, 0)
	if err != nil {
		return err
	}
	id := newClusterID()
	if err := os.WriteFile(nodes[0].properties(), []byte(render(properties(nodes[0], nodes, nil))), 0o600); err != nil {
		return fmt.Errorf("prepare Kafka: %w", err)
	}
	args := append(i.flags(nil), "kafka.tools.StorageTool", "format", "-t", id, "-c", nodes[0].properties())
	if said, err := exec.CommandContext(ctx, i.java, args...).CombinedOutput(); err != nil { //nolint:gosec // java
		return fmt.Errorf("format a directory with Kafka's tool: %w\n%s", err, said)
	}
	checkpoint, err := os.ReadFile(filepath.Join(nodes[0].dir, checkpointName))
	if err != nil {
		return fmt.Errorf("take Kafka's feature levels: %w", err)
	}
	if err := i.record(ctx, nodes[0], id); err != nil {
		return err
	}
	return writeFile(i.checkpoint(), checkpoint) // last: it says that all is done
}

// record runs a broker until it is ready and has it write down the classes it
// loaded. A Java that cannot do this leaves no archive, which is no error.
func (i *installation) record(ctx context.Context, n node, id string) error {
	f := newForker()
	defer f.close()
	written := filepath.Join(filepath.Dir(n.dir), "classes.jsa")
	p, err := launch(f, i, n, []string{"-XX:+IgnoreUnrecognizedVMOptions", "-XX:ArchiveClassesAtExit=" + written})
	if err != nil {
		return err
	}
	if err := awaitBroker(ctx, p, id, []int{n.id}); err != nil {
		return errors.Join(err, p.kill())
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop broker %d: %w", n.id, errors.Join(err, p.kill()))
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		return fmt.Errorf("stop broker %d: %w", n.id, errors.Join(context.Cause(ctx), p.kill()))
	}
	if err := os.Rename(written, i.archive()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("keep the archive of classes: %w", err)
	}
	return nil
}
