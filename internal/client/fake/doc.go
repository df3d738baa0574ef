// Package fake is a [client.Library] without a broker, a network or cgo, for
// tests under virtual time: a [Cluster] in memory with any number of consumers,
// producers, transactors and admin clients on it.
//
// It is a model of what librdkafka does to the code above it, its unpleasant
// habits first, because those are what the code above must survive:
//
//   - all partitions of a consumer share one queue of prefetched records;
//   - Pause throws that partition's prefetch away and Resume fetches again from
//     the position after the last record handed over, late ([Delays]);
//   - Pause of a partition never assigned does nothing, and the pause flag
//     outlives revoke and assign;
//   - every rebalance purges the prefetch of all partitions, kept ones included;
//   - callbacks run inside Poll and inside Close;
//   - Store overwrites, is refused for partitions not owned, and is forgotten
//     at assign; Commit is late, never goes below the last committed position
//     and can fail for some partitions without saying which;
//   - a consumer that does not poll for max.poll.interval.ms loses everything,
//     callbacks included;
//   - delivery reports come late, out of order between partitions, and a batch
//     fails as one.
//
// # Virtual time
//
// Waiting is on channels and timers only, so a whole cluster runs in a
// testing/synctest bubble. Delays are drawn from streams seeded by
// [Config.Seed] and the client's name, so a run depends on the order of calls
// to each client and not on how goroutines are scheduled.
//
// # Faults
//
// The methods of [Cluster], [Consumer] and [Producer] that are not part of the
// client interfaces are the script: they hold, fail, delay, move and lose.
// Breaking the contract of a client (polling from two goroutines, closing
// during a commit) is told to [Config.OnMisuse].
//
// # What it is not
//
// It knows no brokers, replicas, sizes of requests or static members, commits
// nothing by itself whatever enable.auto.commit says, and moves a topic
// partition by partition, each topic balanced by itself.
package fake
