package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-kafka/holdfast/breaker"
	"github.com/holdfast-kafka/holdfast/consumer"
	"github.com/holdfast-kafka/holdfast/retry"
)

// The headers of a call besides the standard ones. The last three are for the
// gateway's book, with which the story is checked.
const (
	headerKey       = "Idempotency-Key"
	headerAttempt   = "Attempt"
	headerReplays   = "Replays"
	headerRequested = "Requested-At"
)

// order is the body of a call.
type order struct {
	Payment  string `json:"payment"`
	Cents    int64  `json:"amount_cents,omitempty"`
	Currency string `json:"currency,omitempty"`
}

// cards calls the card gateway. Safe for concurrent use.
type cards struct {
	url  string
	http *http.Client
}

// newCards returns a client that keeps a connection for each of the given
// number of calls at once. It sets no timeout of its own: the attempt's context
// has one.
func newCards(url string, calls int) *cards {
	return &cards{url: url, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: calls}}}
}

func (c *cards) charge(ctx context.Context, pay payment, rec *consumer.Record) error {
	return c.post(ctx, "/charges", order{Payment: pay.ID, Cents: pay.cents, Currency: pay.Currency}, rec)
}

func (c *cards) cancel(ctx context.Context, rec *consumer.Record) error {
	return c.post(ctx, "/cancellations", order{Payment: string(rec.Key)}, rec)
}

// post makes one call. The record's origin is the idempotency key: it is the
// same on every attempt, retry and replay.
func (c *cards) post(ctx context.Context, path string, body order, rec *consumer.Record) error {
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode order: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("call gateway: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(headerKey, rec.Origin().ID())
	req.Header.Set(headerAttempt, strconv.Itoa(rec.Attempt()))
	req.Header.Set(headerReplays, strconv.Itoa(rec.Replays()))
	req.Header.Set(headerRequested, strconv.FormatInt(time.Now().UnixMilli(), 10))
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("call gateway: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	// The status says it all, but an unread body costs the connection.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	return outcome(resp)
}

// outcome tells what an answer means for the payment.
func outcome(resp *http.Response) error {
	answer := &answerError{status: resp.StatusCode}
	switch {
	case resp.StatusCode < 300, resp.StatusCode == http.StatusPaymentRequired:
		return nil // charged, or the card was declined: nothing is left to do
	case resp.StatusCode == http.StatusTooManyRequests:
		return retry.After(answer, retryAfter(resp.Header))
	case resp.StatusCode == http.StatusFailedDependency, resp.StatusCode >= 500:
		return answer // may succeed later
	}
	return retry.Poison(answer)
}

// retryAfter reads the seconds that a Retry-After header asks for.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// answerError is an answer of the gateway that settles nothing.
type answerError struct{ status int }

func (e *answerError) Error() string {
	return fmt.Sprintf("gateway answered %d %s", e.status, http.StatusText(e.status))
}

// speaksAgainstGateway tells the breaker which failures are the gateway's own.
// One that asks us to slow down, or whose partner is offline, is there.
func speaksAgainstGateway(err error) bool {
	if answer, ok := errors.AsType[*answerError](err); ok {
		return answer.status >= 500
	}
	return breaker.IsFailure(err)
}
