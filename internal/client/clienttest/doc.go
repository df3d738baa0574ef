// Package clienttest holds the behaviours that every [client.Library] must
// show: the one on librdkafka against a broker, and the fake in virtual time.
// What the code above relies on stands here once and runs on both, so the fake
// cannot drift from what it stands for.
//
// A behaviour sees a library through the interfaces of package client alone
// and waits on what polls bring, never on time.
package clienttest
