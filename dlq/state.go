package dlq

import "fmt"

// State is what was decided about a dead letter.
type State string

// The states. A dead letter that no decision covers is open.
const (
	StateOpen        State = "open"
	StateReplayed    State = "replayed"    // sent back to be handled
	StateResolved    State = "resolved"    // settled, by hand or by its replay
	StateQuarantined State = "quarantined" // not to be replayed
)

// The outcomes of a replay, as the runtime writes them.
const (
	// OutcomeDone: the replayed record was handled.
	OutcomeDone State = "done"
	// OutcomeDead: the replayed record is a dead letter again.
	OutcomeDead State = "dead"
)

// ParseState reads the name of a state.
func ParseState(text string) (State, error) {
	switch s := State(text); s { //nolint:exhaustive // outcomes are no states that somebody asks for
	case StateOpen, StateReplayed, StateResolved, StateQuarantined:
		return s, nil
	default:
		return "", fmt.Errorf("state %q: want open, replayed, resolved or quarantined", text)
	}
}
