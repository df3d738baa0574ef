package consumer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/holdfast-kafka/holdfast/internal/client/confluent"
)

// Consumer consumes a group's topics. Make it with [New], run it once with
// [Consumer.Run]. Its methods are safe for concurrent use.
type Consumer struct {
	cfg      Config
	ran      atomic.Bool
	stop     chan struct{} // closed to stop
	stopOnce sync.Once
	ended    chan struct{} // closed when Run returned
	rt       atomic.Pointer[runtime]
}

// New checks a configuration and returns a consumer for it, or every mistake
// in it, joined. Nothing is started and no broker is asked.
func New(cfg Config) (*Consumer, error) {
	full := cfg.withDefaults()
	if err := full.validate(&cfg); err != nil {
		return nil, fmt.Errorf("consumer config: %w", err)
	}
	if full.library == nil {
		full.library = confluent.Library{Logger: full.Logger}
	}
	return &Consumer{
		cfg:  full,
		stop: make(chan struct{}), ended: make(chan struct{}),
	}, nil
}

// Run checks the topics, joins the group and handles records until ctx ends or
// [Consumer.Stop] is called. It then lets running handlers finish within the
// drain timeout, cancels the rest, writes and commits what is done, and leaves
// the group.
//
// It returns nil when it was stopped and nothing was left behind; a
// [*StopError] when something was, or when a Kafka client broke; any other
// error when it could not start. It returns at the latest the drain timeout
// and 10 s after it was stopped. A second call returns [ErrAlreadyRun].
func (c *Consumer) Run(ctx context.Context) error {
	if c.ran.Swap(true) {
		return ErrAlreadyRun
	}
	defer close(c.ended)
	select {
	case <-ctx.Done():
		return nil // stopped before it began
	case <-c.stop:
		return nil
	default:
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unlink := context.AfterFunc(ctx, func() { c.stopOnce.Do(func() { close(c.stop) }) })
	defer unlink()
	stopping, stopped := context.WithCancel(context.WithoutCancel(ctx))
	defer stopped()
	go func() {
		select {
		case <-c.stop:
			stopped()
		case <-c.ended:
		}
	}()
	return c.run(ctx, stopping)
}

func (c *Consumer) run(ctx, stopping context.Context) error {
	rt, err := c.prepare(context.WithoutCancel(ctx), stopping)
	if err != nil {
		if stopping.Err() != nil {
			return nil // stopped before it began
		}
		return err
	}
	defer func() {
		if err := rt.closeAdmin(); err != nil {
			rt.log.closeFailed("admin client", err)
		}
	}()
	if err := rt.start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	c.rt.Store(rt)
	rt.loop(stopping)
	rt.stop()
	return rt.verdict()
}

// prepare makes a runtime, with the topics checked.
func (c *Consumer) prepare(base, stopping context.Context) (*runtime, error) {
	rt := &runtime{
		cfg: c.cfg, clock: newClock(),
		log:    newReporter(c.cfg.Logger, c.cfg.Observer, c.cfg.Group),
		events: make(chan any, eventBuffer), over: make(chan struct{}),
	}
	rt.base = attemptBase{ctx: base, start: rt.clock.start}
	rt.name, _ = os.Hostname()
	rt.breakers = newBreakers(rt)
	for i := range c.cfg.Routes {
		r := &route{Route: c.cfg.Routes[i], index: i}
		r.handler = chain(r.Handler, c.cfg.Use)
		rt.routes = append(rt.routes, r)
	}
	ctx, cancel := context.WithTimeout(stopping, c.cfg.StartTimeout)
	defer cancel()
	if err := rt.provision(ctx); err != nil {
		return nil, errors.Join(err, rt.closeAdmin())
	}
	return rt, nil
}

func (rt *runtime) closeAdmin() error {
	if rt.admin == nil {
		return nil
	}
	return rt.admin.Close()
}

// verdict is what Run returns.
func (rt *runtime) verdict() error {
	r := rt.report
	if r.Clean() {
		return nil
	}
	e := &StopError{Publishing: r.Publishing, Uncommitted: r.Uncommitted, Cause: r.Cause}
	for _, step := range r.Overran {
		e.Steps = append(e.Steps, string(step))
	}
	for _, id := range r.Unclosed {
		e.Unclosed = append(e.Unclosed, rt.pollers[id].name)
	}
	for _, w := range rt.workers {
		if t := w.running.Load(); t != nil {
			e.Running = append(e.Running, Running{
				Topic: t.record.Topic, Partition: t.record.Partition, Offset: t.record.Offset,
			})
		}
	}
	return e
}

// Stop stops the consumer and waits until Run returned, or ctx ends, whose
// error it then returns. Before Run it keeps Run from starting anything. More
// calls than one do the same.
func (c *Consumer) Stop(ctx context.Context) error {
	c.stopOnce.Do(func() { close(c.stop) })
	if !c.ran.Load() {
		return nil
	}
	select {
	case <-c.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// clientError is an error of one of the runtime's Kafka clients.
type clientError struct {
	client string
	err    error
}

func (e *clientError) Error() string { return e.client + ": " + e.err.Error() }

func (e *clientError) Unwrap() error { return e.err }
