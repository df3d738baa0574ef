package testkafka

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// node is one broker's place in a cluster.
type node struct {
	id         int // Kafka's node.id, from 1
	port       int // for clients
	controller int // for controllers
	dir        string
}

func (n node) addr() string { return loopback(n.port) }

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// ownedProperties are what Kill, Restart and the check that a broker is ours
// rest on.
func ownedProperties() []string {
	return []string{
		"advertised.listeners", "controller.listener.names", "controller.quorum.voters",
		"listeners", "log.dirs", "node.id", "process.roles",
	}
}

// properties returns the configuration of one broker of a cluster. Settings
// that are not needed to start are there to make tests quick: Kafka's default
// is in the comment.
func properties(n node, cluster []node, extra map[string]string) map[string]string {
	replicas := len(cluster)
	inSync := max(1, replicas-1)
	voters := make([]string, 0, replicas)
	for _, each := range cluster {
		voters = append(voters, fmt.Sprintf("%d@%s", each.id, loopback(each.controller)))
	}
	p := map[string]string{
		"process.roles":             "broker,controller",
		"node.id":                   strconv.Itoa(n.id),
		"controller.quorum.voters":  strings.Join(voters, ","),
		"controller.listener.names": "CONTROLLER",
		"listeners":                 fmt.Sprintf("PLAINTEXT://%s,CONTROLLER://%s", n.addr(), loopback(n.controller)),
		"advertised.listeners":      "PLAINTEXT://" + n.addr(),
		"log.dirs":                  n.dir,

		"auto.create.topics.enable":  "false", // true: a misspelt name would become a topic
		"default.replication.factor": strconv.Itoa(replicas),
		"min.insync.replicas":        strconv.Itoa(inSync),

		"log.cleaner.dedupe.buffer.size": "8388608", // 128 MiB, taken from the heap at start

		"broker.session.timeout.ms":                                   "3000", // 9000: how long a dead broker leads
		"broker.heartbeat.interval.ms":                                "500",  // 2000
		"controller.quorum.election.timeout.ms":                       "500",  // 1000
		"controller.quorum.election.backoff.max.ms":                   "500",  // 1000
		"controller.quorum.fetch.timeout.ms":                          "1500", // 2000
		"replica.lag.time.max.ms":                                     "3000", // 30000: how long a frozen follower holds commits
		"replica.socket.timeout.ms":                                   "3000", // 30000
		"group.initial.rebalance.delay.ms":                            "0",    // 3000
		"group.min.session.timeout.ms":                                "1000", // 6000
		"group.consumer.heartbeat.interval.ms":                        "1000", // 5000
		"group.consumer.min.heartbeat.interval.ms":                    "500",  // 5000
		"group.consumer.session.timeout.ms":                           "6000", // 45000
		"group.consumer.min.session.timeout.ms":                       "1000", // 45000
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000", // 10000: how much longer a dead transaction blocks
	}
	// A first join or transaction loads all of these: 50 each take seconds.
	for _, topic := range []string{"offsets.topic", "transaction.state.log", "share.coordinator.state.topic"} {
		p[topic+".num.partitions"] = "4"
		p[topic+".replication.factor"] = strconv.Itoa(replicas)
	}
	p["transaction.state.log.min.isr"] = strconv.Itoa(inSync)
	p["share.coordinator.state.topic.min.isr"] = strconv.Itoa(inSync)
	maps.Copy(p, extra)
	return p
}

// render writes properties in Java's format, sorted.
func render(p map[string]string) string {
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&out, "%s=%s\n", key, escape.Replace(p[key]))
	}
	return out.String()
}
