package testkafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Env names the environment variable that says which broker tests get: unset
// or empty for the embedded one, "apache" to start Apache Kafka, or the
// addresses, host:port separated by commas, of a cluster that runs.
const Env = "HOLDFAST_TEST_KAFKA"

// apache is the value of Env that asks for a broker to be started.
const apache = "apache"

// answerTimeout is how long a cluster that is said to run may take to form a
// group: five times what three cold brokers need.
const answerTimeout = 30 * time.Second

// FromEnv returns the real broker that the environment asks for, warmed, and
// what ends it; ok is false when it asks for none. stop may be called twice
// and is never nil.
func FromEnv(ctx context.Context) (addr string, stop func(), ok bool, err error) {
	stop = func() {}
	if os.Getenv(Env) == "" {
		return "", stop, false, nil
	}
	addr, c, err := fromEnv(ctx)
	if c != nil {
		stop = func() { _ = c.Stop() } // killing cannot fail, and a directory left is no harm
	}
	return addr, stop, true, err
}

// fromEnv is FromEnv once it is known that a real broker is asked for. The
// cluster is nil when it was given.
func fromEnv(ctx context.Context) (addr string, c *Cluster, err error) {
	value := os.Getenv(Env)
	if value != apache {
		return value, nil, reach(ctx, value)
	}
	c, err = Start(ctx, Options{Log: os.Stderr})
	if err != nil {
		return "", nil, err
	}
	return c.Addr(), c, nil
}

// reach makes sure that a given cluster answers, and warms it.
func reach(ctx context.Context, addrs string) error {
	var problems []error
	for addr := range strings.SplitSeq(addrs, ",") {
		if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
			problems = append(problems, fmt.Errorf("%s has %q, want %s or host:port[,host:port]", Env, addr, apache))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := warm(ctx, addrs); err != nil {
		return fmt.Errorf("reach the brokers named by %s: %w", Env, err)
	}
	return nil
}
