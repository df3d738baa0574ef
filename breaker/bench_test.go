package breaker_test

import (
	"context"
	"testing"

	"github.com/holdfast-kafka/holdfast/breaker"
)

// BenchmarkDo is what a breaker costs a call that succeeds.
func BenchmarkDo(b *testing.B) {
	gateway := mustNew(b, breaker.Config{})
	ctx := context.Background()
	fn := func(context.Context) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		_ = gateway.Do(ctx, fn)
	}
}
