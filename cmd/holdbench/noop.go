package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/holdfast-kafka/holdfast/consumer"
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

const noopHelp = `Measures how many records a second a handler that does nothing gets from
Holdfast, from 6 partitions, 256 bytes and one header a record, against

  best   one goroutine: Poll, positions kept in Go, stored and committed each
         second, with the same client settings
  plain  what people write: the client's defaults, StoreOffsets for each record

The sides take turns. Each measurement has a group of its own and begins a
second after its first record.`

const (
	noopPartitions = 6
	noopBytes      = 256
	// noopRecords is more than the fastest side gets through in a window of
	// five seconds and its warm-up, at 300,000 a second.
	noopPerSecond = 300_000
)

// noopFigures is what the scenario prints.
type noopFigures struct {
	Scenario     string     `json:"scenario"`
	Ratio        float64    `json:"ratio"`
	RatioQ       [3]float64 `json:"ratio_quartiles"`
	RatioPlain   float64    `json:"ratio_plain"`
	RatioPlainQ  [3]float64 `json:"ratio_plain_quartiles"`
	Rate         float64    `json:"rate"`
	BaselineRate float64    `json:"baseline_rate"`
	PlainRate    float64    `json:"plain_rate"`
	CPURatio     float64    `json:"cpu_ratio"`
	CPUMicros    float64    `json:"cpu_us_per_record"`
	Pairs        int        `json:"pairs"`
}

// Format prints the figures for people.
func (f noopFigures) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, `noop: median of %d interleaved pairs (quartiles)
  holdfast  %9.0f records/s   %.2f us CPU a record
  best loop %9.0f records/s   ratio %.3f (%.3f to %.3f)   CPU ratio %.3f
  plain     %9.0f records/s   ratio %.3f (%.3f to %.3f)
`, f.Pairs, f.Rate, f.CPUMicros,
		f.BaselineRate, f.Ratio, f.RatioQ[0], f.RatioQ[2], f.CPURatio,
		f.PlainRate, f.RatioPlain, f.RatioPlainQ[0], f.RatioPlainQ[2])
}

func runNoop(ctx context.Context, o *options) (any, error) {
	topic := unique("holdbench-noop")
	value := make([]byte, noopBytes)
	header := []retry.Header{{Key: "source", Value: []byte("holdbench")}}
	n := int((o.window + warmUp).Seconds() * noopPerSecond)
	err := o.fill(ctx, topic, noopPartitions, n, func(int) client.Message {
		return client.Message{Value: value, Headers: header}
	})
	if err != nil {
		return nil, err
	}
	defer o.drop(topic)
	var best, plain, ours []sample
	for i := range o.pairs {
		for _, turn := range []struct {
			name string
			to   *[]sample
			side side
		}{
			{"best", &best, bestLoop(o.brokers, topic)},
			{"holdfast", &ours, noopConsumer(o.brokers, topic)},
			{"plain", &plain, plainLoop(o.brokers, topic)},
		} {
			s, err := measure(ctx, o.window, turn.side)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", turn.name, err)
			}
			o.progressf("%d/%d %-8s %9.0f records/s %6.2f us CPU a record", i+1, o.pairs, turn.name, s.rate, s.cpu*1e6)
			*turn.to = append(*turn.to, s)
		}
	}
	return noopResult(ours, best, plain), nil
}

func noopResult(ours, best, plain []sample) noopFigures {
	toBest := quartilesOf(ratios(ours, best, rateOf))
	toPlain := quartilesOf(ratios(ours, plain, rateOf))
	return noopFigures{
		Scenario: "noop", Pairs: len(ours),
		Ratio: toBest.median(), RatioQ: toBest, RatioPlain: toPlain.median(), RatioPlainQ: toPlain,
		Rate:         quartilesOf(figuresOf(ours, rateOf)).median(),
		BaselineRate: quartilesOf(figuresOf(best, rateOf)).median(),
		PlainRate:    quartilesOf(figuresOf(plain, rateOf)).median(),
		CPURatio:     quartilesOf(ratios(ours, best, cpuOf)).median(),
		CPUMicros:    quartilesOf(figuresOf(ours, cpuOf)).median() * 1e6,
	}
}

// noopConsumer is Holdfast with a handler that only counts.
func noopConsumer(brokers, topic string) side {
	var n atomic.Int64
	return side{
		count: n.Load,
		run: func(ctx context.Context) error {
			c, err := consumer.New(consumer.Config{
				Brokers: brokers, Group: unique("holdbench"), Provision: consumer.Create,
				Logger: slog.New(slog.DiscardHandler),
				Routes: []consumer.Route{{
					Topics: []string{topic},
					Handler: consumer.HandlerFunc(func(context.Context, *consumer.Record) error {
						n.Add(1)
						return nil
					}),
				}},
			})
			if err != nil {
				return err
			}
			return c.Run(ctx)
		},
	}
}
