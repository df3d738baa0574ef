package core

import "math/rand/v2"

// Core is the state machine. One goroutine owns it.
type Core struct {
	cfg     Config
	now     Instant
	out     []Action
	random  *rand.Rand
	timers  heap[timer]
	clients []*clientState
	routes  []*routeState
	brks    []*breakerState
	paused  map[string]map[int32]bool // what the operator paused; -1: the whole topic

	freeSlots     int
	handling      int // records in workers' hands, of epochs that are over too
	replayRunning int
	queues        []partQueue // ready partitions of each route, the replay lanes' last
	turn          int         // the queue whose turn it is
	freeRuns      []*Run
	stop          stopState
	stats         Stats
}

// routeState is a route while running.
type routeState struct {
	Route

	breakers []*breakerState
	// perRecord is the smoothed time of an attempt, for the size of runs.
	perRecord float64
	measured  bool
}

// clientState is a client while running.
type clientState struct {
	Client

	id     int
	parts  []*Part
	broken bool
	closed bool

	records, bytes int  // buffered by its partitions
	squeezed       bool // a partition is paused although its own buffer has room

	finished   int // since the last commit began
	commitAt   Instant
	armed      bool
	committing []Position
	inCommit   bool

	revoke *revokeState
}

// Stats counts what happened. All are since the start.
type Stats struct {
	Done, Retried, Dead, Dropped, Held, Parked, Passed int64
	Late, Rewound, PublishRetries, Commits             int64
	CommitErrors, Attempts                             int64
}

// New makes a core. The configuration is taken as valid.
func New(cfg Config) *Core {
	c := &Core{
		cfg:       cfg,
		random:    rand.New(rand.NewPCG(cfg.Seed, cfg.Seed^0x9e3779b97f4a7c15)),
		freeSlots: cfg.Slots,
		queues:    make([]partQueue, len(cfg.Routes)+1),
		paused:    map[string]map[int32]bool{},
	}
	for i, client := range cfg.Clients {
		c.clients = append(c.clients, &clientState{Client: client, id: i})
	}
	for _, route := range cfg.Routes {
		state := &routeState{Route: route}
		for _, b := range route.Breakers {
			state.breakers = append(state.breakers, c.breaker(b))
		}
		c.routes = append(c.routes, state)
	}
	return c
}

// Step takes an event at a time and returns what to do, in order. A nil event
// lets the time pass. Times must not go back. The actions are valid until the
// next Step.
//
//nolint:cyclop // one line for each kind of event
func (c *Core) Step(now Instant, ev Event) []Action {
	c.now = max(now, c.now)
	clear(c.out)
	c.out = c.out[:0]
	c.fire()
	switch e := ev.(type) {
	case nil:
	case *Arrived:
		c.arrived(e)
	case *Finished:
		c.runFinished(e.Run)
	case *Published:
		c.published(e)
	case *AssignedTo:
		c.assigned(e)
	case *RevokedFrom:
		c.revoked(e)
	case *CommitAnswered:
		c.commitAnswered(e)
	case *BreakerChanged:
		c.breakerChanged(e)
	case *OperatorPause:
		c.operatorPause(e)
	case *StopAsked:
		c.beginStop()
	case *Broke:
		c.broke(e)
	case *ClientClosed:
		c.clientClosed(e)
	case *Asked:
		e.Reply(c.view())
	}
	c.dispatch()
	c.advanceStop()
	return c.out
}

// Next returns when Step wants to be called although nothing happened.
func (c *Core) Next() Instant {
	if len(c.timers) == 0 {
		return Never
	}
	return c.timers[0].at
}

// Buffered returns how many records of source partitions are in memory.
func (c *Core) Buffered() int {
	n := 0
	for _, cl := range c.clients {
		if len(cl.parts) > 0 && cl.parts[0].Role == Source {
			n += cl.records
		}
	}
	return n
}

func (c *Core) do(a Action) { c.out = append(c.out, a) }

func (c *Core) notice(n Notice) { c.out = append(c.out, &n) }
