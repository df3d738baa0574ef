// Package dlq works with dead letters: records that a consumer gave up on and
// wrote to <topic>.<group>.dlq with the reason.
//
// It reads and filters them, groups them by cause, remembers what was decided
// about each one and sends them back to be handled. dlqctl is a command line
// over this package, and the runtime builds its dead letters with it:
//
//	cluster, err := dlq.Open(dlq.Config{Brokers: "localhost:9092"})
//	...
//	defer cluster.Close()
//	plan, err := cluster.Plan(ctx, dlq.PlanRequest{DLQ: "payments.billing.dlq"})
//	result, err := cluster.Replay(ctx, plan, dlq.ReplayOptions{By: "kim"})
//
// # Words
//
// A dead letter is a [Record] of a dead-letter topic. The ledger, topic
// <dlq>.ledger, holds an [Entry] for every decision about a set of dead
// letters; the [State] of one is the last decision that covers it. A [Plan] is
// what a replay would do; a run carries it out.
//
// # What holds
//
// Reading joins no group and commits nothing, sees only committed records and
// ends: the end offsets are frozen when it starts.
//
// A replay appends each selected record exactly once for read-committed
// readers of a target in the same cluster: the record and the decision about it
// are written in one transaction, and one run at a time works on a DLQ. A run
// that was killed is carried on by the next. It says nothing of how often the
// record is handled after that: handlers are at least once.
//
// What does not hold: a reader with isolation.level=read_uncommitted can see
// the records of an aborted transaction.
package dlq
