//go:build cgo

package confluent

import (
	"testing"

	"github.com/holdfast-kafka/holdfast/consumer/consumertest"
	"github.com/holdfast-kafka/holdfast/internal/client/clienttest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	broker := consumertest.StartBroker(t)
	clienttest.Run(t, clienttest.Features{}, func(*testing.T) clienttest.Harness {
		return clienttest.Harness{Library: quiet(), Bootstrap: broker.Addr()}
	})
}
