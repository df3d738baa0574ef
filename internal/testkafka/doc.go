// Package testkafka gives tests, benchmarks and people a real Apache Kafka to
// work on, as plain Java processes on loopback: no Docker, nothing installed
// but Java 17 or later and Maven.
//
// # In tests
//
// One environment variable, HOLDFAST_TEST_KAFKA, says which broker a test gets
// from [Broker], so that the same test runs on each of them:
//
//	unset               the embedded broker of consumertest, one for each test
//	apache              Apache Kafka, started once for the test binary
//	host:port[,...]     that cluster, which must be running
//
// A package whose tests call Broker ends what was started with
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(testkafka.Main(m)) }
//
// A real broker that was asked for and cannot be had fails the test; it is
// never skipped. Tests that must kill brokers take a cluster of their own from
// [Apache], and are skipped unless the variable says apache: no other broker
// can be killed.
//
// # Elsewhere
//
// [Start] and [FromEnv] need no test. What they start ends with Stop, and on
// Linux also when this process ends in whatever way.
//
// # Where things are
//
// The jars are Maven's. The list of them, an archive of loaded classes that
// halves the time to start, and the file that carries Kafka's feature levels
// are made once and kept below os.UserCacheDir in holdfast; that directory may
// be removed at any time. The data and logs of a cluster are in a temporary
// directory that Stop removes, unless Options.Dir names another.
package testkafka
