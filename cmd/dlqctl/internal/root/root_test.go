package root

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/connect"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/dlqtest"
	"github.com/holdfast-kafka/holdfast/consumer/consumertest"
	"github.com/holdfast-kafka/holdfast/dlq"
)

// terminal is a person at a terminal who types an answer.
func terminal(addr, answer string) (streams *cli.Streams, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return &cli.Streams{
		In: strings.NewReader(answer), Out: out, Err: errs,
		InTTY: true, OutTTY: true, ErrTTY: true, Now: time.Now,
		Env: func(name string) string {
			if name == connect.EnvBrokers {
				return addr
			}
			return ""
		},
	}, out, errs
}

func TestReplayAsksOnATerminal(t *testing.T) {
	t.Parallel()
	broker := consumertest.StartBroker(t,
		consumertest.Topic{Name: dlqtest.DLQ, Partitions: 2}, consumertest.Topic{Name: dlqtest.Lane, Partitions: 2})
	if err := (dlqtest.Set{Count: 4}).Write(broker.Addr()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name, answer string
		args         []string
		code         cli.Code
		out, errs    string
	}{
		{"no", "n\n", nil, cli.Declined, "planned\t4", "Send 4 records to payments.billing.replay? [y/N]"},
		{"nothing", "\n", nil, cli.Declined, "planned\t4", "not confirmed"},
		{"end of input", "", nil, cli.Declined, "planned\t4", "not confirmed"},
		{"dry run", "y\n", []string{"--dry-run"}, cli.OK, "planned\t4", "nothing was sent"},
		{"yes", "y\n", nil, cli.OK, "sent\t4 of 4", "[y/N]"},
		{"again", "y\n", nil, cli.OK, "planned\t0", ""},
	} {
		streams, out, errs := terminal(broker.Addr(), step.answer)
		code := Execute(t.Context(), streams, append([]string{"replay", dlqtest.DLQ}, step.args...))
		if code != step.code || !strings.Contains(out.String(), step.out) || !strings.Contains(errs.String(), step.errs) {
			t.Errorf("%s: code %d, want %d\n%s%s", step.name, code, step.code, out, errs)
		}
	}
}

func TestInterruptedCommandHasTheSignalsCode(t *testing.T) {
	t.Parallel()
	broker := consumertest.StartBroker(t, consumertest.Topic{Name: dlqtest.DLQ, Partitions: 2})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&cli.SignalError{Signal: syscall.SIGTERM})
	streams, _, errs := terminal(broker.Addr(), "")
	if code := Execute(ctx, streams, []string{"inspect", dlqtest.DLQ}); code != cli.Terminated {
		t.Errorf("code %d\n%s", code, errs)
	}
}

// An interrupted replay finishes what it has begun, says how to go on, and the
// same command does.
func TestInterruptedReplayGoesOn(t *testing.T) {
	t.Parallel()
	const letters = 4
	broker := consumertest.StartBroker(t,
		consumertest.Topic{Name: dlqtest.DLQ, Partitions: 2}, consumertest.Topic{Name: dlqtest.Lane, Partitions: 2})
	if err := (dlqtest.Set{Count: letters}).Write(broker.Addr()); err != nil {
		t.Fatal(err)
	}
	cluster, err := dlq.Open(dlq.Config{Brokers: broker.Addr(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Close() })
	ctx, cancel := context.WithCancelCause(t.Context())
	streams, out, errs := terminal(broker.Addr(), "")
	ended := make(chan cli.Code, 1)
	go func() { ended <- Execute(ctx, streams, []string{"replay", dlqtest.DLQ, "--yes", "--rate", "1/m"}) }()
	for sent(t, cluster) == 0 {
	}
	cancel(&cli.SignalError{Signal: syscall.SIGINT})
	if code := <-ended; code != cli.Interrupted || !strings.Contains(out.String(), "sent\t1 of 4") ||
		!strings.Contains(errs.String(), "3 records are left; the same command goes on") {
		t.Errorf("code %d, want %d\n%s%s", code, cli.Interrupted, out, errs)
	}
	streams, out, errs = terminal(broker.Addr(), "")
	if code := Execute(t.Context(), streams, []string{"replay", dlqtest.DLQ, "--yes", "--rate", "max"}); code != cli.OK {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	if n := sent(t, cluster); n != letters {
		t.Errorf("%d records on the lane, want %d", n, letters)
	}
}

func sent(t *testing.T, cluster *dlq.Cluster) int64 {
	t.Helper()
	result, err := cluster.Scan(t.Context(), dlq.ScanRequest{Topic: dlqtest.Lane}, func(*dlq.Record) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return result.Scanned
}
