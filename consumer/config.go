package consumer

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-kafka/holdfast/breaker"
	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/retry"
)

// Defaults of [Config].
const (
	// ConcurrencyDefault lets a handler that waits for a downstream overlap
	// enough to hide a few milliseconds, without surprising the downstream.
	ConcurrencyDefault = 16
	// CommitIntervalDefault bounds what is seen again after a crash to a
	// second's work. A commit costs the group's coordinator a write.
	CommitIntervalDefault = time.Second
	// DrainTimeoutMax is the default wait for running handlers at a revoke
	// or a shutdown, unless a third of max.poll.interval.ms is less: the
	// group waits for the whole of it, and the client is thrown out at the
	// poll interval.
	DrainTimeoutMax = 10 * time.Second
	// MaxUncommittedDefault bounds the records that a crash can repeat
	// behind one stuck record, and the memory to remember them: 160 kB a
	// partition.
	MaxUncommittedDefault = 10_000
	// MaxBufferedDefault and MaxBufferedBytesDefault bound what waits in
	// memory over all source partitions of a client.
	MaxBufferedDefault      = 50_000
	MaxBufferedBytesDefault = 64 << 20
	// TimeoutDefault is the time for one attempt: longer than the timeouts of
	// usual HTTP clients, so that theirs are seen first.
	TimeoutDefault = time.Minute
	// StartTimeoutDefault bounds the checks before subscribing. A broker
	// that starts at the same time is up well within it.
	StartTimeoutDefault = 30 * time.Second
)

// NoTimeout as [Route.Timeout] lets an attempt take as long as it likes.
const NoTimeout time.Duration = -1

// Config configures a [Consumer]. The zero value of a field is its documented
// default. New takes a copy.
type Config struct {
	// Brokers are the bootstrap addresses, host:port separated by commas.
	// Required, and used instead of bootstrap.servers in Kafka.
	Brokers string
	// Group is the consumer group. Required.
	Group string
	// Kafka holds any configuration keys of the client library librdkafka:
	// security, session timeouts, group.protocol, group.instance.id,
	// fetch sizes. The keys that Holdfast's promises depend on are refused,
	// with the reason: those of commits, acknowledgements, retries, sizes of
	// batches, and what Brokers, Group and Routes say. auto.offset.reset is
	// earliest unless set here.
	Kafka map[string]string
	// Routes say what is consumed and how. At least one.
	Routes []Route
	// Retry is the policy of the routes that have none. Default: the zero
	// [retry.Policy].
	Retry retry.Policy
	// Classifier decides what an error means. Default:
	// [retry.DefaultClassifier].
	Classifier retry.Classifier
	// Use wraps every route's handler, the first outermost.
	Use []Middleware
	// Concurrency is how many handlers run at once, over all routes and
	// partitions. Default 16.
	Concurrency int
	// Clients is how many Kafka clients read the sources. One reads 100,000
	// to 200,000 records a second; more help when the handlers keep up with
	// that. Default 1, at most 16.
	Clients int
	// CommitInterval is how often positions are committed, if they moved.
	// Default 1 s, range 10 ms to 1 min.
	CommitInterval time.Duration
	// DrainTimeout is how long a revoke and a shutdown wait for running
	// handlers before they are cancelled. Set it above what your slowest
	// handlers usually take: a handler cut off is repeated elsewhere.
	// Default: 10 s, or a third of max.poll.interval.ms if that is less,
	// which is also the most.
	DrainTimeout time.Duration
	// MaxUncommitted is how many records of a partition may be taken past
	// the oldest unfinished one. Default 10,000.
	MaxUncommitted int
	// MaxBuffered and MaxBufferedBytes bound the records that wait in memory
	// over all partitions of a client; a partition that reaches its share is
	// paused. Default 50,000 and 64 MiB.
	MaxBuffered      int
	MaxBufferedBytes int
	// Provision says what to do about the topics before subscribing.
	// Default [Verify].
	Provision Provision
	// StartTimeout bounds the checks before subscribing: when no broker
	// answers in that time, Run fails and says so. Default 30 s.
	StartTimeout time.Duration
	// Logger gets what happens; never keys, payloads or header values.
	// Default [slog.Default].
	Logger *slog.Logger
	// Observer is told what happens to records. Default: nobody.
	Observer Observer

	library client.Library
}

// Route says how the records of some topics are handled.
type Route struct {
	// Topics are the source topics, at least one. A topic belongs to one route.
	Topics []string
	// Handler does the work. Required.
	Handler Handler
	// Ordering is the unit within which records are handled one at a time
	// and in order. Default [ByPartition].
	Ordering Ordering
	// Retry is the route's policy. Default: the consumer's.
	Retry *retry.Policy
	// RetryMode says where failed records wait. Default [Lanes].
	RetryMode RetryMode
	// Timeout is the time for one attempt; [NoTimeout] for none. Default
	// one minute.
	Timeout time.Duration
	// Breakers are the breakers that the handler calls through. While one is
	// open the route's records wait in front of the handler. A breaker that
	// is not named here is learned from the first record it refuses.
	Breakers []*breaker.Breaker
	// DLQ says what becomes of records given up on. Default [ToDLQ].
	DLQ DLQ
	// TooLarge says what becomes of copies that their topic refuses for
	// their size. Default [TooLargeHold].
	TooLarge TooLarge
}

// Ordering is the unit within which records are handled one at a time.
type Ordering uint8

// The orderings.
const (
	// ByPartition handles the records of a partition one at a time.
	ByPartition Ordering = iota
	// ByKey handles the records of a partition with equal keys one at a
	// time, compared byte by byte. Records without a key are unordered.
	ByKey
	// Unordered handles records in any order.
	Unordered
)

// RetryMode says where failed records wait.
type RetryMode uint8

// The retry modes.
const (
	// Lanes sends a failed record to a retry topic; the records behind it go
	// on. It gives up its place in the order.
	Lanes RetryMode = iota
	// InPlace keeps a failed record in memory and its ordering unit behind
	// it, so that order holds over retries. The attempts made so far are
	// forgotten in a crash or a rebalance.
	InPlace
)

// DLQ says what becomes of records given up on.
type DLQ uint8

// What to do with records given up on.
const (
	// ToDLQ writes them to the dead-letter topic.
	ToDLQ DLQ = iota
	// DLQBlock keeps them: their ordering unit waits and they are tried again
	// at the policy's longest wait, until they succeed.
	DLQBlock
	// DLQDrop drops them. Choose it only for what nobody will miss.
	DLQDrop
)

// TooLarge says what becomes of copies that are refused for their size.
type TooLarge uint8

// What to do with copies that are refused for their size.
const (
	// TooLargeHold holds the record and tries again every 30 s, until
	// somebody raises the topic's max.message.bytes.
	TooLargeHold TooLarge = iota
	// TooLargeOmit writes the dead letter without key, value and headers of
	// the user's; its origin tells where they can be read while the source
	// keeps them. A retry copy is still held.
	TooLargeOmit
)

// Provision says what to do about topics before subscribing.
type Provision uint8

// The ways of provisioning.
const (
	// Verify checks that lanes and dead-letter topics exist and can hold
	// what they must, and fails with every problem found.
	Verify Provision = iota
	// Create creates what is missing, like the source in partitions,
	// replication and min.insync.replicas, and then verifies.
	Create
	// ProvisionOff checks nothing. A missing topic then shows when it is
	// first written to: records are held until it is there.
	ProvisionOff
)

// withDefaults returns a copy with every unset field set.
func (c Config) withDefaults() Config {
	c.Kafka = maps.Clone(c.Kafka)
	c.Routes = slices.Clone(c.Routes)
	c.Use = slices.Clone(c.Use)
	if c.Classifier == nil {
		c.Classifier = retry.DefaultClassifier()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	c.Concurrency = cmp.Or(c.Concurrency, ConcurrencyDefault)
	c.Clients = cmp.Or(c.Clients, 1)
	c.CommitInterval = cmp.Or(c.CommitInterval, CommitIntervalDefault)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, min(DrainTimeoutMax, c.maxPollInterval()/3))
	c.MaxUncommitted = cmp.Or(c.MaxUncommitted, MaxUncommittedDefault)
	c.MaxBuffered = cmp.Or(c.MaxBuffered, MaxBufferedDefault)
	c.MaxBufferedBytes = cmp.Or(c.MaxBufferedBytes, MaxBufferedBytesDefault)
	c.StartTimeout = cmp.Or(c.StartTimeout, StartTimeoutDefault)
	for i := range c.Routes {
		c.Routes[i] = c.Routes[i].withDefaults(c.Retry)
	}
	return c
}

func (r Route) withDefaults(policy retry.Policy) Route {
	r.Topics = slices.Clone(r.Topics)
	r.Breakers = slices.Clone(r.Breakers)
	if r.Retry != nil {
		policy = *r.Retry
	}
	policy = policy.WithDefaults()
	r.Retry = &policy
	r.Timeout = cmp.Or(r.Timeout, TimeoutDefault)
	return r
}

// validate returns every mistake of a configuration with its defaults set.
func (c *Config) validate(original *Config) error {
	var errs []error
	addf := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Brokers == "" {
		addf("brokers: required, host:port separated by commas")
	}
	if c.Group == "" {
		addf("group: required")
	}
	within(&errs, "concurrency", c.Concurrency, 1, 100_000)
	within(&errs, "clients", c.Clients, 1, 16)
	within(&errs, "commit interval", c.CommitInterval, 10*time.Millisecond, time.Minute)
	within(&errs, "drain timeout", c.DrainTimeout, time.Millisecond, c.maxPollInterval()/3)
	within(&errs, "max uncommitted", c.MaxUncommitted, 1, 1_000_000)
	within(&errs, "max buffered", c.MaxBuffered, 1, 100_000_000)
	within(&errs, "max buffered bytes", c.MaxBufferedBytes, 1<<10, 1<<40)
	within(&errs, "start timeout", c.StartTimeout, time.Millisecond, time.Hour)
	within(&errs, "provision", c.Provision, Verify, ProvisionOff)
	if err := original.Retry.Validate(); err != nil {
		addf("retry: %w", err)
	}
	errs = append(errs, ownedKeys(c.Kafka)...)
	for i, wrap := range c.Use {
		if wrap == nil {
			addf("use %d: nil", i)
		}
	}
	if len(c.Routes) == 0 {
		addf("routes: at least one is required")
	}
	owner := map[string]int{}
	for i := range c.Routes {
		for _, err := range c.validateRoute(i, &original.Routes[i], owner) {
			addf("route %d: %w", i, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Config) validateRoute(i int, original *Route, owner map[string]int) []error {
	var errs []error
	addf := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	r := &c.Routes[i]
	if f, ok := r.Handler.(HandlerFunc); r.Handler == nil || (ok && f == nil) {
		addf("handler: required")
	}
	if len(r.Topics) == 0 {
		addf("topics: at least one is required")
	}
	for _, topic := range r.Topics {
		if other, taken := owner[topic]; taken {
			addf("topic %q: already belongs to route %d", topic, other)
		}
		owner[topic] = i
		errs = append(errs, c.validateTopic(topic, r)...)
	}
	within(&errs, "ordering", r.Ordering, ByPartition, Unordered)
	within(&errs, "retry mode", r.RetryMode, Lanes, InPlace)
	within(&errs, "dlq", r.DLQ, ToDLQ, DLQDrop)
	within(&errs, "too large", r.TooLarge, TooLargeHold, TooLargeOmit)
	if r.Timeout != NoTimeout {
		within(&errs, "timeout", r.Timeout, time.Millisecond, 24*time.Hour)
	}
	if original.Retry != nil {
		if err := original.Retry.Validate(); err != nil {
			addf("retry: %w", err)
		}
	}
	for j, b := range r.Breakers {
		if b == nil {
			addf("breaker %d: nil", j)
		}
	}
	return errs
}

func (c *Config) validateTopic(topic string, r *Route) []error {
	switch {
	case topic == "":
		return []error{errors.New("topic: empty name")}
	case topic[0] == '^':
		return []error{fmt.Errorf("topic %q: regular expressions are not supported, name the topics", topic)}
	case retry.IsReservedTopic(topic):
		return []error{fmt.Errorf("topic %q: has the name of a lane, dead-letter or ledger topic; consume those with dlqctl", topic)}
	case c.Group == "":
		return nil
	}
	if err := retry.ValidateTopicNames(topic, c.Group, r.Retry.Lanes); err != nil {
		return []error{err}
	}
	return nil
}

func within[T cmp.Ordered](errs *[]error, name string, value, low, high T) {
	if value < low || value > high {
		*errs = append(*errs, fmt.Errorf("%s %v: must be %v to %v", name, value, low, high))
	}
}
