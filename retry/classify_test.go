package retry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-kafka/holdfast/retry"
)

// said is an error that says things of itself.
type said struct {
	poison, transient bool
	after             time.Duration
	inner             error
}

func (s *said) Error() string             { return "said" }
func (s *said) Poison() bool              { return s.poison }
func (s *said) Transient() bool           { return s.transient }
func (s *said) RetryAfter() time.Duration { return s.after }
func (s *said) Unwrap() error             { return s.inner }

// posing is an error that can be had as another one.
type posing struct{ as retryAfter }

type retryAfter = interface{ RetryAfter() time.Duration }

func (p posing) Error() string { return "posing" }

func (p posing) As(target any) bool {
	t, ok := target.(*retryAfter)
	if ok {
		*t = p.as
	}
	return ok
}

func jsonError(t testing.TB) error {
	t.Helper()
	var v int
	err := json.Unmarshal([]byte("{"), &v)
	if err == nil {
		t.Fatal("half an object was decoded")
	}
	return err
}

func transient(after time.Duration) retry.Verdict {
	return retry.Verdict{Class: retry.ClassTransient, After: after}
}

func hold(after time.Duration) retry.Verdict {
	return retry.Verdict{Class: retry.ClassHold, After: after}
}

var (
	poison = retry.Verdict{Class: retry.ClassPoison}
	drop   = retry.Verdict{Class: retry.ClassDrop}
)

func timedOut(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(retry.ErrAttemptTimeout)
	return ctx
}

func TestClassify(t *testing.T) {
	t.Parallel()
	a, bad := errors.New("a"), jsonError(t)
	wrap := func(err error) error { return fmt.Errorf("outer: %w", err) }
	tests := []struct {
		name string
		err  error
		want retry.Verdict
	}{
		{"after keeps its wait", retry.After(a, time.Second), transient(time.Second)},
		{"decode error is poison", wrap(&retry.DecodeError{Err: a}), poison},
		{"deadline is transient", context.DeadlineExceeded, transient(0)},
		{"drop loses to hold", errors.Join(retry.Drop(a), retry.Hold(a, 1)), hold(1)},
		{"drop loses to poison", errors.Join(retry.Drop(a), retry.Poison(a)), poison},
		{"drop survives wrapping", wrap(wrap(retry.Drop(a))), drop},
		{"drop wins over transient", errors.Join(retry.After(a, 1), retry.Drop(a)), drop},
		{"hold wins over poison", errors.Join(retry.Poison(a), wrap(retry.Hold(a, 1))), hold(1)},
		{"json syntax is poison", wrap(bad), poison},
		{"json type is poison", &json.UnmarshalTypeError{}, poison},
		{"largest after counts", errors.Join(retry.After(a, 1), retry.After(a, 3), retry.After(a, 2)), transient(3)},
		{"largest hold counts", errors.Join(retry.Hold(a, 3), retry.After(a, 5), retry.Hold(a, 4)), hold(5)},
		{"mark in a tree of joins", errors.Join(a, wrap(errors.Join(a, retry.Poison(a)))), poison},
		{"nested marks compete", retry.Transient(wrap(retry.Poison(a))), poison},
		{"negative after is zero", retry.After(a, -1), transient(0)},
		{"negative hold is zero", retry.Hold(a, -1), hold(0)},
		{"network timeout is transient", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, transient(0)},
		{"poison has no wait", errors.Join(retry.After(a, 1), retry.Poison(a)), poison},
		{"poison wins over transient", errors.Join(retry.Transient(a), retry.Poison(a)), poison},
		{"saying false says nothing", &said{}, transient(0)},
		{"saying negative waits is zero", &said{after: -1}, transient(0)},
		{"says poison", wrap(&said{poison: true, transient: true}), poison},
		{"says poison beside a transient mark", errors.Join(retry.Transient(a), &said{poison: true}), poison},
		{"says poison in one branch", errors.Join(&said{transient: true}, &said{poison: true}), poison},
		{"says retry after", wrap(&said{after: time.Minute}), transient(time.Minute)},
		{"says retry after beneath a mark", retry.After(&said{after: 7}, 3), transient(7)},
		{"says retry after through As", posing{as: &said{after: 9}}, transient(9)},
		{"says transient about what it wraps", &said{transient: true, inner: bad}, transient(0)},
		{"transient mark overrules decoding", retry.Transient(wrap(bad)), transient(0)},
		{"transient mark overrules poison said", retry.Transient(&said{poison: true}), transient(0)},
		{"unknown is transient", a, transient(0)},
		{"word of transient does not hide marks", &said{transient: true, inner: retry.Poison(a)}, poison},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := retry.DefaultClassifier().Classify(t.Context(), tt.err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("default classifier of %v (-want +got):\n%s", tt.err, diff)
			}
			if again := retry.Classify(t.Context(), nil, tt.err); again != got {
				t.Errorf("Classify(nil, %v) = %v, the default classifier says %v", tt.err, again, got)
			}
		})
	}
}

func TestBytesCutOffByTheDeadlineAreNotPoison(t *testing.T) {
	t.Parallel()
	ctx := timedOut(t)
	if got := retry.Classify(ctx, nil, jsonError(t)); got != transient(0) {
		t.Errorf("json error of a timed out attempt is %v, want transient", got)
	}
	if got := retry.Classify(ctx, nil, &retry.DecodeError{Err: jsonError(t)}); got != poison {
		t.Errorf("decode error of the record is %v, want poison", got)
	}
	if got := retry.Classify(ctx, nil, retry.Poison(errors.New("a"))); got != poison {
		t.Errorf("marked poison is %v, want poison", got)
	}
}

func TestNilStaysNil(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"Transient": retry.Transient(nil), "After": retry.After(nil, 1), "Poison": retry.Poison(nil),
		"Drop": retry.Drop(nil), "Hold": retry.Hold(nil, 1),
	} {
		if err != nil {
			t.Errorf("%s(nil) = %v, want nil", name, err)
		}
	}
}

func TestMarksChangeNeitherTextNorChain(t *testing.T) {
	t.Parallel()
	a := errors.New("a")
	for _, err := range []error{
		retry.Transient(a), retry.After(a, 1), retry.Poison(a), retry.Drop(a), retry.Hold(a, 1),
	} {
		if err.Error() != "a" || !errors.Is(err, a) {
			t.Errorf("marked error is %q and errors.Is %v, want %q and true", err, errors.Is(err, a), a)
		}
	}
}

func TestPoisonIsKnownWithoutThisPackage(t *testing.T) {
	t.Parallel()
	a := errors.New("a")
	for _, err := range []error{retry.Poison(a), retry.Transient(a), retry.Drop(a), retry.Hold(a, 1)} {
		x, ok := err.(interface{ Poison() bool })
		if want := retry.Classify(t.Context(), nil, err) == poison; !ok || x.Poison() != want {
			t.Errorf("%T says poison: %v, want %v", err, ok && x.Poison(), want)
		}
	}
}

func TestOwnClassifier(t *testing.T) {
	t.Parallel()
	a, b := errors.New("a"), errors.New("b")
	says := func(v retry.Verdict) retry.Classifier {
		return retry.ClassifierFunc(func(context.Context, error) retry.Verdict { return v })
	}
	tests := []struct {
		name string
		c    retry.Classifier
		err  error
		want retry.Verdict
	}{
		{"decides without marks", says(drop), a, drop},
		{"decides instead of the default", says(transient(4)), &said{poison: true}, transient(4)},
		{"is not asked about marks", says(poison), fmt.Errorf("x: %w", retry.After(a, 2)), transient(2)},
		{"is asked about the unmarked branch", says(poison), errors.Join(retry.Transient(a), b), poison},
		{"loses to a stronger mark", says(poison), errors.Join(retry.Hold(a, 3), b), hold(3)},
		{"negative wait is zero", says(hold(-1)), a, hold(0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := retry.Classify(t.Context(), tt.c, tt.err); got != tt.want {
				t.Errorf("Classify(%v) = %v, want %v", tt.err, got, tt.want)
			}
		})
	}
}

func TestCauseOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		ctx  context.Context //nolint:containedctx // the subject
		err  error
		want retry.Disposition
	}{
		{"decode says so", timedOut(t), fmt.Errorf("x: %w", &retry.DecodeError{}), retry.DispositionDecode},
		{"json", t.Context(), errors.Join(errors.New("a"), jsonError(t)), retry.DispositionDecode},
		{"timeout", timedOut(t), jsonError(t), retry.DispositionTimeout},
		{"unknown", t.Context(), context.DeadlineExceeded, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := retry.CauseOf(tt.ctx, tt.err); got != tt.want {
				t.Errorf("CauseOf(%v) = %q, want %q", tt.err, got, tt.want)
			}
		})
	}
}

// The law of joins on random trees of marks: the class is the strongest one
// in the tree, the wait the longest, and shape and wrapping change nothing.
func TestClassIsTheStrongestInTheTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var classes []retry.Class
		var longest time.Duration
		var grow func(depth int) error
		grow = func(depth int) error {
			switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
			case depth > 4 || kind < 4:
				class := retry.Class(rapid.IntRange(0, 3).Draw(t, "class"))
				after := time.Duration(rapid.IntRange(0, 100).Draw(t, "after"))
				classes = append(classes, class)
				leaf := errors.New("leaf")
				switch class {
				case retry.ClassPoison:
					return retry.Poison(leaf)
				case retry.ClassDrop:
					return retry.Drop(leaf)
				case retry.ClassHold:
					longest = max(longest, after)
					return retry.Hold(leaf, after)
				case retry.ClassTransient:
				}
				longest = max(longest, after)
				return retry.After(leaf, after)
			case kind == 4:
				return fmt.Errorf("wrapped: %w", grow(depth+1))
			case kind == 5:
				return fmt.Errorf("two: %w, %w", grow(depth+1), grow(depth+1))
			}
			return errors.Join(grow(depth+1), nil, grow(depth+1), grow(depth+1))
		}
		err := grow(0)
		want := retry.Verdict{Class: strongest(classes)}
		if want.Class == retry.ClassTransient || want.Class == retry.ClassHold {
			want.After = longest
		}
		if got := retry.DefaultClassifier().Classify(context.Background(), err); got != want {
			t.Fatalf("classes %v: got %v, want %v", classes, got, want)
		}
	})
}

func strongest(classes []retry.Class) retry.Class {
	for _, c := range []retry.Class{retry.ClassHold, retry.ClassPoison, retry.ClassDrop} {
		if slices.Contains(classes, c) {
			return c
		}
	}
	return retry.ClassTransient
}

func TestStrings(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint(retry.ClassTransient, retry.ClassPoison, retry.ClassDrop, retry.ClassHold, retry.Class(9),
		retry.ActionRetry, retry.ActionDead, retry.ActionDrop, retry.ActionHold, retry.Action(9))
	if want := "transient poison drop hold Class(9) retry dead drop hold Action(9)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !retry.DispositionUnreadable.Valid() || retry.Disposition("lost").Valid() {
		t.Error("Valid does not tell dispositions from other words")
	}
	if got := (&retry.DecodeError{}).Error(); got != "decode" {
		t.Errorf("empty decode error reads %q", got)
	}
	if got := (&retry.DecodeError{Err: errors.New("x")}).Error(); got != "decode: x" {
		t.Errorf("decode error reads %q", got)
	}
}
