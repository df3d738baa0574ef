package testkafka

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// Version is the version of Apache Kafka that Start runs.
const Version = "4.3.1"

// Options says what Start starts. Its zero value is one broker on free ports
// with nothing kept.
type Options struct {
	// Brokers is how many there are, 1 or 3; 0 means 1. Three of them are
	// brokers and controllers all, and keep three replicas of which two
	// must be in sync.
	Brokers int
	// Port is what the first broker's clients connect to; 0 means a free
	// one, as for every other port.
	Port int
	// Properties are added to each broker's configuration and win over what
	// Start would set.
	Properties map[string]string
	// JVM are flags added to each broker's Java, where the last one counts:
	// -Xmx1g, for example, in place of 256 MB.
	JVM []string
	// Tools adds Kafka's command-line classes, for [Cluster.Tool].
	Tools bool
	// Dir is where data and logs go, and stay. It must be empty or missing.
	// Empty means a temporary directory that Stop removes.
	Dir string
	// Log takes a line on each slow step; nil means none. What Kafka itself
	// logs is in the files named by [Cluster.Logs].
	Log io.Writer
}

// withDefaults fills in what is zero, on a copy.
func (o Options) withDefaults() Options {
	if o.Brokers == 0 {
		o.Brokers = 1
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	o.Properties = maps.Clone(o.Properties)
	o.JVM = slices.Clone(o.JVM)
	return o
}

// validate reports all that is wrong.
func (o Options) validate() error {
	var problems []error
	if o.Brokers != 1 && o.Brokers != 3 {
		problems = append(problems, fmt.Errorf("testkafka: Brokers is %d, want 1 or 3", o.Brokers))
	}
	if o.Port < 0 || o.Port > 65535 {
		problems = append(problems, fmt.Errorf("testkafka: Port is %d, want 0 to 65535", o.Port))
	}
	for _, key := range slices.Sorted(maps.Keys(o.Properties)) {
		if key == "" {
			problems = append(problems, errors.New("testkafka: Properties has an empty key"))
		}
		if slices.Contains(ownedProperties(), key) {
			problems = append(problems, fmt.Errorf("testkafka: Properties sets %s, which Start decides", key))
		}
	}
	if o.Dir != "" {
		if entries, err := os.ReadDir(o.Dir); err == nil && len(entries) > 0 {
			problems = append(problems, fmt.Errorf("testkafka: Dir %s is not empty", o.Dir))
		}
	}
	return errors.Join(problems...)
}
