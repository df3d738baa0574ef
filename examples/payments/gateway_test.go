package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/consumer/consumertest"
)

// startTestGateway starts a gateway with its book in a broker.
func startTestGateway(t *testing.T, addr string) *gateway {
	t.Helper()
	book, err := openBook(t.Context(), []string{addr}, "book", func() {})
	if err != nil {
		t.Fatal(err)
	}
	g, err := startGateway(t.Context(), script{}, book, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(g.server.Close(), book.close(ctx)); err != nil {
			t.Error(err)
		}
	})
	return g
}

func startBook(t *testing.T) string {
	t.Helper()
	return consumertest.StartBroker(t, consumertest.Topic{Name: "book", Partitions: 1}).Addr()
}

// post makes a call under a key and returns the answer's status.
func post(t *testing.T, g *gateway, path, key string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+path, bytes.NewReader([]byte(`{"payment":"p1"}`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(headerKey, key)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

func TestAKeyIsChargedOnceByAllGatewaysTogether(t *testing.T) {
	t.Parallel()
	addr := startBook(t)
	one, two := startTestGateway(t, addr), startTestGateway(t, addr)
	got := []int{post(t, one, "/charges", "k1"), post(t, one, "/charges", "k1"), post(t, one, "/charges", "k2")}
	// The second gateway has read all before it has read back its own line.
	got = append(got, post(t, two, "/charges", "k3"), post(t, two, "/charges", "k1"))
	want := []int{http.StatusCreated, http.StatusOK, http.StatusCreated, http.StatusCreated, http.StatusOK}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

func TestACallWithoutAKeyIsRefused(t *testing.T) {
	t.Parallel()
	g := startTestGateway(t, startBook(t))
	if got := post(t, g, "/charges", ""); got != http.StatusBadRequest {
		t.Errorf("status %d, want %d", got, http.StatusBadRequest)
	}
}

func TestACancellationIsWrittenDown(t *testing.T) {
	t.Parallel()
	g := startTestGateway(t, startBook(t))
	if got := post(t, g, "/cancellations", "k1"); got != http.StatusOK {
		t.Errorf("status %d, want 200", got)
	}
	if known, _ := g.book.look("k1"); known.calls != 1 || known.charged {
		t.Errorf("book has %+v, want one call and no charge", known)
	}
}

func TestAnOutageRefusesEveryCallWhileItLasts(t *testing.T) {
	t.Parallel()
	g := &gateway{script: script{outages: []outage{{after: 2, lasts: time.Second}, {after: 3, lasts: time.Second}}}}
	start := time.Now()
	var got []bool
	for _, at := range []time.Duration{
		0, 1, // up
		2, 3, 1 + time.Second, // the third call begins an outage of a second
		2 + time.Second, 3 + time.Second, // the next call begins another
		2 + 2*time.Second, 3 + 2*time.Second, // up for good
	} {
		down, _ := g.count(start.Add(at))
		got = append(got, down)
	}
	want := []bool{false, false, true, true, true, true, true, false, false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("down (-want +got):\n%s", diff)
	}
}

func TestWhatTheScriptAnswers(t *testing.T) {
	t.Parallel()
	first, again, charged := page{}, page{calls: 1}, page{calls: 1, charged: true}
	tests := []struct {
		name      string
		shares    shares
		known     page
		released  bool
		forgetful bool
		want      answer
	}{
		{"a good card", shares{}, first, false, false, answer{entryCharged, true}},
		{"a key known", shares{}, charged, false, false, answer{entryRepeated, true}},
		{"a key forgotten", shares{}, charged, false, true, answer{entryCharged, true}},
		{"a bad card", shares{declined: 1000}, first, false, false, answer{entryDeclined, true}},
		{"a bad card again", shares{declined: 1000}, again, false, false, answer{entryDeclined, true}},
		{"silence", shares{silent: 1000}, first, false, false, answer{entrySilent, false}},
		{"after silence", shares{silent: 1000}, again, false, false, answer{entryCharged, true}},
		{"a lost answer", shares{unheard: 1000}, first, false, false, answer{entryCharged, false}},
		{"busy", shares{busy: 1000}, first, false, false, answer{entryBusy, true}},
		{"after busy", shares{busy: 1000}, again, false, false, answer{entryCharged, true}},
		{"an issuer offline", shares{issuer: 1000}, again, false, false, answer{entryIssuer, true}},
		{"an issuer back", shares{issuer: 1000}, again, true, false, answer{entryCharged, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := script{shares: tt.shares, forgetful: tt.forgetful}
			if got := s.answer("p1", tt.known, tt.released); got != tt.want {
				t.Errorf("answer %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestASeedGivesTheSameStory(t *testing.T) {
	t.Parallel()
	one, same, other := newScript(7, 1000), newScript(7, 1000), newScript(8, 1000)
	allow := cmp.AllowUnexported(script{}, shares{}, outage{})
	if diff := cmp.Diff(one, same, allow); diff != "" {
		t.Errorf("two scripts of a seed (-one +other):\n%s", diff)
	}
	if cmp.Equal(one.outages, other.outages, allow) {
		t.Error("two seeds have the same outages")
	}
	counts := map[fate]int{}
	for i := range 10_000 {
		record := newPayment(7, i)
		if !bytes.Equal(record.Value, newPayment(7, i).Value) {
			t.Fatalf("payment %d is not the same twice", i)
		}
		counts[one.fateOf(string(record.Key))]++
	}
	for what, of := range map[fate]int{fateDeclined: 60, fateSilent: 3, fateUnheard: 5, fateBusy: 20, fateIssuer: 4} {
		if got := counts[what]; got < of*5 || got > of*20 {
			t.Errorf("fate %d: %d of 10,000 payments, want about %d", what, got, of*10)
		}
	}
}
