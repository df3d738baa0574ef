package clienttest

import (
	"context"
	"strconv"
	"sync"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// writer is a producer with the reports it got.
type writer struct {
	client.Producer

	bench *bench

	mu      sync.Mutex
	reports []client.Report
	errors  []*client.Error
}

func (w *writer) config(extra client.Config) client.ProducerConfig {
	return client.ProducerConfig{
		Config: w.bench.config(extra),
		OnReports: func(reports []client.Report) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.reports = append(w.reports, reports...)
		},
		OnError: func(err *client.Error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.errors = append(w.errors, err)
		},
	}
}

// producer makes a producer. Cleanup closes it.
func (b *bench) producer(extra client.Config) *writer {
	b.Helper()
	w := &writer{bench: b}
	inner, err := b.harness.Library.Producer(w.config(extra))
	b.must(err)
	w.Producer = inner
	b.Cleanup(func() { b.check(w.Close()) })
	return w
}

// transactor makes a transactional producer that has begun nothing.
func (b *bench) transactor(id string) (*writer, client.Transactor) {
	b.Helper()
	w := &writer{bench: b}
	inner, err := b.harness.Library.Transactor(w.config(client.Config{
		"transactional.id": id, "linger.ms": "0",
	}))
	b.must(err)
	w.Producer = inner
	b.Cleanup(func() { b.check(inner.Close()) })
	return w, inner
}

// got returns the reports so far.
func (w *writer) got() []client.Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]client.Report(nil), w.reports...)
}

// put produces values to one partition with their index as tag.
func (w *writer) put(topic string, partition int32, values ...string) {
	w.bench.Helper()
	for i, value := range values {
		w.bench.must(w.Produce(&client.Message{Topic: topic, Partition: partition, Value: []byte(value)}, i))
	}
}

func (w *writer) flush() {
	w.bench.Helper()
	w.bench.must(w.Flush(w.bench.context()))
}

// write produces values to one partition and waits until they are there.
func (b *bench) write(topic string, partition int32, values ...string) {
	b.Helper()
	if b.writer == nil {
		b.writer = b.producer(client.Config{"linger.ms": "0"})
	}
	b.writer.put(topic, partition, values...)
	b.writer.flush()
	for _, report := range b.writer.got() {
		b.check(report.Err)
	}
}

// numbers are n different values.
func numbers(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
