package testkafka

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestValidateReportsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Brokers: 2, Port: 70000, Dir: dir, Properties: map[string]string{"": "x", "listeners": "y"}}
	err := o.withDefaults().validate()
	if err == nil {
		t.Fatal("got nil")
	}
	for _, want := range []string{"Brokers is 2", "Port is 70000", "not empty", "empty key", "sets listeners"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to say %q", err, want)
		}
	}
}

func TestZeroOptionsAreOneBroker(t *testing.T) {
	t.Parallel()
	o := Options{}.withDefaults()
	if err := o.validate(); err != nil || o.Brokers != 1 || o.Log == nil {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestDefaultsLeaveTheCallersOptionsAlone(t *testing.T) {
	t.Parallel()
	given := map[string]string{"a": "1"}
	o := Options{Properties: given}.withDefaults()
	o.Properties["a"] = "2"
	if given["a"] != "1" {
		t.Error("the caller's map was changed")
	}
}

func TestPropertiesOfThreeBrokers(t *testing.T) {
	t.Parallel()
	nodes, err := layout("/data", 3, 9092)
	if err != nil {
		t.Fatal(err)
	}
	p := properties(nodes[1], nodes, map[string]string{"log.roll.ms": "7", "min.insync.replicas": "1"})
	voters := "1@" + loopback(nodes[0].controller) + ",2@" + loopback(nodes[1].controller) + ",3@" + loopback(nodes[2].controller)
	for key, want := range map[string]string{
		"node.id":                          "2",
		"controller.quorum.voters":         voters,
		"log.dirs":                         filepath.Join("/data", "broker-2"),
		"default.replication.factor":       "3",
		"transaction.state.log.min.isr":    "2",
		"offsets.topic.replication.factor": "3",
		"log.roll.ms":                      "7",
		"min.insync.replicas":              "1",
	} {
		if p[key] != want {
			t.Errorf("%s: got %q, want %q", key, p[key], want)
		}
	}
	if nodes[0].addr() != "127.0.0.1:9092" {
		t.Errorf("got the first broker at %s, want the port that was asked for", nodes[0].addr())
	}
}

func TestRenderIsSortedAndEscaped(t *testing.T) {
	t.Parallel()
	got := render(map[string]string{"b": `C:\x`, "a": "1\n2"})
	if want := "a=1\\n2\nb=C:\\\\x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPortsAreDifferent(t *testing.T) {
	t.Parallel()
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[int]bool)
	for _, port := range ports {
		if seen[port] || port == 0 {
			t.Errorf("got port %d twice or zero, of %v", port, ports)
		}
		seen[port] = true
	}
}
