package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// entryKind says what the gateway did about a call.
type entryKind string

// What the gateway can do.
const (
	entryCharged     entryKind = "charged"
	entryRepeated    entryKind = "repeated" // charged before, under the same key
	entryDeclined    entryKind = "declined"
	entryCancelled   entryKind = "cancelled"
	entryUnavailable entryKind = "unavailable" // the gateway is down
	entryIssuer      entryKind = "issuer"      // the bank behind the card is offline
	entryBusy        entryKind = "busy"        // told to come back later
	entrySilent      entryKind = "silent"      // never answered, nothing charged
	// entryRelease is no call: from here on a new release is deployed.
	entryRelease entryKind = "release"
)

// entry is a line of the gateway's book.
type entry struct {
	Kind entryKind `json:"kind"`
	Key  string    `json:"key,omitempty"` // the idempotency key
	// Attempt and Replays are the caller's count, Requested its clock in
	// Unix milliseconds.
	Attempt   int   `json:"attempt,omitempty"`
	Replays   int   `json:"replays,omitempty"`
	Requested int64 `json:"requested,omitempty"`
	// IfAbsent: the charge counts only if the key has none before it. A
	// gateway that forgets its keys does not ask for that.
	IfAbsent bool `json:"if_absent,omitempty"`
	// By is the line's own mark, by which its writer knows it again.
	By string `json:"by"`
}

// book is what the gateway knows, kept in a topic of one partition: so it
// outlives the process, and the gateways of several processes are one. The
// order of the topic decides which of two charges under one key came first.
// Safe for concurrent use.
type book struct {
	client *kgo.Client
	topic  string
	mark   string
	// onRelease is called, on the book's goroutine, when a release entry is read.
	onRelease func()
	stop      context.CancelFunc
	ended     chan struct{}

	mu       sync.Mutex // guards what follows
	written  int
	released bool
	pages    map[string]*page
	waiting  map[string]chan struct{}
}

// page is what the book says about one key.
type page struct {
	calls   int
	charged bool
}

// openBook opens the book in a topic that exists and reads it in the
// background until close, whatever becomes of ctx.
func openBook(ctx context.Context, brokers []string, topic string, onRelease func()) (*book, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumeTopics(topic),
		kgo.DefaultProduceTopic(topic),
		kgo.ProducerLinger(0),
		kgo.FetchMaxWait(time.Second),
	)
	if err != nil {
		return nil, fmt.Errorf("open book: %w", err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	b := &book{
		client: client, topic: topic, mark: rand.Text(), onRelease: onRelease,
		stop: stop, ended: make(chan struct{}),
		pages: map[string]*page{}, waiting: map[string]chan struct{}{},
	}
	go b.follow(ctx)
	return b, nil
}

// close stops reading and waits until what was written is acknowledged.
func (b *book) close(ctx context.Context) error {
	err := b.client.Flush(ctx)
	b.stop()
	<-b.ended
	b.client.Close()
	return err
}

// errBookClosed is returned to writers that close overtook.
var errBookClosed = errors.New("book closed")

// write appends a line and waits until it is read back. The line is written
// even if ctx ends before that.
func (b *book) write(ctx context.Context, line entry) error {
	read := make(chan struct{})
	b.mu.Lock()
	b.written++
	line.By = b.mark + "-" + strconv.Itoa(b.written)
	b.waiting[line.By] = read
	b.mu.Unlock()
	value, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("write book: %w", err)
	}
	failed := make(chan error, 1)
	b.client.Produce(context.WithoutCancel(ctx), &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
		if err != nil {
			failed <- err
		}
	})
	select {
	case <-read:
		return nil
	case err = <-failed:
		return fmt.Errorf("write book: %w", err)
	case <-b.ended:
		return errBookClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// look returns what is known about a key.
func (b *book) look(key string) (known page, released bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.pages[key]; p != nil {
		known = *p
	}
	return known, b.released
}

// follow reads the book to the end of ctx.
func (b *book) follow(ctx context.Context) {
	defer close(b.ended)
	for ctx.Err() == nil {
		b.client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			var line entry
			if json.Unmarshal(r.Value, &line) != nil {
				return // not ours
			}
			if b.enter(line) {
				b.onRelease()
			}
		})
	}
}

// enter takes in a line and tells its writer. It reports whether it is the
// first release.
func (b *book) enter(line entry) (release bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if line.Kind == entryRelease {
		release, b.released = !b.released, true
	} else {
		p := b.pages[line.Key]
		if p == nil {
			p = &page{}
			b.pages[line.Key] = p
		}
		p.calls++
		p.charged = p.charged || line.Kind == entryCharged
	}
	if read, ours := b.waiting[line.By]; ours {
		delete(b.waiting, line.By)
		close(read)
	}
	return release
}
