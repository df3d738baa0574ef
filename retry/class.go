package retry

import (
	"fmt"
	"time"
)

// Class says whether trying again can help.
type Class uint8

// The classes. The zero value is the careful one: retries are bounded, and
// the other classes cannot be taken back.
const (
	// ClassTransient: it may succeed later. The attempt is charged.
	ClassTransient Class = iota
	// ClassPoison: it never will. The record is dead.
	ClassPoison
	// ClassDrop: the record is not wanted. It is done without a trace.
	ClassDrop
	// ClassHold: not now. The record waits and nothing is charged.
	ClassHold
)

// String returns the class's name.
func (c Class) String() string {
	switch c {
	case ClassTransient:
		return "transient"
	case ClassPoison:
		return "poison"
	case ClassDrop:
		return "drop"
	case ClassHold:
		return "hold"
	}
	return fmt.Sprintf("Class(%d)", uint8(c))
}

// rank orders classes by which one wins when several are said of one error.
func (c Class) rank() int {
	switch c {
	case ClassHold:
		return 3
	case ClassPoison:
		return 2
	case ClassDrop:
		return 1
	case ClassTransient:
	}
	return 0
}

// Verdict is what a failure means for its record.
type Verdict struct {
	Class Class
	// After is the least wait before the next attempt for [ClassTransient]
	// and the time to hold for [ClassHold]. Zero says nothing; other classes
	// do not use it.
	After time.Duration
}

// mark is an error that a handler wrapped to say its class. Its text is the
// wrapped error's own, so marking does not change how failures group.
type mark struct {
	err     error
	verdict Verdict
}

func (m *mark) Error() string { return m.err.Error() }

func (m *mark) Unwrap() error { return m.err }

// Poison tells those who do not know this package, as a circuit breaker does
// not, that the failure is the record's own.
func (m *mark) Poison() bool { return m.verdict.Class == ClassPoison }

func marked(err error, class Class, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &mark{err: err, verdict: Verdict{Class: class, After: after}}
}

// Transient marks err as one that may succeed later. The attempt is charged
// and the policy decides the wait. A nil err stays nil. Like all marks it
// survives %w and [errors.Join], and it overrules what the errors it wraps say
// of themselves, though not other marks: see [Classify].
func Transient(err error) error { return marked(err, ClassTransient, 0) }

// After marks err as transient, to be tried again not sooner than d from now:
// what a downstream's Retry-After says. The policy's own wait is used where it
// is longer; d counts up to [MaxWait]. A negative d counts as zero, a nil err
// stays nil.
func After(err error, d time.Duration) error { return marked(err, ClassTransient, d) }

// Poison marks err as one that trying again cannot help. The record becomes a
// dead letter at once. A nil err stays nil.
func Poison(err error) error { return marked(err, ClassPoison, 0) }

// Drop marks err as not worth keeping: the record is done, without another
// attempt and without a dead letter. A nil err stays nil.
func Drop(err error) error { return marked(err, ClassDrop, 0) }

// Hold marks err as "not now": the record waits d, the attempt is not
// charged, and it counts as never made. d counts up to [MaxWait]. A negative d
// counts as zero, a nil err stays nil.
func Hold(err error, d time.Duration) error { return marked(err, ClassHold, d) }
