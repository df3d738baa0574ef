package fake_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-kafka/holdfast/internal/client/clienttest"
	"github.com/holdfast-kafka/holdfast/internal/client/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// late is slower than any broker, so that nothing passes because it is instant.
var late = fake.Delays{
	Fetch:  400 * time.Millisecond,
	Commit: 30 * time.Millisecond,
	Report: 20 * time.Millisecond,
	Join:   500 * time.Millisecond,
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, delays := range map[string]fake.Delays{"instant": {}, "late": late} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clienttest.Run(t, clienttest.Features{Bubble: synctest.Test, LogAppendTime: true}, func(t *testing.T) clienttest.Harness {
				return clienttest.Harness{Library: fake.New(fake.Config{
					Seed:     1,
					Delays:   delays,
					OnMisuse: func(err error) { t.Error(err) },
				})}
			})
		})
	}
}
