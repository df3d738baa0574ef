package retry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/retry"
)

func BenchmarkDelay(b *testing.B) {
	p := retry.Policy{}.WithDefaults()
	b.ReportAllocs()
	for b.Loop() {
		p.Delay(3, 0.5)
	}
}

func BenchmarkChoose(b *testing.B) {
	lanes := retry.Policy{}.WithDefaults().Lanes
	b.ReportAllocs()
	for b.Loop() {
		lanes.Choose(90 * time.Second)
	}
}

// BenchmarkFailure is all that is decided about one failed attempt.
func BenchmarkFailure(b *testing.B) {
	p := retry.Policy{}.WithDefaults()
	err := fmt.Errorf("charge: %w", errors.New("gateway is busy"))
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		d := p.Next(retry.State{Attempts: 2, Verdict: retry.Classify(ctx, nil, err), Random: 0.5})
		p.Place(d.Wait, 0.5)
	}
}
