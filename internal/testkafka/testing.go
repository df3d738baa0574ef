package testkafka

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/consumer/consumertest"
)

// firstStartTimeout covers resolving the jars over a slow line.
const firstStartTimeout = 8 * time.Minute

// errNoMain is what a test package gets that would leave a broker behind.
var errNoMain = errors.New("the package's TestMain must run its tests through testkafka.Main")

// Broker returns the address of a broker for a test. By default it is an
// embedded one of the test's own. When the environment asks for a real one it
// is shared by the whole test binary, started at the first call, and isReal is
// true: the test must use names of its own, see [Topic]. One that cannot be
// had fails the test.
//
// The package's TestMain must go through [Main].
func Broker(tb testing.TB) (addr string, isReal bool) {
	tb.Helper()
	if os.Getenv(Env) == "" {
		return consumertest.StartBroker(tb).Addr(), false
	}
	addr, err := shared.open()
	if err != nil {
		tb.Fatalf("a real broker, asked for by %s: %v", Env, err)
	}
	return addr, true
}

// Apache starts a cluster for one test that breaks brokers, and stops it with
// the test; its logs stay when the test fails. The test is skipped unless the
// environment asks for Apache Kafka: no other broker can be killed.
func Apache(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	NeedApache(tb)
	ctx, cancel := context.WithTimeout(tb.Context(), firstStartTimeout)
	defer cancel()
	c, err := Start(ctx, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("Kafka's logs: %s", strings.Join(c.Logs(), " "))
		}
		if err := errors.Join(c.Err(), c.stop(tb.Failed())); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// NeedApache skips a test that starts Apache Kafka itself, unless the
// environment asks for it.
func NeedApache(tb testing.TB) {
	tb.Helper()
	if os.Getenv(Env) != apache {
		tb.Skipf("starts brokers of its own: runs with %s=%s", Env, apache)
	}
}

// Topic creates a topic with a name that no other test has, and returns the
// name. It works with every broker of [Broker].
func Topic(tb testing.TB, addr string, partitions int) string {
	tb.Helper()
	name := "t-" + strings.ToLower(rand.Text()[:12])
	ctx, cancel := context.WithTimeout(tb.Context(), answerTimeout)
	defer cancel()
	if err := CreateTopic(ctx, addr, name, partitions); err != nil {
		tb.Fatal(err)
	}
	return name
}

// Runner runs a package's tests; *testing.M is one.
type Runner interface{ Run() int }

// Main wraps a package's tests so that the broker they share ends with them:
//
//	func TestMain(m *testing.M) { os.Exit(testkafka.Main(m).Run()) }
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(testkafka.Main(m)) }
//
// When a test failed, it says where Kafka's log is and leaves it there.
func Main(m Runner) Runner { return runner{m, &shared} }

type runner struct {
	tests  Runner
	broker *sharedBroker
}

func (r runner) Run() int {
	r.broker.begin()
	code := r.tests.Run()
	if err := r.broker.end(code != 0); err != nil {
		fmt.Fprintln(os.Stderr, "testkafka:", err)
		return max(code, 1)
	}
	return code
}

// shared is the one broker of this test binary. It is the package's only
// variable that varies: nothing but the binary itself lasts as long.
var shared sharedBroker //nolint:gochecknoglobals // see above

type sharedBroker struct {
	mu      sync.Mutex
	main    bool // guarded by mu, like all below
	opened  bool
	addr    string
	cluster *Cluster // nil when the broker was given
	err     error
}

func (s *sharedBroker) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.main = true
}

// open starts the broker once; tests that run in parallel wait for it. A
// failure is every test's failure: trying again would only take longer.
func (s *sharedBroker) open() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.main {
		return "", errNoMain
	}
	if !s.opened {
		s.opened = true
		ctx, cancel := context.WithTimeout(context.Background(), firstStartTimeout)
		defer cancel()
		s.addr, s.cluster, s.err = fromEnv(ctx)
	}
	if s.err == nil && s.cluster != nil {
		s.err = s.cluster.Err()
	}
	return s.addr, s.err
}

// end stops what open started and tells of a broker that died by itself.
func (s *sharedBroker) end(failed bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster
	s.main, s.opened, s.cluster = false, false, nil
	if c == nil {
		return nil
	}
	died := c.Err()
	keep := failed || died != nil
	if keep {
		fmt.Fprintln(os.Stderr, "testkafka: Kafka's log:", strings.Join(c.Logs(), " "))
	}
	return errors.Join(died, c.stop(keep))
}
