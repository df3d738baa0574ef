package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdfast-kafka/holdfast/breaker"
	"github.com/holdfast-kafka/holdfast/consumer"
	"github.com/holdfast-kafka/holdfast/consumer/consumertest"
	"github.com/holdfast-kafka/holdfast/retry"
)

const (
	// partitions is how many the payments topic gets.
	partitions = 6
	// tick is how often the story looks whether everything is settled.
	tick = 100 * time.Millisecond
	// quiet is how long no payment must come before a consume-only run ends:
	// longer than a producer that is started beside it needs to go on.
	quiet = 5 * time.Second
	// endTimeout bounds what is done after the consumer has stopped.
	endTimeout = 20 * time.Second
)

// story is one run of the example.
type story struct {
	options
	*teller

	log *slog.Logger

	embedded  *consumertest.Broker // nil: somebody else's
	broker    *broker
	processor *processor
	consumer  *consumer.Consumer
	book      *book
	gateway   *gateway
	audit     *audit
	// unwatch ends the watching of the breaker.
	unwatch func()
	// ended gets the error of the consumer's Run.
	ended chan error
}

// tell runs the story to its end and cleans up after it.
func tell(ctx context.Context, o options, t *teller, log *slog.Logger) result {
	s := &story{options: o, teller: t, log: log, ended: make(chan error, 1)}
	defer s.close(ctx)
	var r result
	if r.err = s.prepare(ctx); r.err == nil {
		r = s.play(ctx)
	} else {
		r.usage = s.consumer == nil && s.broker != nil
	}
	if r.interrupted = r.interrupted || r.err != nil && ctx.Err() != nil; r.interrupted {
		r.err = nil
	}
	return r
}

// prepare starts everything but the consumer.
func (s *story) prepare(ctx context.Context) error {
	if s.brokers == "" {
		embedded, err := consumertest.NewBroker()
		if err != nil {
			return err
		}
		s.embedded, s.brokers = embedded, embedded.Addr()
	}
	var err error
	if s.broker, err = openBroker(s.brokers); err != nil {
		return err
	}
	gatewayBreaker, err := newBreaker()
	if err != nil {
		return err
	}
	s.processor = &processor{gateway: gatewayBreaker}
	if s.consumer, err = newConsumer(s.brokers, s.topic, s.group, s.processor, s.log); err != nil {
		return err
	}
	s.unwatch = gatewayBreaker.Watch(s.breakerChanged)
	return s.prepareGateway(ctx)
}

func (s *story) prepareGateway(ctx context.Context) error {
	book := bookTopic(s.topic, s.group)
	if err := s.broker.create(ctx, map[string]int{s.topic: partitions, book: 1}); err != nil {
		return err
	}
	if _, err := s.broker.await(ctx, []string{s.topic, book}); err != nil {
		return err
	}
	var err error
	if s.book, err = openBook(ctx, s.broker.seeds, book, func() { s.processor.release.Store(2) }); err != nil {
		return err
	}
	behaviour := newScript(s.seed, s.payments)
	if s.script != nil {
		behaviour = *s.script
	}
	if s.gateway, err = startGateway(ctx, behaviour, s.book, s.sayf); err != nil {
		return err
	}
	s.processor.cards = newCards(s.gateway.url, concurrency)
	s.opening(s)
	if s.consumeOnly {
		return s.deploy(ctx)
	}
	if err := writePayments(ctx, s.broker.seeds, s.topic, s.seed, s.payments); err != nil {
		return err
	}
	s.sayf("%s payments are written", thousands(s.payments))
	return nil
}

// deploy makes this the release that was asked for.
func (s *story) deploy(ctx context.Context) error {
	if s.release < 2 {
		return nil
	}
	return s.book.write(ctx, entry{Kind: entryRelease})
}

// play runs the consumer, lets the acts happen, stops it and counts.
func (s *story) play(ctx context.Context) result {
	acting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // ends with the consumer, which finish waits for
		err := s.consumer.Run(acting)
		s.ended <- err
		stop(errors.Join(errConsumerEnded, err))
	}()
	err := s.acts(acting)
	interrupted := err != nil && ctx.Err() != nil
	if err == nil && s.serve {
		err = s.stay(acting)
		if ctx.Err() == nil {
			err = errors.Join(err, context.Cause(acting))
		}
	}
	r := s.finish(ctx, stop)
	r.interrupted = interrupted
	if !s.serve {
		r.closing = s.closing()
	}
	if !interrupted {
		r.err = errors.Join(err, r.err)
	}
	return r
}

var errConsumerEnded = errors.New("the consumer ended by itself")

// acts are the story.
func (s *story) acts(ctx context.Context) error {
	var err error
	if s.audit, err = openAudit(ctx, s.broker, s.topic, s.group, policy().Lanes, s.log); err != nil {
		return causeOf(ctx, err)
	}
	if err = s.settle(ctx); err != nil {
		return err
	}
	s.sayf("nothing is left to do")
	if !s.consumeOnly {
		if err := s.replay(ctx); err != nil {
			return causeOf(ctx, err)
		}
	}
	return nil
}

// stay tells what there is to see and waits until ctx ends.
func (s *story) stay(ctx context.Context) error {
	f, err := s.audit.figures(ctx)
	if err != nil {
		return causeOf(ctx, err)
	}
	s.table(&f)
	s.serving(s)
	<-ctx.Done()
	return nil
}

// settle waits until the group has handled everything and no more is expected.
func (s *story) settle(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	written, since := 0, time.Now()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		idle, err := s.audit.idle(ctx)
		if err != nil {
			return causeOf(ctx, err)
		}
		if s.audit.written != written {
			written, since = s.audit.written, time.Now()
		}
		if idle && s.complete(written, time.Since(since)) {
			return nil
		}
	}
}

// complete reports that no more payments are expected after so many, the last
// of which came some time ago.
func (s *story) complete(written int, ago time.Duration) bool {
	switch {
	case !s.consumeOnly || s.paymentsSet:
		return written >= s.payments
	default:
		return written > 0 && ago >= quiet
	}
}

// finish stops the consumer and the gateway and counts for the last time.
func (s *story) finish(ctx context.Context, stop context.CancelCauseFunc) result {
	stop(nil)
	runErr := <-s.ended
	s.processor.cards.http.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := errors.Join(runErr, s.gateway.close(ctx), s.book.close(ctx))
	s.gateway, s.book = nil, nil
	if s.audit == nil {
		return result{err: err}
	}
	f, countErr := s.audit.figures(ctx)
	return result{figures: f, counted: countErr == nil, err: errors.Join(err, countErr)}
}

// close frees what is still there.
func (s *story) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if s.unwatch != nil {
		s.unwatch()
	}
	var err error
	if s.gateway != nil {
		err = errors.Join(err, s.gateway.close(ctx))
	}
	if s.book != nil {
		err = errors.Join(err, s.book.close(ctx))
	}
	if err != nil {
		s.log.WarnContext(ctx, "close", "error", err)
	}
	if s.audit != nil {
		s.audit.close()
	}
	if s.broker != nil {
		s.broker.close()
	}
	if s.embedded != nil {
		s.embedded.Close()
	}
}

func (s *story) breakerChanged(b breaker.Snapshot) {
	if b.State == breaker.Open && b.Openings == 1 {
		s.sayf("the breaker opens: payments wait, and it costs them no attempt")
	}
	if b.State == breaker.Closed {
		s.sayf("the breaker closes: payments go on")
	}
}

// causeOf returns why ctx ended, or err where it did not.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// dlqTopic is where the dead letters are.
func (s *story) dlqTopic() string { return retry.DLQTopic(s.topic, s.group) }
