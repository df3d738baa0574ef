package dlq

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// benchLetters is how many dead letters a benchmark works on: seconds of work.
const benchLetters = 100_000

// fill writes dead letters with values of 512 bytes.
func (b *bed) fill(n int) {
	b.tb.Helper()
	messages := make([]client.Message, n)
	for i := range messages {
		l := b.letter(i)
		l.Value = bytes.Repeat([]byte("v"), 512)
		messages[i] = l.Message(b.dlq, l.Stamp.Meta.Origin.Partition)
	}
	b.produce(messages...)
}

func BenchmarkScan(b *testing.B) {
	bed := newBed(b)
	bed.fill(benchLetters)
	for b.Loop() {
		_, err := bed.Scan(b.Context(), ScanRequest{Topic: bed.dlq}, func(*Record) error { return nil })
		bed.check(err)
	}
	b.ReportMetric(float64(benchLetters)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkReplay compares a replay with a bare transactional producer of the
// same records and batches.
func BenchmarkReplay(b *testing.B) {
	for _, batch := range []int{DefaultBatch, 2000, MaxBatch} {
		b.Run(fmt.Sprintf("batch %d", batch), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				bed := newBed(b)
				bed.fill(benchLetters)
				plan, err := bed.Plan(b.Context(), PlanRequest{DLQ: bed.dlq})
				bed.check(err)
				bare := bed.bare(batch)
				b.StartTimer()
				start := time.Now()
				result, err := bed.Replay(b.Context(), plan, ReplayOptions{Batch: batch})
				took := time.Since(start)
				bed.check(err)
				if result.Sent != benchLetters {
					b.Fatalf("%d sent", result.Sent)
				}
				b.ReportMetric(benchLetters/took.Seconds(), "records/s")
				b.ReportMetric(bare.Seconds()/took.Seconds(), "of-bare")
			}
		})
	}
}

// bare is how long a transactional producer takes that only produces.
func (b *bed) bare(batch int) time.Duration {
	b.tb.Helper()
	records := b.read(b.dlq)
	tx, err := openTransaction(b.Cluster, "", "bare-"+b.source, 1_000_000)
	b.check(err)
	ctx := b.tb.Context()
	b.check(tx.init(ctx))
	messages := make([]client.Message, 0, batch)
	start := time.Now()
	for i, r := range records {
		messages = append(messages, client.Message{Topic: b.source, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers})
		if len(messages) == batch || i == len(records)-1 {
			b.check(tx.write(ctx, messages))
			messages = messages[:0]
		}
	}
	took := time.Since(start)
	b.check(tx.close())
	return took
}
