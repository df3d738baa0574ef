// Package dlqtest writes dead letters for the tests of dlqctl.
package dlqtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/holdfast-kafka/holdfast/dlq"
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/client/confluent"
	"github.com/holdfast-kafka/holdfast/retry"
)

// The topics that the letters speak of.
const (
	DLQ  = "payments.billing.dlq"
	Lane = "payments.billing.replay"
)

// Set describes dead letters to write. Letter n comes from payments/n%2/n and
// goes to the partition n%2 of the DLQ.
type Set struct {
	From, Count int
	Value       string // "" is {"n":<n>}
	Tombstone   bool   // the value is null
	Foreign     bool   // without our headers
	Replays     int
	Error       string
	Cluster     string // "" leaves it unknown
}

// Parse reads the arguments of the script command: [flags] count.
func Parse(args []string) (Set, error) {
	var s Set
	flags := flag.NewFlagSet("letters", flag.ContinueOnError)
	flags.IntVar(&s.From, "from", 0, "number of the first letter")
	flags.StringVar(&s.Value, "value", "", "value, Go-quoted")
	flags.BoolVar(&s.Tombstone, "tombstone", false, "null value")
	flags.BoolVar(&s.Foreign, "foreign", false, "no headers of ours")
	flags.IntVar(&s.Replays, "replays", 0, "times replayed before")
	flags.StringVar(&s.Error, "error", "gateway: 503", "error text, Go-quoted")
	flags.StringVar(&s.Cluster, "cluster", "", "cluster id")
	if err := flags.Parse(args); err != nil {
		return s, fmt.Errorf("letters: %w", err)
	}
	for _, text := range []*string{&s.Value, &s.Error} {
		if unquoted, err := strconv.Unquote(`"` + *text + `"`); err == nil {
			*text = unquoted
		}
	}
	count, err := strconv.Atoi(flags.Arg(0))
	if err != nil {
		return s, fmt.Errorf("letters: count: %w", err)
	}
	s.Count = count
	return s, nil
}

// Write writes the letters and waits for them.
func (s Set) Write(brokers string) error {
	reports := make(chan error, s.Count)
	producer, err := confluent.Library{Logger: slog.New(slog.DiscardHandler)}.Producer(client.ProducerConfig{
		Config: client.Config{"bootstrap.servers": brokers, "linger.ms": "0"},
		OnReports: func(list []client.Report) {
			for _, r := range list {
				reports <- r.Err
			}
		},
	})
	if err != nil {
		return err
	}
	defer func() { _ = producer.Close() }()
	for n := s.From; n < s.From+s.Count; n++ {
		m := s.message(n)
		if err := producer.Produce(&m, nil); err != nil {
			return err
		}
	}
	var problems []error
	for range s.Count {
		problems = append(problems, <-reports)
	}
	return errors.Join(append(problems, producer.Flush(context.Background()))...)
}

func (s Set) message(n int) client.Message {
	l := dlq.Letter{
		Key:   fmt.Appendf(nil, "order-%d", n),
		Value: fmt.Appendf(nil, `{"n":%d,"amount":12345678901234567890}`, n),
		User:  []retry.Header{{Key: "trace", Value: fmt.Appendf(nil, "t%d", n)}, {Key: "nothing"}},
		Stamp: retry.Stamp{
			Count: 3, Disposition: retry.DispositionExhausted, Fingerprint: dlq.Fingerprint("*gateway.Error", s.Error, ""),
			Meta: retry.Meta{
				Group: "billing", Cluster: s.Cluster, Client: "billing-1",
				Origin:    retry.Origin{Topic: "payments", Partition: int32(n % 2), Offset: int64(n), Timestamp: 1790000000000, TimestampType: 1},
				ErrorType: "*gateway.Error", Error: s.Error, Hop: 3,
				Stack: "main.charge(0x1)\n\t/src/charge.go:42 +0x1f\n",
			},
		},
	}
	for i := range 3 {
		l.Stamp.Meta = l.Stamp.Meta.WithFailure(retry.Failure{At: 1790000000100 + int64(i)*1000, Class: "transient", Text: s.Error})
	}
	switch {
	case s.Tombstone:
		l.Value = nil
	case s.Value != "":
		l.Value = []byte(s.Value)
	}
	if s.Replays > 0 {
		l.Stamp.Meta.Replay = &retry.Replay{Of: DLQ + "/0/0", Count: s.Replays, Run: "earlier.1"}
	}
	if s.Foreign {
		return client.Message{Topic: DLQ, Partition: int32(n % 2), Key: l.Key, Value: l.Value, Headers: l.User}
	}
	return l.Message(DLQ, int32(n%2))
}
