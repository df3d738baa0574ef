//go:build cgo

package confluent

import (
	"log/slog"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// Library makes clients on librdkafka. The zero value is ready to use. Safe
// for concurrent use.
type Library struct {
	// Logger gets what the client library has to say, never a payload and
	// never the same thing at full rate. Nil: [slog.Default], taken when a
	// client is made.
	Logger *slog.Logger
}

var _ client.Library = Library{}

func (l Library) logger() *slog.Logger {
	if l.Logger != nil {
		return l.Logger
	}
	return slog.Default()
}
