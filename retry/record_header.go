package retry

// Header is one Kafka record header. A nil Value is Kafka's null and differs
// from an empty one. Names may repeat and their order counts, so a list of
// headers is a slice and never a map.
type Header struct {
	Key   string
	Value []byte
}
