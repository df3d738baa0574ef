package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/holdfast-kafka/holdfast/breaker"
	"github.com/holdfast-kafka/holdfast/consumer"
	"github.com/holdfast-kafka/holdfast/retry"
)

// payment is the value of a record on the payments topic. A record without a
// value, a tombstone, is a payment that was cancelled.
type payment struct {
	ID       string          `json:"id"`
	Amount   json.RawMessage `json:"amount_cents"`
	Currency string          `json:"currency"`

	cents int64
}

// processor charges payments. Safe for concurrent use.
type processor struct {
	cards   *cards
	gateway *breaker.Breaker
	// release is the version of the program that is deployed: the second one
	// knows more currencies and reads amounts that a partner writes as text.
	release atomic.Int32
}

// handler returns what handles the records of the payments topic.
func (p *processor) handler() consumer.Handler {
	charge := consumer.Decode(p.read, p.charge)
	return consumer.HandlerFunc(func(ctx context.Context, rec *consumer.Record) error {
		if rec.Value == nil {
			return p.cancel(ctx, rec)
		}
		return charge.Handle(ctx, rec)
	})
}

// charge takes the money. Whatever it returns decides what becomes of the
// record: nil is done, poison is a dead letter, anything else is tried again,
// and the error of an open breaker waits without costing an attempt.
func (p *processor) charge(ctx context.Context, pay payment, rec *consumer.Record) error {
	if err := p.check(pay); err != nil {
		return err
	}
	return p.gateway.Do(ctx, func(ctx context.Context) error {
		return p.cards.charge(ctx, pay, rec)
	})
}

// cancel gives the money back, if any was taken.
func (p *processor) cancel(ctx context.Context, rec *consumer.Record) error {
	return p.gateway.Do(ctx, func(ctx context.Context) error {
		return p.cards.cancel(ctx, rec)
	})
}

// read decodes a payment. Its errors make dead letters with disposition decode.
func (p *processor) read(rec *consumer.Record) (payment, error) { return p.decode(rec.Value) }

func (p *processor) decode(value []byte) (payment, error) {
	var pay payment
	if err := json.Unmarshal(value, &pay); err != nil {
		return payment{}, err
	}
	amount := string(pay.Amount)
	if text, ok := unquote(amount); ok {
		if p.release.Load() < 2 {
			return payment{}, errors.New("amount_cents is text, want a number")
		}
		amount = text
	}
	cents, err := strconv.ParseInt(amount, 10, 64)
	if err != nil || cents <= 0 || pay.ID == "" {
		return payment{}, errors.New("want an id and an amount_cents above zero")
	}
	pay.cents = cents
	return pay, nil
}

func unquote(text string) (string, bool) {
	inner, ok := strings.CutPrefix(text, `"`)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(inner, `"`)
}

// check finds what no further attempt can help with.
func (p *processor) check(pay payment) error {
	switch pay.Currency {
	case "EUR", "USD", "GBP":
		return nil
	case "BRL":
		if p.release.Load() >= 2 {
			return nil
		}
	}
	return retry.Poison(fmt.Errorf("unknown currency %.8q", pay.Currency))
}

// understands reports whether a value would get as far as the gateway now: the
// question to ask about a dead letter before it is sent back.
func (p *processor) understands(value []byte) bool {
	pay, err := p.decode(value)
	return err == nil && p.check(pay) == nil
}
