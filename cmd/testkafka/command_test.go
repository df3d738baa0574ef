package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/holdfast-kafka/holdfast/internal/testkafka"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseTopics(t *testing.T) {
	t.Parallel()
	got, err := parseTopics("a:6,b.c-d:1")
	if err != nil {
		t.Fatal(err)
	}
	want := []topic{{"a", 6}, {"b.c-d", 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(topic{})); diff != "" {
		t.Error(diff)
	}
}

func TestUsageErrorsAreReportedTogether(t *testing.T) {
	t.Parallel()
	var out, problems strings.Builder
	args := []string{"--port", "70000", "--brokers", "2", "--topics", "a,b:x,:3,c:0,d:2", "rest"}
	if got := Main(t.Context(), args, &out, &problems); got != exitUsage {
		t.Errorf("got exit code %d, want %d", got, exitUsage)
	}
	for _, want := range []string{"70000", "--brokers is 2", `"a"`, `"b:x"`, `":3"`, `"c:0"`, `"rest"`, "--help"} {
		if !strings.Contains(problems.String(), want) {
			t.Errorf("got %q, want it to say %s", problems.String(), want)
		}
	}
	if out.Len() > 0 {
		t.Errorf("got %q on stdout", out.String())
	}
}

func TestUnknownFlagIsNamed(t *testing.T) {
	t.Parallel()
	var problems strings.Builder
	if got := Main(t.Context(), []string{"--prot", "1"}, io.Discard, &problems); got != exitUsage {
		t.Errorf("got exit code %d, want %d", got, exitUsage)
	}
	if !strings.Contains(problems.String(), "-prot") {
		t.Errorf("got %q", problems.String())
	}
}

func TestHelpIsOutputAndNames(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if got := Main(t.Context(), []string{"--help"}, &out, io.Discard); got != 0 {
		t.Errorf("got exit code %d, want 0", got)
	}
	for _, want := range []string{testkafka.Version, testkafka.Env, "--port", "--topics", "--brokers", "Exit codes", "Examples"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want it to say %s", out.String(), want)
		}
	}
}

func TestInterruptedBeforeItRan(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := Main(ctx, []string{"--port", "0"}, io.Discard, io.Discard); got != exitInterrupted {
		t.Errorf("got exit code %d, want %d", got, exitInterrupted)
	}
}

// stopper ends the context once all that the command prints was printed.
type stopper struct {
	lines []string
	want  int
	stop  context.CancelFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	s.lines = append(s.lines, strings.TrimSpace(string(p)))
	if len(s.lines) == s.want {
		s.stop()
	}
	return len(p), nil
}

func TestApacheRunsUntilStopped(t *testing.T) {
	t.Parallel()
	testkafka.NeedApache(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &stopper{want: 2, stop: cancel}
	if got := Main(ctx, []string{"--port", "0", "--topics", "a:6"}, out, os.Stderr); got != exitStopped {
		t.Errorf("got exit code %d, want %d", got, exitStopped)
	}
	if !strings.HasPrefix(out.lines[0], "127.0.0.1:") || !strings.HasSuffix(out.lines[1], "broker-1.log") {
		t.Errorf("got %q, want the address and the log", out.lines)
	}
	if _, err := os.Stat(out.lines[1]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there", out.lines[1])
	}
}
