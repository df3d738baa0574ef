package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-kafka/holdfast/consumer"
	"github.com/holdfast-kafka/holdfast/internal/client"
)

const byKeyHelp = `Measures how many records a second handlers get that take 0 to 5 ms each, 100
at once, ordered by key, from 6 partitions and 5,000 keys, against the same
works done by a plain pool of 100 goroutines over queues by key, without Kafka.`

const (
	byKeyKeys    = 5_000
	byKeyWorkers = 100
	byKeyLongest = 5 * time.Millisecond
	// byKeyPerSecond is more than the arithmetic allows: 100 workers, 2.5 ms.
	byKeyPerSecond = 45_000
	byKeySeed      = 20261201
)

// byKeyFigures is what the scenario prints.
type byKeyFigures struct {
	Scenario     string     `json:"scenario"`
	Ratio        float64    `json:"ratio"`
	RatioQ       [3]float64 `json:"ratio_quartiles"`
	Rate         float64    `json:"rate"`
	BaselineRate float64    `json:"baseline_rate"`
	CPURatio     float64    `json:"cpu_ratio"`
	Pairs        int        `json:"pairs"`
}

// Format prints the figures for people.
func (f byKeyFigures) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, `bykey: median of %d interleaved pairs (quartiles)
  holdfast   %8.0f records/s
  plain pool %8.0f records/s   ratio %.3f (%.3f to %.3f)   CPU ratio %.3f
`, f.Pairs, f.Rate, f.BaselineRate, f.Ratio, f.RatioQ[0], f.RatioQ[2], f.CPURatio)
}

// work is one record's key and how long its handler takes.
type work struct {
	key  uint32
	took time.Duration
}

func works(n int) []work {
	random := rand.New(rand.NewPCG(byKeySeed, 1))
	all := make([]work, n)
	for i := range all {
		all[i] = work{key: random.Uint32N(byKeyKeys), took: time.Duration(random.Int64N(int64(byKeyLongest)))}
	}
	return all
}

func runByKey(ctx context.Context, o *options) (any, error) {
	topic := unique("holdbench-bykey")
	all := works(int((o.window + 2*warmUp).Seconds() * byKeyPerSecond))
	err := o.fill(ctx, topic, noopPartitions, len(all), func(i int) client.Message {
		return client.Message{
			Key:   binary.BigEndian.AppendUint32(nil, all[i].key),
			Value: binary.BigEndian.AppendUint64(nil, uint64(all[i].took)),
		}
	})
	if err != nil {
		return nil, err
	}
	defer o.drop(topic)
	var ours, pool []sample
	for i := range o.pairs {
		b, err := measure(ctx, o.window, plainPool(all))
		if err != nil {
			return nil, fmt.Errorf("plain pool: %w", err)
		}
		a, err := measure(ctx, o.window, byKeyConsumer(o.brokers, topic))
		if err != nil {
			return nil, fmt.Errorf("holdfast: %w", err)
		}
		o.progressf("%d/%d plain pool %8.0f records/s, holdfast %8.0f", i+1, o.pairs, b.rate, a.rate)
		ours, pool = append(ours, a), append(pool, b)
	}
	q := quartilesOf(ratios(ours, pool, rateOf))
	return byKeyFigures{
		Scenario: "bykey", Pairs: o.pairs, Ratio: q.median(), RatioQ: q,
		Rate:         quartilesOf(figuresOf(ours, rateOf)).median(),
		BaselineRate: quartilesOf(figuresOf(pool, rateOf)).median(),
		CPURatio:     quartilesOf(ratios(ours, pool, cpuOf)).median(),
	}, nil
}

func byKeyConsumer(brokers, topic string) side {
	var n atomic.Int64
	return side{
		count: n.Load,
		run: func(ctx context.Context) error {
			c, err := consumer.New(consumer.Config{
				Brokers: brokers, Group: unique("holdbench"), Provision: consumer.Create,
				Concurrency: byKeyWorkers, Logger: slog.New(slog.DiscardHandler),
				Routes: []consumer.Route{{
					Topics: []string{topic}, Ordering: consumer.ByKey,
					Handler: consumer.HandlerFunc(func(_ context.Context, r *consumer.Record) error {
						time.Sleep(time.Duration(binary.BigEndian.Uint64(r.Value)))
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

// plainPool does the works on a pool of goroutines over queues by key.
func plainPool(all []work) side {
	var n atomic.Int64
	return side{
		count: n.Load,
		run: func(ctx context.Context) error {
			p := &pool{queues: map[uint32][]work{}, ready: make(chan uint32, byKeyKeys)}
			var workers sync.WaitGroup
			for range byKeyWorkers {
				workers.Go(func() { p.work(ctx, &n) })
			}
			p.feed(ctx, all, &n)
			workers.Wait()
			return nil
		},
	}
}

type pool struct {
	mu     sync.Mutex // guards queues
	queues map[uint32][]work
	ready  chan uint32 // keys with work that no worker has in hand
}

// feed keeps the queues as full as Holdfast's buffers are.
func (p *pool) feed(ctx context.Context, all []work, done *atomic.Int64) {
	const ahead = 50_000
	for i, w := range all {
		for int64(i)-done.Load() >= ahead {
			if pause(ctx, time.Millisecond) != nil {
				return
			}
		}
		p.mu.Lock()
		q := p.queues[w.key]
		p.queues[w.key] = append(q, w)
		p.mu.Unlock()
		if len(q) == 0 {
			p.ready <- w.key
		}
	}
	<-ctx.Done()
}

func (p *pool) work(ctx context.Context, n *atomic.Int64) {
	for {
		var key uint32
		select {
		case key = <-p.ready:
		case <-ctx.Done():
			return
		}
		p.mu.Lock()
		w := p.queues[key][0]
		p.mu.Unlock()
		time.Sleep(w.took)
		n.Add(1)
		p.mu.Lock()
		q := p.queues[key][1:]
		p.queues[key] = q
		p.mu.Unlock()
		if len(q) > 0 {
			p.ready <- key
		}
	}
}
