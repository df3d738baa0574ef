package core

import (
	"time"

	"github.com/holdfast-kafka/holdfast/retry"
)

// Disposition says why a record is dead.
type Disposition = retry.Disposition

// Action is something a shell must do. The concrete types are in this file.
type Action interface{ action() }

// Dispatch hands a run to a free worker, which answers with [Finished].
type Dispatch struct{ Run *Run }

// Target says where a copy goes.
type Target uint8

// Targets of a copy.
const (
	ToLane Target = iota
	ToDeadLetters
)

// Publish writes a copy of a record; the answer is an [Ack].
type Publish struct {
	Rec    *Rec
	Target Target
	Lane   int           // with ToLane: index into the route's lanes
	Wait   time.Duration // with ToLane: due is the time of writing plus this
	// Charged: the count on the copy includes the attempt that just failed.
	// Otherwise the copy is parked and the count is what it was.
	Charged     bool
	Disposition Disposition
	Omit        bool // leave the payload out: the target refuses its size
	Alone       bool // write it when nothing else is in flight to the target
}

// Store stores positions in a client and then commits, answered by
// [CommitAnswered]. At most one is outstanding for a client.
type Store struct {
	Client    int
	Positions []Position
}

// Position is where a partition's group position is to be.
type Position struct {
	Part        *Part
	Offset      int64
	LeaderEpoch int32

	gen uint32 // of the partition's log, see [Part]
}

// SetPaused pauses or resumes fetching.
type SetPaused struct {
	Client int
	Part   *Part
	Paused bool
}

// FinishAssign lets the rebalance callback take the partitions and return.
// Each gets its wanted pause state explicitly, since the client library's own
// flag survives a revoke.
type FinishAssign struct {
	Client int
	Parts  []*Part
	Paused []bool
}

// FinishRevoke lets the rebalance callback give the partitions up and return.
type FinishRevoke struct {
	Client int
	Parts  []*Part
}

// Bar stops workers from beginning another record of a partition.
type Bar struct{ Part *Part }

// CancelCause says why running handlers are cancelled.
type CancelCause uint8

// Causes of cancelling.
const (
	CauseRevoked CancelCause = iota
	CauseLost
	CauseShutdown
)

// Cancel cancels the running handlers of a partition.
type Cancel struct {
	Part  *Part
	Cause CancelCause
}

// CloseClient leaves the group and frees the client, answered by [ClientClosed].
type CloseClient struct{ Client int }

// Stopped ends the runtime.
type Stopped struct{ Report StopReport }

// Notice tells the shells something worth a log line or a hook.
type Notice struct {
	Kind   NoticeKind
	Part   *Part
	Rec    *Rec
	Gate   Gate
	Offset int64
	Count  int
	// Disposition and the rest of what a Dead notice tells.
	Disposition Disposition
	Wait        time.Duration
}

// NoticeKind says what a notice is about.
type NoticeKind uint8

// Notices.
const (
	NoticeRetry        NoticeKind = iota // a failed record goes to a lane, or in place
	NoticeDead                           // a record is given up on
	NoticeDropped                        // the user's policy dropped a record
	NoticeParked                         // a record moves to a lane uncharged
	NoticeHeld                           // a record is held in memory, uncharged
	NoticePassed                         // a replay for another group went by
	NoticeForeign                        // a record on our lane is not ours
	NoticeGateOn                         // a partition is gated
	NoticeGateOff                        // a gate opened
	NoticeDrainTimeout                   // revoked before its work was finished; Count records left
	NoticeLate                           // a result came for an epoch that is over
	NoticeRewound                        // the partition's offsets went back to Offset
	NoticePublishRetry                   // a copy could not be written and is tried again
	NoticeBlocked                        // a dead letter has nowhere to go and is kept
)

func (*Dispatch) action()     {}
func (*Publish) action()      {}
func (*Store) action()        {}
func (*SetPaused) action()    {}
func (*FinishAssign) action() {}
func (*FinishRevoke) action() {}
func (*Bar) action()          {}
func (*Cancel) action()       {}
func (*CloseClient) action()  {}
func (*Stopped) action()      {}
func (*Notice) action()       {}
