package testkafka

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-kafka/holdfast/consumer/consumertest"
)

func TestUnsetAsksForNoBroker(t *testing.T) {
	t.Setenv(Env, "")
	addr, stop, ok, err := FromEnv(t.Context())
	stop()
	if addr != "" || ok || err != nil {
		t.Errorf("got %q, %t, %v", addr, ok, err)
	}
}

func TestGivenBrokerIsUsed(t *testing.T) {
	given := consumertest.StartBroker(t).Addr()
	t.Setenv(Env, given)
	addr, stop, ok, err := FromEnv(t.Context())
	stop()
	stop()
	if addr != given || !ok || err != nil {
		t.Errorf("got %q, %t, %v, want %q", addr, ok, err, given)
	}
}

func TestMisspeltBrokerIsAnError(t *testing.T) {
	t.Setenv(Env, "Apache,localhost:9092")
	_, stop, ok, err := FromEnv(t.Context())
	stop()
	if !ok || err == nil || !strings.Contains(err.Error(), `"Apache"`) {
		t.Errorf("got %t, %v, want a complaint about Apache", ok, err)
	}
}

func TestSharedBrokerNeedsMain(t *testing.T) {
	t.Setenv(Env, consumertest.StartBroker(t).Addr())
	var s sharedBroker
	if _, err := s.open(); !errors.Is(err, errNoMain) {
		t.Errorf("got %v, want %v", err, errNoMain)
	}
}

func TestSharedBrokerIsOpenedOnceAndFailsForAll(t *testing.T) {
	var s sharedBroker
	s.begin()
	t.Setenv(Env, "nowhere")
	_, first := s.open()
	t.Setenv(Env, consumertest.StartBroker(t).Addr())
	_, second := s.open()
	if first == nil || !errors.Is(second, first) {
		t.Errorf("got %v, then %v", first, second)
	}
	if err := s.end(true); err != nil {
		t.Error(err)
	}
}

type code int

func (c code) Run() int { return int(c) }

func TestMainKeepsTheExitCode(t *testing.T) {
	t.Parallel()
	for _, want := range []int{0, 1, 2} {
		if got := (runner{code(want), new(sharedBroker)}).Run(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}
