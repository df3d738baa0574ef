//go:build cgo

package confluent

import (
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

// maxReports bounds one call of OnReports, so that the first of many does not
// wait for the last.
const maxReports = 256

// drain serves the producer's events until Close closes the channel: it is the
// only reader, and a report that nobody reads stops all that follow.
func (p *producer) drain() {
	defer close(p.drained)
	for event := range p.kafka.Events() {
		p.deliver(p.gather(event))
	}
}

// gather collects the reports that are there without waiting for more. The
// slice is the callback's to keep.
func (p *producer) gather(event kafka.Event) []client.Report {
	events := p.kafka.Events()
	reports := make([]client.Report, 0, min(len(events)+1, maxReports))
	for {
		if report, ok := p.serve(event); ok {
			reports = append(reports, report)
		}
		if len(reports) == cap(reports) {
			return reports
		}
		var open bool
		select {
		case event, open = <-events:
			if !open {
				return reports
			}
		default:
			return reports
		}
	}
}

// serve turns a delivery report into ours and deals with every other event.
func (p *producer) serve(event kafka.Event) (client.Report, bool) {
	switch event := event.(type) {
	case *kafka.Message:
		return client.Report{
			Tag:       event.Opaque,
			Partition: event.TopicPartition.Partition,
			Offset:    int64(event.TopicPartition.Offset),
			Err:       errorOf(event.TopicPartition.Error),
		}, true
	case kafka.Error:
		p.tell(clientError(event))
	case kafka.OAuthBearerTokenRefresh:
		err := noToken()
		_ = p.kafka.SetOAuthBearerTokenFailure(err.Text) // told below either way
		p.tell(err)
	}
	return client.Report{}, false
}

func (p *producer) tell(err *client.Error) {
	if p.config.OnError != nil {
		p.config.OnError(err)
	}
}

func (p *producer) deliver(reports []client.Report) {
	if len(reports) == 0 {
		return
	}
	if p.config.OnReports != nil {
		p.config.OnReports(reports)
	}
	p.settle(len(reports))
}

// settle counts messages off once their reports are delivered.
func (p *producer) settle(n int) {
	p.outstanding.Add(int64(-n))
	select {
	case p.settled <- struct{}{}:
	default:
	}
}
