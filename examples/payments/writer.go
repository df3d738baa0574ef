package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// writePayments appends payments to a topic and waits until they are
// acknowledged. The same seed writes the same payments.
func writePayments(ctx context.Context, brokers []string, topic string, seed uint64, count int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		return fmt.Errorf("write payments: %w", err)
	}
	defer client.Close()
	records := make([]*kgo.Record, count)
	for i := range records {
		records[i] = newPayment(seed, i)
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("write payments to %s: %w", topic, err)
	}
	return nil
}

// newPayment returns the i-th payment of a seed: mostly a good one, sometimes
// what a payments topic also holds.
func newPayment(seed uint64, i int) *kgo.Record {
	dice := rand.New(rand.NewPCG(seed, uint64(i)))
	id := fmt.Sprintf("p%d-%06d", seed, i)
	cents := 100 + dice.IntN(50_000)
	currency := []string{"EUR", "USD", "GBP"}[dice.IntN(3)]
	record := &kgo.Record{Key: []byte(id)}
	value := func(amount string) {
		record.Value = fmt.Appendf(nil, `{"id":%q,"amount_cents":%s,"currency":%q}`, id, amount, currency)
	}
	switch roll := dice.IntN(1000); {
	case roll < 10: // cancelled: no value
	case roll < 20:
		currency = "BRL"
		value(strconv.Itoa(cents))
	case roll < 27: // a partner writes amounts as text
		value(strconv.Quote(strconv.Itoa(cents)))
	case roll < 30: // cut off
		value(strconv.Itoa(cents))
		record.Value = record.Value[:len(record.Value)/2]
	default:
		value(strconv.Itoa(cents))
	}
	return record
}
