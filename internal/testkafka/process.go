package testkafka

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// process is one run of a broker.
type process struct {
	node  node
	cmd   *exec.Cmd
	ended chan struct{} // closed after err is set
	err   error         // why it ended; read after ended
}

// launch starts a broker on a prepared directory. flags are added to Java's.
func launch(f *forker, i *installation, n node, flags []string) (*process, error) {
	log, err := os.OpenFile(n.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of broker %d: %w", n.id, err)
	}
	defer log.Close()                                                                     //nolint:errcheck // the child has its own descriptor
	cmd := exec.Command(i.java, append(i.flags(flags), "kafka.Kafka", n.properties())...) //nolint:gosec,noctx // ended by kill
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, childAttributes()
	if err := f.start(cmd); err != nil {
		return nil, fmt.Errorf("start broker %d: %w", n.id, err)
	}
	p := &process{node: n, cmd: cmd, ended: make(chan struct{})}
	go p.wait()
	return p, nil
}

// flags returns Java's, up to the class to run. Half of Java's compiler is
// left out because starting is what costs.
func (i *installation) flags(more []string) []string {
	flags := []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	if _, err := os.Stat(i.archive()); err == nil {
		flags = append(flags, "-XX:SharedArchiveFile="+i.archive())
	}
	flags = append(flags, "-Dlog4j2.configurationFile="+i.loggingConfig())
	return append(append(flags, more...), "-cp", i.classPath)
}

func (p *process) wait() {
	p.err = p.cmd.Wait()
	close(p.ended)
}

func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// kill ends the process without a chance to tidy up, and returns when it has.
func (p *process) kill() error {
	err := p.cmd.Process.Signal(syscall.SIGKILL)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill broker %d: %w", p.node.id, err)
	}
	<-p.ended
	return nil
}

// errPortTaken is why a broker ended whose port somebody else got first.
var errPortTaken = errors.New("a port was taken")

// failure says why the process ended, with the end of its log.
func (p *process) failure() error {
	cause := p.err
	if cause == nil {
		cause = errors.New("exit status 0")
	}
	said := tail(p.node.log(), 40)
	if strings.Contains(said, "Address already in use") {
		cause = fmt.Errorf("%w: %w", errPortTaken, cause)
	}
	return fmt.Errorf("broker %d ended: %w; the end of %s:\n%s", p.node.id, cause, p.node.log(), said)
}

// tail returns the last lines of a file, or why it could not be read.
func tail(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	data = bytes.TrimRight(data, "\n")
	at := len(data)
	for range lines {
		if at = bytes.LastIndexByte(data[:at], '\n'); at < 0 {
			return string(data)
		}
	}
	return string(data[at+1:])
}

func (n node) log() string        { return n.dir + ".log" }
func (n node) properties() string { return n.dir + ".properties" }

// format prepares a broker's directory: two files do what Kafka's own tool
// takes seconds for. The broker adds the rest itself.
func (n node) format(clusterID string, checkpoint []byte) error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return fmt.Errorf("format broker %d: %w", n.id, err)
	}
	meta := fmt.Sprintf("version=1\ncluster.id=%s\nnode.id=%d\n", clusterID, n.id)
	return errors.Join(
		writeFile(filepath.Join(n.dir, "meta.properties"), []byte(meta)),
		writeFile(filepath.Join(n.dir, checkpointName), checkpoint),
	)
}
