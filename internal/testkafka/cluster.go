package testkafka

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// startTimeout is five times what three brokers on a busy machine were
	// seen to need.
	startTimeout = time.Minute
	// startAttempts is how often other ports are tried. A port is lost to
	// somebody else about once in hundreds of starts.
	startAttempts = 5
)

// Cluster is Apache Kafka in processes of its own. Its methods may be called
// from several goroutines; Kill and Restart of one broker must not overlap.
type Cluster struct {
	id      string
	dir     string
	keep    bool // the directory is the caller's
	install *installation
	flags   []string
	nodes   []node
	fork    *forker

	mu        sync.Mutex
	processes []*process // guarded by mu; by node, nil while killed
	stopped   bool       // guarded by mu
}

// Start starts a cluster, waits until every broker knows every other, and
// warms it: the first transaction and the first group of a cluster wait for
// seconds. The caller must call Stop. The context bounds the start only.
//
// The first start on a machine takes up to a minute longer and writes some
// 100 MB to Maven's and the user's cache.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("start Apache Kafka: %w", context.Cause(ctx))
	}
	i, err := install(ctx, o)
	if err != nil {
		return nil, err
	}
	return retryPorts(o, func() (*Cluster, error) { return start(ctx, o, i) })
}

// retryPorts tries again while somebody else gets a port that was free when
// it was picked. A port that was asked for has no other.
func retryPorts(o Options, try func() (*Cluster, error)) (*Cluster, error) {
	for attempt := 1; ; attempt++ {
		c, err := try()
		if err == nil {
			return c, nil
		}
		if o.Port != 0 || attempt == startAttempts || !errors.Is(err, errPortTaken) {
			return nil, fmt.Errorf("start Apache Kafka: %w", err)
		}
		fmt.Fprintln(o.Log, "a port was taken, trying others")
	}
}

// start tries once.
func start(ctx context.Context, o Options, i *installation) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c := &Cluster{id: newClusterID(), install: i, flags: o.JVM, keep: o.Dir != "", fork: newForker()}
	err := c.prepare(o)
	if err == nil {
		err = c.launchAll(ctx)
	}
	if err == nil {
		err = checkFeatures(ctx, c.nodes[0].addr())
	}
	if err == nil {
		err = warm(ctx, c.Addr())
	}
	if err != nil {
		return nil, errors.Join(err, c.stop(true))
	}
	return c, nil
}

// newClusterID returns 22 characters as Kafka's own ids have. It differs each
// time: it is how a stranger's broker on our port is told from ours.
func newClusterID() string { return rand.Text()[:22] }

// prepare lays out the cluster's directory.
func (c *Cluster) prepare(o Options) error {
	dir := o.Dir
	if dir == "" {
		made, err := os.MkdirTemp("", "holdfast-kafka-")
		if err != nil {
			return fmt.Errorf("make a directory for brokers: %w", err)
		}
		dir = made
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("make a directory for brokers: %w", err)
	}
	c.dir = dir
	if c.nodes, err = layout(dir, o.Brokers, o.Port); err != nil {
		return err
	}
	checkpoint, err := os.ReadFile(c.install.checkpoint())
	if err != nil {
		return fmt.Errorf("read Kafka's feature levels: %w", err)
	}
	for _, n := range c.nodes {
		if err := n.format(c.id, checkpoint); err != nil {
			return err
		}
		if err := writeFile(n.properties(), []byte(render(properties(n, c.nodes, o.Properties)))); err != nil {
			return err
		}
	}
	c.processes = make([]*process, len(c.nodes))
	return nil
}

// layout gives each broker its directory and ports; port is the first one's,
// or 0.
func layout(dir string, brokers, port int) ([]node, error) {
	ports, err := freePorts(2 * brokers)
	if err != nil {
		return nil, err
	}
	nodes := make([]node, brokers)
	for at := range nodes {
		id := at + 1
		nodes[at] = node{
			id: id, port: ports[2*at], controller: ports[2*at+1],
			dir: filepath.Join(dir, fmt.Sprintf("broker-%d", id)),
		}
	}
	if port != 0 {
		nodes[0].port = port
	}
	return nodes, nil
}

// launchAll starts every broker and waits for all of them.
func (c *Cluster) launchAll(ctx context.Context) error {
	for at, n := range c.nodes {
		p, err := launch(c.fork, c.install, n, c.flags)
		if err != nil {
			return err
		}
		c.processes[at] = p
	}
	for _, p := range c.processes {
		if err := awaitBroker(ctx, p, c.id, c.running()); err != nil {
			return err
		}
	}
	return nil
}

// Addr returns the brokers' addresses as a client wants them: host:port,
// separated by commas.
func (c *Cluster) Addr() string {
	addrs := make([]string, 0, len(c.nodes))
	for _, n := range c.nodes {
		addrs = append(addrs, n.addr())
	}
	return strings.Join(addrs, ",")
}

// ID returns the cluster's id, different each time.
func (c *Cluster) ID() string { return c.id }

// Logs returns the path of each broker's log.
func (c *Cluster) Logs() []string {
	logs := make([]string, 0, len(c.nodes))
	for _, n := range c.nodes {
		logs = append(logs, n.log())
	}
	return logs
}

// Tool runs one of Kafka's command-line classes, such as
// org.apache.kafka.tools.TopicCommand, and returns what it printed. The
// cluster must have been started with Options.Tools. It takes about 2 s.
func (c *Cluster) Tool(ctx context.Context, class string, args ...string) (string, error) {
	if !c.install.tools {
		return "", errors.New("run a tool: the cluster was started without Options.Tools")
	}
	all := append(c.install.flags([]string{"-Dholdfast.log.level=error"}), class)
	said, err := exec.CommandContext(ctx, c.install.java, append(all, args...)...).CombinedOutput() //nolint:gosec // java
	if err != nil {
		return "", fmt.Errorf("run %s: %w\n%s", class, err, said)
	}
	return string(said), nil
}
