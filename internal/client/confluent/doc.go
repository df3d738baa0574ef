// Package confluent is the real [client.Library]: confluent-kafka-go, which is
// librdkafka behind cgo. It is the only package that imports it.
//
// It adds no policy. It translates, and it closes the traps of the binding
// that would cost a process its work:
//
//   - a rebalance is always answered, by the caller or here, because an
//     unanswered one runs the binding's own answer, which blocks Poll for ever
//     when it fails;
//   - Poll after Close is refused instead of crashing;
//   - a topic name too long for the binding is refused instead of panicking;
//   - every accepted message gets its report, Close included;
//   - whether a rebalance is incremental is asked of the library each time
//     partitions are assigned and never guessed from the configuration.
package confluent
