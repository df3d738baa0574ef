//go:build cgo

package confluent

import (
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client/clienttest"
	"github.com/holdfast-kafka/holdfast/internal/testkafka"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	addr, isReal := testkafka.Broker(t)
	features := clienttest.Features{LogAppendTime: isReal}
	if !isReal {
		features.MaxPoll = 2 * time.Second // the embedded broker knows no least session timeout
	}
	clienttest.Run(t, features, func(*testing.T) clienttest.Harness {
		return clienttest.Harness{Library: quiet(), Bootstrap: addr}
	})
}
