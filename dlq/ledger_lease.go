package dlq

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

const (
	// leaseBeat is how often a run says that it lives.
	leaseBeat = 5 * time.Second
	// leaseStale is how long after its last word a run counts as dead: four
	// missed beats.
	leaseStale = 20 * time.Second
)

// lease says which run works on a DLQ. It is one record in partition 0 of the
// ledger, key <dlq topic id>/lease, overwritten with each beat. It only spares
// people from taking over a run by accident: what makes a second run safe is
// that it fences the first.
type lease struct {
	Run  string
	By   string
	At   time.Time
	Over bool // the run has ended
}

type wireLease struct {
	Version int    `json:"v"`
	Run     string `json:"run"`
	By      string `json:"by,omitempty"`
	At      int64  `json:"at"`
	Over    bool   `json:"over,omitempty"`
}

func leaseKey(topicID string) string { return topicID + "/lease" }

// live reports whether the run may still be working. A lease from the future
// is as live as one from the past: clocks differ.
func (l *lease) live(now time.Time) bool {
	return l.Run != "" && !l.Over && now.Sub(l.At).Abs() < leaseStale
}

func (l *lease) message(ledger, topicID string) (client.Message, error) {
	value, err := json.Marshal(wireLease{Version: entryVersion, Run: l.Run, By: l.By, At: l.At.UnixMilli(), Over: l.Over})
	if err != nil {
		return client.Message{}, fmt.Errorf("lease of run %s: %w", l.Run, err)
	}
	return client.Message{Topic: ledger, Key: []byte(leaseKey(topicID)), Value: value}, nil
}

func parseLease(value []byte) (lease, error) {
	var wire wireLease
	if err := json.Unmarshal(value, &wire); err != nil {
		return lease{}, fmt.Errorf("lease: %w", err)
	}
	if wire.Version != entryVersion {
		return lease{}, fmt.Errorf("lease: version %d, this program reads %d", wire.Version, entryVersion)
	}
	return lease{Run: wire.Run, By: wire.By, At: time.UnixMilli(wire.At), Over: wire.Over}, nil
}

func (l *lease) refusal(dlq string) *LeaseError {
	return &LeaseError{DLQ: dlq, Run: l.Run, By: l.By, Seen: l.At}
}
