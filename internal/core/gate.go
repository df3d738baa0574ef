package core

import "fmt"

// Gate is a reason not to dispatch a partition's records.
type Gate uint8

// The closed list of gates. A partition may wait at several.
const (
	GateBreaker Gate = iota
	GateRate
	GateBackoff
	GateFlood
	GateWindow
	GatePublish
	GateUnreadable
	GateForeign
	GateOperator
	GateDrain
	gateCount
)

// String returns the gate's name.
func (g Gate) String() string {
	names := [gateCount]string{
		"breaker", "rate", "backoff", "flood", "window", "publish", "unreadable", "foreign", "operator", "drain",
	}
	if g < gateCount {
		return names[g]
	}
	return fmt.Sprintf("gate(%d)", g)
}

type gateSet uint16

func (s gateSet) has(g Gate) bool { return s&(1<<g) != 0 }

// stopping are the gates that keep a whole partition from being dispatched.
// Window holds back only what lies past it, and backoff one unit.
const stopping = 1<<GatePublish | 1<<GateUnreadable | 1<<GateForeign | 1<<GateOperator | 1<<GateDrain | 1<<GateFlood

func (c *Core) close(p *Part, g Gate) {
	if p.gates.has(g) {
		return
	}
	p.gates |= 1 << g
	p.gatedSince[g] = c.now
	c.notice(Notice{Kind: NoticeGateOn, Part: p, Gate: g})
}

func (c *Core) open(p *Part, g Gate) {
	if !p.gates.has(g) {
		return
	}
	p.gates &^= 1 << g
	c.notice(Notice{Kind: NoticeGateOff, Part: p, Gate: g, Wait: c.now.Sub(p.gatedSince[g])})
	c.wake(p)
}
