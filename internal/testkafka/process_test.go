package testkafka

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-kafka/holdfast/consumer/consumertest"
)

// pretend returns an installation whose Java is a shell script, and a node for
// it to run.
func pretend(t *testing.T, script string) (*installation, node) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Fatal("the script needs a shell")
	}
	dir := t.TempDir()
	java := filepath.Join(dir, "java")
	if err := os.WriteFile(java, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &installation{dir: dir, java: java}, node{id: 1, dir: filepath.Join(dir, "broker-1")}
}

func startPretend(t *testing.T, script string, port int) *process {
	t.Helper()
	i, n := pretend(t, script)
	n.port = port
	f := newForker()
	t.Cleanup(f.close)
	p, err := launch(f, i, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestABrokerThatEndsSaysWhy(t *testing.T) {
	t.Parallel()
	p := startPretend(t, "echo no space left; exit 3", 1)
	err := awaitBroker(t.Context(), p, "id", []int{1})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v, want the exit status and the log", err)
	}
	if errors.Is(err, errPortTaken) {
		t.Errorf("got %v, which is not about ports", err)
	}
}

func TestAStrangersBrokerIsNotOurs(t *testing.T) {
	t.Parallel()
	_, text, err := net.SplitHostPort(consumertest.StartBroker(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	p := startPretend(t, "sleep 0.5; exit 3", port)
	if err := awaitBroker(t.Context(), p, "ours", nil); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v, want our own broker's end", err)
	}
}

func TestOtherPortsAreTriedButNotForEver(t *testing.T) {
	t.Parallel()
	other := errors.New("no space left")
	for name, test := range map[string]struct {
		port, failures, want int
		err                  error
	}{
		"once":      {failures: 1, want: 2, err: errPortTaken},
		"always":    {failures: 100, want: startAttempts, err: errPortTaken},
		"asked for": {port: 9092, failures: 100, want: 1, err: errPortTaken},
		"other":     {failures: 100, want: 1, err: other},
	} {
		tries := 0
		_, err := retryPorts(Options{Port: test.port}.withDefaults(), func() (*Cluster, error) {
			if tries++; tries > test.failures {
				return new(Cluster), nil
			}
			return nil, test.err
		})
		if failed := test.failures >= test.want; tries != test.want || failed != errors.Is(err, test.err) {
			t.Errorf("%s: got %d tries, %v, want %d", name, tries, err, test.want)
		}
	}
}

func TestATakenPortIsToldApart(t *testing.T) {
	t.Parallel()
	p := startPretend(t, "echo java.net.BindException: Address already in use; exit 1", 1)
	<-p.ended
	if err := p.failure(); !errors.Is(err, errPortTaken) {
		t.Errorf("got %v, want %v", err, errPortTaken)
	}
}

func TestKillEndsAProcessOnce(t *testing.T) {
	t.Parallel()
	p := startPretend(t, "exec sleep 600", 1)
	if !p.alive() {
		t.Error("it does not run")
	}
	for range 2 {
		if err := p.kill(); err != nil {
			t.Error(err)
		}
	}
	if p.alive() {
		t.Error("it runs after kill")
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for lines, want := range map[int]string{1: "c", 2: "b\nc", 3: "a\nb\nc", 9: "a\nb\nc"} {
		if got := tail(path, lines); got != want {
			t.Errorf("the last %d: got %q, want %q", lines, got, want)
		}
	}
	if got := tail(path+".missing", 1); !strings.Contains(got, "missing") {
		t.Errorf("got %q, want why it cannot be read", got)
	}
}

func TestFormatWritesNoDirectoryID(t *testing.T) {
	t.Parallel()
	n := node{id: 2, dir: filepath.Join(t.TempDir(), "broker-2")}
	if err := n.format("abc", []byte("levels")); err != nil {
		t.Fatal(err)
	}
	meta, err := os.ReadFile(filepath.Join(n.dir, "meta.properties"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "version=1\ncluster.id=abc\nnode.id=2\n"; string(meta) != want {
		t.Errorf("got %q, want %q", meta, want)
	}
	if levels, err := os.ReadFile(filepath.Join(n.dir, checkpointName)); err != nil || string(levels) != "levels" {
		t.Errorf("got %q, %v", levels, err)
	}
}

func TestAClassPathIsWholeOrNot(t *testing.T) {
	t.Parallel()
	jar := filepath.Join(t.TempDir(), "a.jar")
	if err := os.WriteFile(jar, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	separator := string(os.PathListSeparator)
	for path, want := range map[string]bool{
		"": false, jar: true, jar + "\n": true, jar + separator + jar: true, jar + separator + jar + "x": false,
	} {
		if got := allThere(path); got != want {
			t.Errorf("%q: got %t, want %t", path, got, want)
		}
	}
}
