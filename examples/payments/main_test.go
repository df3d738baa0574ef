package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWrongFlagsExit2AndSayAllThatIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"-payments", "0", "-consume-only", "-topic", "", "more"}, []string{`"more"`, "-payments 0", "-consume-only", "-topic"}},
		{[]string{"-release", "2"}, []string{"-release 2", "-consume-only"}},
		{[]string{"-payments", "1000001"}, []string{"1 to 1000000"}},
		{[]string{"-colour"}, []string{"-colour", "Exit status"}},
		{[]string{"-topic", "payments.billing.dlq"}, []string{"payments.billing.dlq"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if got := Main(t.Context(), &stdout, &stderr, tt.args); got != exitUsage {
				t.Errorf("exit status %d, want %d", got, exitUsage)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("stderr %q, want %q in it", stderr.String(), want)
				}
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout %q, want nothing", stdout.String())
			}
		})
	}
}

func TestHelpExits0(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if got := Main(t.Context(), &stdout, &stderr, []string{"-help"}); got != exitOK {
		t.Errorf("exit status %d, want 0", got)
	}
}

// The whole story: everything is handled, and every promise is kept.
func TestTheStoryKeepsItsPromises(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	status := Main(t.Context(), &stdout, &stderr, []string{"-json", "-payments", "200"})
	if status != exitOK {
		t.Errorf("exit status %d, want 0; stderr: %s", status, stderr.String())
	}
	got := readFigures(t, stdout.String(), stderr.String())
	want := figures{Payments: 200}
	ignored := cmpopts.IgnoreFields(figures{}, "Charged", "Retried", "Dead", "Replayed", "ElapsedMS")
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(figures{}), ignored); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if got.Charged < 150 || got.Retried == 0 || got.Dead < got.Replayed || got.Replayed == 0 || got.ElapsedMS == 0 {
		t.Errorf("figures %+v: want a story in which something happens", got)
	}
}

// The figures can fail: a gateway that forgets its keys charges twice when a
// payment whose answer was lost is tried again.
func TestAGatewayThatForgetsItsKeysFailsTheStory(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), &stdout, &stderr, options{
		topic: "payments", group: "billing", payments: 30, seed: 1, json: true,
		script: &script{seed: 1, shares: shares{unheard: 300}, forgetful: true},
	})
	got := readFigures(t, stdout.String(), stderr.String())
	if status != exitBroken || got.DoubleCharged == 0 {
		t.Errorf("exit status %d with %d charged twice, want %d with some", status, got.DoubleCharged, exitBroken)
	}
	if got.Lost != 0 || got.Early != 0 || got.Burned != 0 {
		t.Errorf("figures %+v: want nothing else to be wrong", got)
	}
}

// The same without forgetting: answers are lost, and nothing is charged twice.
func TestAGatewayThatKeepsItsKeysForgivesLostAnswers(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), &stdout, &stderr, options{
		topic: "payments", group: "billing.eu", payments: 30, seed: 1, json: true,
		script: &script{seed: 1, shares: shares{unheard: 300}},
	})
	got := readFigures(t, stdout.String(), stderr.String())
	if status != exitOK || got.Retried == 0 {
		t.Errorf("exit status %d with figures %+v, want 0 with retries; stderr: %s", status, got, stderr.String())
	}
}

func TestAnInterruptEndsTheStoryWithStatus130(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	stdout := &watchedWriter{word: "goes down", then: cancel}
	var stderr bytes.Buffer
	start := time.Now()
	status := Main(ctx, stdout, &stderr, []string{"-payments", "500"})
	if status != exitInterrupted {
		t.Errorf("exit status %d, want %d; stderr: %s", status, exitInterrupted, stderr.String())
	}
	if !strings.Contains(stdout.String(), "Kept: none lost") {
		t.Errorf("stdout %q, want a verdict about what was done so far", stdout.String())
	}
	if took := time.Since(start); took > 25*time.Second {
		t.Errorf("took %v, want an end soon after the interrupt", took)
	}
}

// watchedWriter calls then when a word is written.
type watchedWriter struct {
	word string
	then func()

	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if bytes.Contains(p, []byte(w.word)) {
		w.then()
	}
	return w.buf.Write(p)
}

func (w *watchedWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// readFigures reads the one line that stdout must hold.
func readFigures(t *testing.T, stdout, stderr string) figures {
	t.Helper()
	if strings.Count(stdout, "\n") != 1 {
		t.Fatalf("stdout %q, want one line; stderr: %s", stdout, stderr)
	}
	var f figures
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		t.Fatalf("stdout %q: %v", stdout, err)
	}
	return f
}
