package testkafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrStopped is returned by Kill and Restart after Stop.
var ErrStopped = errors.New("testkafka: the cluster is stopped")

// Kill ends a broker as a power failure would, keeping its data. Brokers are
// numbered from 1, as Kafka numbers them. It returns when the process is gone;
// killing a killed broker does nothing.
func (c *Cluster) Kill(id int) error {
	p, err := c.swap(id, nil)
	if err != nil || p == nil {
		return err
	}
	return p.kill()
}

// Restart starts a broker again on its data and its ports, killing it first if
// it runs. It returns when the broker knows all others that run.
func (c *Cluster) Restart(ctx context.Context, id int) error {
	if err := c.Kill(id); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	// Some client's own socket may have got the port meanwhile: it lets go.
	err := poll(ctx, 500*time.Millisecond, func() (bool, error) {
		err := c.relaunch(ctx, id)
		return !errors.Is(err, errPortTaken), skipPortTaken(err)
	})
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	return nil
}

func skipPortTaken(err error) error {
	if errors.Is(err, errPortTaken) {
		return nil
	}
	return err
}

// relaunch starts a killed broker once.
func (c *Cluster) relaunch(ctx context.Context, id int) error {
	n := c.nodes[id-1]
	// The log tells of every run, and an old failure is not this one's.
	if err := os.Rename(n.log(), n.log()+".before"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("set aside the log of broker %d: %w", id, err)
	}
	p, err := launch(c.fork, c.install, n, c.flags)
	if err != nil {
		return err
	}
	if _, err := c.swap(id, p); err != nil {
		return errors.Join(err, p.kill())
	}
	if err := awaitBroker(ctx, p, c.id, c.running()); err != nil {
		return errors.Join(err, c.Kill(id))
	}
	return nil
}

// swap sets a broker's process and returns the one before.
func (c *Cluster) swap(id int, p *process) (before *process, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, ErrStopped
	}
	if id < 1 || id > len(c.processes) {
		return nil, fmt.Errorf("testkafka: there is no broker %d, they are 1 to %d", id, len(c.processes))
	}
	before, c.processes[id-1] = c.processes[id-1], p
	return before, nil
}

// running returns the ids of brokers that were not killed.
func (c *Cluster) running() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []int
	for at, p := range c.processes {
		if p != nil {
			ids = append(ids, c.nodes[at].id)
		}
	}
	return ids
}

// Err returns why a broker ended that nobody killed, with the end of its log;
// nil while there is none.
func (c *Cluster) Err() error {
	c.mu.Lock()
	var gone *process
	for _, p := range c.processes {
		if p != nil && !p.alive() {
			gone = p
		}
	}
	c.mu.Unlock()
	if gone == nil {
		return nil
	}
	return gone.failure()
}

// Wait returns what Err tells as soon as it tells something, or nil when the
// context ends.
func (c *Cluster) Wait(ctx context.Context) error {
	var failure error
	_ = poll(ctx, 200*time.Millisecond, func() (bool, error) { // the only error is the context's
		failure = c.Err()
		return failure != nil, nil
	})
	return failure
}

// Stop kills every broker and removes the temporary directory. Calling it
// again does nothing.
func (c *Cluster) Stop() error { return c.stop(false) }

// stop is Stop that can leave the logs where they are.
func (c *Cluster) stop(keepLogs bool) error {
	c.mu.Lock()
	processes, stopped := c.processes, c.stopped
	c.processes, c.stopped = nil, true
	c.mu.Unlock()
	if stopped {
		return nil
	}
	var problems []error
	for _, p := range processes {
		if p != nil {
			problems = append(problems, p.kill())
		}
	}
	c.fork.close()
	if c.keep || c.dir == "" {
		return errors.Join(problems...)
	}
	if !keepLogs {
		return errors.Join(append(problems, os.RemoveAll(c.dir))...)
	}
	for _, n := range c.nodes {
		problems = append(problems, os.RemoveAll(n.dir))
	}
	return errors.Join(problems...)
}
