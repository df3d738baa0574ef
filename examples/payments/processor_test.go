package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/breaker"
	"github.com/holdfast-kafka/holdfast/consumer"
	"github.com/holdfast-kafka/holdfast/retry"
)

// newTestProcessor returns a processor whose gateway answers with a function.
func newTestProcessor(t *testing.T, answer http.HandlerFunc) *processor {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	b, err := newBreaker()
	if err != nil {
		t.Fatal(err)
	}
	cards := newCards(server.URL, 1)
	t.Cleanup(cards.http.CloseIdleConnections)
	return &processor{cards: cards, gateway: b}
}

func record(value string) *consumer.Record {
	rec := &consumer.Record{Topic: "payments", Partition: 1, Offset: 7, Timestamp: time.UnixMilli(1000), Key: []byte("p1")}
	if value != "" {
		rec.Value = []byte(value)
	}
	return rec
}

const goodPayment = `{"id":"p1","amount_cents":1250,"currency":"EUR"}`

func TestWhatAnAnswerMeansForThePayment(t *testing.T) {
	t.Parallel()
	transient := &retry.Verdict{Class: retry.ClassTransient}
	tests := []struct {
		status  int
		want    *retry.Verdict // nil: done
		against bool           // the breaker counts it
	}{
		{http.StatusOK, nil, false},
		{http.StatusCreated, nil, false},
		{http.StatusPaymentRequired, nil, false},
		{http.StatusTooManyRequests, &retry.Verdict{Class: retry.ClassTransient, After: 2 * time.Second}, false},
		{http.StatusFailedDependency, transient, false},
		{http.StatusInternalServerError, transient, true},
		{http.StatusServiceUnavailable, transient, true},
		{http.StatusBadRequest, &retry.Verdict{Class: retry.ClassPoison}, false},
		{http.StatusUnauthorized, &retry.Verdict{Class: retry.ClassPoison}, false},
	}
	for _, tt := range tests {
		t.Run(http.StatusText(tt.status), func(t *testing.T) {
			t.Parallel()
			p := newTestProcessor(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "2")
				w.WriteHeader(tt.status)
			})
			err := p.handler().Handle(t.Context(), record(goodPayment))
			var got *retry.Verdict
			if err != nil {
				v := retry.Classify(t.Context(), nil, err)
				got = &v
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("verdict of %v (-want +got):\n%s", err, diff)
			}
			if failures := p.gateway.State().ConsecutiveFailures; (failures == 1) != tt.against {
				t.Errorf("breaker counts %d failures, want one: %v", failures, tt.against)
			}
		})
	}
}

func TestTheBodyAndTheKeyThatTheGatewayGets(t *testing.T) {
	t.Parallel()
	type call struct{ path, key, body string }
	var got []call
	p := newTestProcessor(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, call{r.URL.Path, r.Header.Get(headerKey), string(body)})
	})
	for _, value := range []string{goodPayment, ""} {
		if err := p.handler().Handle(t.Context(), record(value)); err != nil {
			t.Fatal(err)
		}
	}
	key := record("").Origin().ID()
	want := []call{
		{"/charges", key, `{"payment":"p1","amount_cents":1250,"currency":"EUR"}`},
		{"/cancellations", key, `{"payment":"p1"}`},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(call{})); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestAnAttemptEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newTestProcessor(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then the server does not see its caller go
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, retry.ErrAttemptTimeout)
	defer cancel()
	err := p.handler().Handle(ctx, record(goodPayment))
	if !errors.Is(err, retry.ErrAttemptTimeout) {
		t.Errorf("error %v, want %v", err, retry.ErrAttemptTimeout)
	}
	if got := p.gateway.State().ConsecutiveFailures; got != 1 {
		t.Errorf("breaker counts %d failures, want 1", got)
	}
}

func TestAnOpenBreakerKeepsTheGatewayAlone(t *testing.T) {
	t.Parallel()
	calls := 0
	p := newTestProcessor(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	for range breaker.ConsecutiveFailuresDefault {
		if err := p.handler().Handle(t.Context(), record(goodPayment)); err == nil {
			t.Fatal("no error")
		}
	}
	err := p.handler().Handle(t.Context(), record(goodPayment))
	if open, ok := errors.AsType[*breaker.OpenError](err); !ok || open.Breaker != p.gateway {
		t.Errorf("error %v, want the open breaker's", err)
	}
	if calls != breaker.ConsecutiveFailuresDefault {
		t.Errorf("gateway called %d times, want %d", calls, breaker.ConsecutiveFailuresDefault)
	}
}

func TestWhatEachReleaseUnderstands(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value       string
		first, then retry.Disposition // "": understood
	}{
		{goodPayment, "", ""},
		{`{"id":"p1","amount_cents":1250,"currency":"BRL"}`, retry.DispositionPoison, ""},
		{`{"id":"p1","amount_cents":"1250","currency":"EUR"}`, retry.DispositionDecode, ""},
		{`{"id":"p1","amount_cents":"1250","currency":"XXX"}`, retry.DispositionDecode, retry.DispositionPoison},
		{`{"id":"p1","amount_cents":"12.50","currency":"EUR"}`, retry.DispositionDecode, retry.DispositionDecode},
		{`{"id":"p1","amount_cents":0,"currency":"EUR"}`, retry.DispositionDecode, retry.DispositionDecode},
		{`{"id":"p1","currency":"EUR"}`, retry.DispositionDecode, retry.DispositionDecode},
		{`{"amount_cents":1250,"currency":"EUR"}`, retry.DispositionDecode, retry.DispositionDecode},
		{`{"id":"p1","amoun`, retry.DispositionDecode, retry.DispositionDecode},
		{`[]`, retry.DispositionDecode, retry.DispositionDecode},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			t.Parallel()
			p := newTestProcessor(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
			for release, want := range []retry.Disposition{tt.first, tt.then} {
				p.release.Store(int32(release + 1))
				err := p.handler().Handle(t.Context(), record(tt.value))
				if got := dispositionOf(t, err); got != want {
					t.Errorf("release %d: disposition %q of %v, want %q", release+1, got, err, want)
				}
				if got := p.understands([]byte(tt.value)); got != (want == "") {
					t.Errorf("release %d: understands %v, want %v", release+1, got, want == "")
				}
			}
		})
	}
}

// dispositionOf is what a dead letter of a failure would say, "" for none.
func dispositionOf(t *testing.T, err error) retry.Disposition {
	t.Helper()
	if err == nil {
		return ""
	}
	return policy().WithDefaults().Next(retry.State{
		Attempts: 1, Verdict: retry.Classify(t.Context(), nil, err), Cause: retry.CauseOf(t.Context(), err),
	}).Disposition
}
