package retry

// Failure is one failed attempt, kept short because many travel together.
type Failure struct {
	At    int64  // Unix milliseconds
	Class string // the error class: transient, poison, timeout ...
	Text  string // the error, cut to 128 bytes when packed
}

// Target names whom a replay is meant for. It is set when a replay goes to a
// topic that other groups read too.
type Target struct {
	Cluster string
	Topic   string
	Group   string
}

// Replay says that a copy descends from a replayed dead letter.
type Replay struct {
	// Of is the dead letter, <topic>/<partition>/<offset>.
	Of string
	// Count is how many times the record was replayed, this one included.
	Count int
	// Run names the ledger entry of the replay, <run>.<transaction>, so that
	// an outcome can name it too.
	Run    string
	Target *Target
}

// Meta is the content of HeaderPacked: what is told about a copy beyond its
// single headers.
//
// The zero value is empty. A Meta is copied by assignment; Attempts and Replay
// are then shared and must not be changed in place.
type Meta struct {
	// Group and Cluster are the consumer group that wrote the copy and the
	// id of its cluster.
	Group   string
	Cluster string
	Origin  Origin
	// First and Last are the times of the first and the last failure, in
	// Unix milliseconds; zero is none.
	First int64
	Last  int64
	// Attempts holds the first and the latest failures, at most MaxFailures.
	Attempts []Failure
	// ErrorType and Error are the Go type and the text of the last error.
	ErrorType string
	Error     string
	// Client names the member that wrote the copy.
	Client string
	// Hop is how many copies of the record's chain were written so far,
	// uncharged ones included; Parked is how many of them were parked.
	Hop    int
	Parked int
	// Held is for how many milliseconds since the first failure the record
	// waited uncharged: held, parked, or ready without a free handler.
	// [Policy.MaxElapsed] does not count it.
	Held   int64
	Replay *Replay
	Stack  string

	// unknown holds the top-level fields this version does not know, each
	// as "name":value, so that they survive a hop.
	unknown [][]byte
}

// MaxFailures bounds Meta.Attempts: eight tell the story of a record, and
// leave half of the packed header for its text and stack.
const MaxFailures = 8

// WithFailure returns m after one more failure: the first and the latest
// failures are kept, First and Last are set. m is not changed.
func (m Meta) WithFailure(f Failure) Meta {
	kept := m.Attempts
	if len(kept) >= MaxFailures {
		tail := kept[len(kept)-(MaxFailures-2):]
		kept = append(append(make([]Failure, 0, MaxFailures), kept[0]), tail...)
	} else {
		kept = append(make([]Failure, 0, len(kept)+1), kept...)
	}
	kept = append(kept, f)
	m.Attempts = kept
	if m.First == 0 {
		m.First = f.At
	}
	m.Last = f.At
	return m
}

// ReplayCount returns how many times the record was replayed so far.
func (m *Meta) ReplayCount() int {
	if m.Replay == nil {
		return 0
	}
	return m.Replay.Count
}

// Renewed returns m without its failures: what a record keeps when it starts
// its attempts anew. Its group, cluster, origin and unknown fields stay.
func (m Meta) Renewed() Meta {
	return Meta{Group: m.Group, Cluster: m.Cluster, Origin: m.Origin, unknown: m.unknown}
}
