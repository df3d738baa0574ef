// Package retry decides what becomes of a failed attempt: its class, how long
// the record waits, in which lane, and when it is given up. It knows the names
// of the topics involved and the headers that travel with a retried record.
// It holds no Kafka client, no goroutine, no clock and no state.
//
// # Words
//
// An attempt is one call of a handler, and attempts include the first call. A
// transient failure may succeed later, a poisonous one never will. A lane is a
// topic in which records wait, one per delay. A record is due at the instant
// before which it must not be handled. A hold keeps the record waiting,
// unattempted and uncharged, because the world is not ready. A dead letter is
// a record given up on, and its [Disposition] says why.
//
// # From error to decision
//
// A handler steers by wrapping what it returns: [Transient], [After],
// [Poison], [Drop] and [Hold]. A [Classifier] decides about everything else.
// The [Verdict], with the number of failed attempts, goes to [Policy.Next],
// and for a retry by lane [Policy.Place] chooses where the record waits:
//
//	verdict := retry.Classify(ctx, nil, err)
//	decision := policy.Next(retry.State{Attempts: 1, Verdict: verdict, Random: rand.Float64()})
//	if decision.Action == retry.ActionRetry {
//		place := policy.Place(decision.Wait, rand.Float64())
//		due := now.Add(place.Wait)
//	}
//
// Time and randomness are arguments, so every decision can be repeated.
//
// # Guarantees
//
// A wait never overflows, grows until [Policy.Max] and passes it by the jitter
// alone. What a downstream asks for ([After]) is respected up to [MaxWait].
// Two pairs of topic and group share a topic name only where four bytes of
// their SHA-256 are equal as well, and never where both groups are plain names.
//
// # Not guaranteed
//
// A wait is a lower bound: a lane can be longer than the wait that was asked
// for. Nothing here sleeps, publishes or counts; that is the runtime's part.
package retry
