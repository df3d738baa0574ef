package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// gateway is a card gateway: an HTTP server on loopback that fails as its
// script says and writes everything it does into its book.
type gateway struct {
	script script
	book   *book
	// say tells the story of outages.
	say    func(format string, args ...any)
	server *http.Server
	url    string

	mu      sync.Mutex // guards what follows
	calls   int        // outside of outages
	outage  int        // the next one's number, or the current one's
	until   time.Time  // when the current outage is over; zero: none
	refused int        // calls in the current outage
}

// startGateway starts a gateway on a free port. Close it.
func startGateway(ctx context.Context, s script, b *book, say func(format string, args ...any)) (*gateway, error) {
	g := &gateway{script: s, book: b, say: say}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start gateway: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", g.charge)
	mux.HandleFunc("POST /cancellations", g.cancel)
	g.url = "http://" + listener.Addr().String()
	g.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go g.serve(listener)
	return g, nil
}

// serve runs until close.
func (g *gateway) serve(listener net.Listener) {
	if err := g.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		g.say("the gateway stopped: %v", err)
	}
}

// close waits for the calls being answered.
func (g *gateway) close(ctx context.Context) error { return g.server.Shutdown(ctx) }

// charge answers one call for money.
func (g *gateway) charge(w http.ResponseWriter, r *http.Request) {
	// Read to its end, or the server does not notice when the caller goes.
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var body order
	if err == nil {
		err = json.Unmarshal(content, &body)
	}
	if err != nil || r.Header.Get(headerKey) == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	known, released := g.book.look(r.Header.Get(headerKey))
	reply := answer{entryUnavailable, true}
	if !g.down() {
		reply = g.script.answer(body.Payment, known, released)
	}
	g.settle(w, r, reply)
}

// cancel answers one call that takes a payment back.
func (g *gateway) cancel(w http.ResponseWriter, r *http.Request) {
	reply := answer{entryCancelled, true}
	if g.down() {
		reply.kind = entryUnavailable
	}
	g.settle(w, r, reply)
}

// settle writes down what is done and then does it.
func (g *gateway) settle(w http.ResponseWriter, r *http.Request, reply answer) {
	line := entryOf(r)
	line.Kind, line.IfAbsent = reply.kind, reply.kind == entryCharged && !g.script.forgetful
	if err := g.book.write(r.Context(), line); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if !reply.heard {
		<-r.Context().Done() // the caller's patience ends first
		return
	}
	if reply.kind == entryBusy {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status(reply.kind))
}

// status is what a caller sees of an entry.
func status(kind entryKind) int {
	switch kind {
	case entryCharged:
		return http.StatusCreated
	case entryRepeated, entryCancelled:
		return http.StatusOK
	case entryDeclined:
		return http.StatusPaymentRequired
	case entryBusy:
		return http.StatusTooManyRequests
	case entryIssuer:
		return http.StatusFailedDependency
	case entryUnavailable:
		return http.StatusServiceUnavailable
	case entrySilent, entryRelease:
	}
	return http.StatusInternalServerError
}

// entryOf reads what a call says of itself.
func entryOf(r *http.Request) entry {
	number := func(header string) int {
		n, err := strconv.Atoi(r.Header.Get(header))
		if err != nil {
			return 0
		}
		return n
	}
	return entry{
		Key:     r.Header.Get(headerKey),
		Attempt: number(headerAttempt), Replays: number(headerReplays),
		Requested: int64(number(headerRequested)),
	}
}

// down counts a call and reports whether it falls into an outage.
func (g *gateway) down() bool {
	down, news := g.count(time.Now())
	if news != "" {
		g.say("%s", news)
	}
	return down
}

func (g *gateway) count(now time.Time) (down bool, news string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.until) {
		g.refused++
		return true, ""
	}
	if !g.until.IsZero() {
		news = fmt.Sprintf("the gateway is up again; it was called %d times while it was down", g.refused)
		g.until = time.Time{}
		g.outage++
	}
	g.calls++
	if g.outage == len(g.script.outages) || g.calls <= g.script.outages[g.outage].after {
		return false, news
	}
	lasts := g.script.outages[g.outage].lasts
	g.until, g.refused = now.Add(lasts), 1
	return true, fmt.Sprintf("the gateway goes down for %.1f s", lasts.Seconds())
}
