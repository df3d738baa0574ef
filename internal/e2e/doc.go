// Package e2e holds tests of the whole runtime on a broker: the embedded one,
// or Apache Kafka when HOLDFAST_TEST_KAFKA asks for it. There is nothing to
// import.
package e2e
