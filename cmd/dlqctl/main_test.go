package main

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/connect"
	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/dlqtest"
	"github.com/holdfast-kafka/holdfast/consumer/consumertest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"dlqctl": main})
}

// brokerKey is where a script's broker is kept.
type brokerKey struct{}

// TestScripts runs dlqctl as people do, against a broker of its own for each
// script. The command "letters" writes dead letters; see [dlqtest.Parse].
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			broker, err := consumertest.NewBroker(
				consumertest.Topic{Name: "payments", Partitions: 2},
				consumertest.Topic{Name: dlqtest.DLQ, Partitions: 2},
				consumertest.Topic{Name: dlqtest.Lane, Partitions: 2},
			)
			if err != nil {
				return err
			}
			env.Defer(broker.Close)
			env.Values[brokerKey{}] = broker.Addr()
			env.Setenv(connect.EnvBrokers, broker.Addr())
			env.Setenv("USER", "kim")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"letters": letters,
			"exits":   exits,
		},
	})
}

func letters(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("letters cannot be negated")
	}
	addr, ok := ts.Value(brokerKey{}).(string)
	if !ok {
		ts.Fatalf("no broker")
	}
	set, err := dlqtest.Parse(args)
	ts.Check(err)
	ts.Check(set.Write(addr))
}

// exits runs a command that must end with this exit code: exits dlqctl 6 args.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits program code args...")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	err = ts.Exec(args[0], args[2:]...)
	got := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
