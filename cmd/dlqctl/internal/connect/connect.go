package connect

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/cli"
	"github.com/holdfast-kafka/holdfast/dlq"
)

// The environment variables that stand in for flags.
const (
	EnvBrokers = "DLQCTL_BROKERS"
	EnvConfig  = "DLQCTL_CONFIG"
)

// DefaultRequestTimeout is shorter than the library's: somebody is waiting.
const DefaultRequestTimeout = 15 * time.Second

// Options says how to reach the cluster.
type Options struct {
	Brokers        string
	Config         string
	RequestTimeout time.Duration
	Verbose        bool
}

// Flags adds the flags that every command has.
func (o *Options) Flags(flags *pflag.FlagSet) {
	flags.StringVarP(&o.Brokers, "brokers", "b", "", "bootstrap servers, comma-separated (environment: "+EnvBrokers+")")
	flags.StringVar(&o.Config, "config", "", "properties file with the client's settings, for security above all (environment: "+EnvConfig+")")
	flags.DurationVar(&o.RequestTimeout, "request-timeout", DefaultRequestTimeout, "how long to wait for one answer of the cluster")
	flags.BoolVarP(&o.Verbose, "verbose", "v", false, "tell what the Kafka client has to say")
}

// Open connects. Its mistakes are usage errors.
func (o *Options) Open(streams *cli.Streams) (*dlq.Cluster, error) {
	config, err := o.config(streams)
	if err != nil {
		return nil, &cli.Error{Code: cli.Usage, Err: err}
	}
	cluster, err := dlq.Open(config)
	if err != nil {
		return nil, &cli.Error{Code: cli.Usage, Err: err}
	}
	return cluster, nil
}

func (o *Options) config(streams *cli.Streams) (dlq.Config, error) {
	config := dlq.Config{
		Brokers:        first(o.Brokers, streams.Env(EnvBrokers)),
		RequestTimeout: o.RequestTimeout,
		Now:            streams.Now,
		Logger:         slog.New(slog.DiscardHandler),
	}
	if o.Verbose {
		config.Logger = slog.New(slog.NewTextHandler(streams.Err, nil))
	}
	path := first(o.Config, streams.Env(EnvConfig))
	if path != "" {
		kafka, err := readFile(path)
		if err != nil {
			return dlq.Config{}, err
		}
		config.Kafka = kafka
	}
	if config.Brokers == "" && config.Kafka["bootstrap.servers"] == "" {
		return dlq.Config{}, fmt.Errorf("no brokers given: use --brokers, %s, or bootstrap.servers in --config", EnvBrokers)
	}
	return config, nil
}

func readFile(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	properties, err := parseProperties(string(text))
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	kafka, err := translate(properties)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return kafka, nil
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
