package retry

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Classifier decides about the errors that carry no mark. It is called on many
// goroutines at once. ctx is the attempt's context, whose [context.Cause]
// tells a timeout ([ErrAttemptTimeout]) from other ends; err is never nil.
type Classifier interface {
	Classify(ctx context.Context, err error) Verdict
}

// ClassifierFunc is a function as a [Classifier].
type ClassifierFunc func(ctx context.Context, err error) Verdict

// Classify calls f.
func (f ClassifierFunc) Classify(ctx context.Context, err error) Verdict { return f(ctx, err) }

// DefaultClassifier returns the classifier for those who need none of their
// own. Of an error without marks it says:
//
//   - poison, where an error in the tree has a method Poison() bool that
//     returns true, as [*DecodeError] does, or is a [*json.SyntaxError] or a
//     [*json.UnmarshalTypeError];
//   - transient otherwise: an attempt that took too long, a network timeout,
//     and anything unknown, because retries are bounded and poison cannot be
//     taken back.
//
// An error whose method Transient() bool returns true speaks for what it
// wraps: poison beneath it does not count. An error with a method
// RetryAfter() [time.Duration] says the least wait, like [After]. A method that
// returns false says nothing. When the attempt took too long the errors of
// encoding/json are transient, since a body cut off by the deadline looks like
// bad data. Marks count as in [Classify]. Safe for concurrent use.
func DefaultClassifier() Classifier { return ClassifierFunc(classify) }

func classify(ctx context.Context, err error) Verdict { return Classify(ctx, nil, err) }

// Classify returns what a failure means. Marks come first, wherever they are
// in err's tree: hold wins over poison, poison over drop, drop over transient,
// and of several waits the longest counts. A mark speaks for all that it
// wraps, so an error's own word (see [DefaultClassifier]) counts only where no
// mark is above it. Where a branch of the tree bears no mark c is asked as
// well, and the stronger of the two wins. A nil c is the default classifier.
// err must not be nil.
func Classify(ctx context.Context, c Classifier, err error) Verdict {
	f := findings{cutOff: errors.Is(context.Cause(ctx), ErrAttemptTimeout)}
	f.walk(err, coverNone)
	if c == nil || !f.open {
		return settled(f.all)
	}
	if !f.marked {
		return settled(c.Classify(ctx, err))
	}
	return settled(stronger(f.marks, c.Classify(ctx, err)))
}

// cover says who has already spoken for a part of an error's tree.
type cover uint8

const (
	coverNone cover = iota
	coverWord       // an error that wraps it said transient
	coverMark       // a mark is above it
)

// findings is what a walk over an error's tree brought.
type findings struct {
	cutOff bool    // the attempt took too long
	all    Verdict // marks and what errors say of themselves
	marks  Verdict // marks alone
	marked bool    // there was a mark
	open   bool    // a leaf has no mark above it
}

// walk visits err and all it wraps.
func (f *findings) walk(err error, above cover) {
	if err == nil {
		return
	}
	if m, ok := err.(*mark); ok { //nolint:errorlint // each node is visited on its own
		f.marks = stronger(f.marks, m.verdict)
		f.all = stronger(f.all, m.verdict)
		f.marked = true
		f.walk(m.err, coverMark)
		return
	}
	word, above := f.ownWord(err, above)
	f.all = stronger(f.all, word)
	inner := unwrap(err)
	for _, e := range inner {
		f.walk(e, above)
	}
	f.open = f.open || (len(inner) == 0 && above != coverMark)
}

// ownWord returns what err says of itself, and who speaks for what it wraps.
// A wait contradicts nobody, so it counts even where somebody has spoken.
func (f *findings) ownWord(err error, above cover) (Verdict, cover) {
	var v Verdict
	if x, ok := says[interface{ RetryAfter() time.Duration }](err); ok {
		v.After = max(0, x.RetryAfter())
	}
	if above != coverNone {
		return v, above
	}
	if x, ok := says[interface{ Poison() bool }](err); ok && x.Poison() {
		v.Class = ClassPoison
		return v, above
	}
	if !f.cutOff && isJSON(err) {
		v.Class = ClassPoison
		return v, above
	}
	if x, ok := says[interface{ Transient() bool }](err); ok && x.Transient() {
		return v, coverWord
	}
	return v, above
}

// says finds T in err itself, the way [errors.As] looks at one node.
func says[T any](err error) (T, bool) {
	if t, ok := err.(T); ok {
		return t, true
	}
	var t T
	if x, ok := err.(interface{ As(target any) bool }); ok && x.As(&t) {
		return t, true
	}
	return t, false
}

// unwrap returns what err wraps, nil errors left out.
func unwrap(err error) []error {
	switch x := err.(type) { //nolint:errorlint // one node
	case interface{ Unwrap() error }:
		if e := x.Unwrap(); e != nil {
			return []error{e}
		}
	case interface{ Unwrap() []error }:
		return slices.DeleteFunc(slices.Clone(x.Unwrap()), func(e error) bool { return e == nil })
	}
	return nil
}

// stronger combines two verdicts about parts of one failure. The waits of both
// are kept until the class is known.
func stronger(a, b Verdict) Verdict {
	v := Verdict{Class: a.Class, After: max(a.After, b.After)}
	if b.Class.rank() > a.Class.rank() {
		v.Class = b.Class
	}
	return v
}

// settled is the verdict with a wait only where its class has one.
func settled(v Verdict) Verdict {
	v.After = max(0, v.After)
	if v.Class == ClassPoison || v.Class == ClassDrop {
		v.After = 0
	}
	return v
}

// anywhere reports whether pred holds for err or anything it wraps.
func anywhere(err error, pred func(error) bool) bool {
	return err != nil && (pred(err) || slices.ContainsFunc(unwrap(err), func(e error) bool { return anywhere(e, pred) }))
}
