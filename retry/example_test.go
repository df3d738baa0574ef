package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-kafka/holdfast/retry"
)

// A handler steers with marks; the policy turns them into a decision.
func ExamplePolicy_Next() {
	policy := retry.Policy{MaxAttempts: 3, DisableJitter: true}
	busy := errors.New("gateway is busy")
	for _, err := range []error{
		busy,
		retry.After(busy, 30*time.Second),
		fmt.Errorf("charge: %w", retry.Poison(errors.New("no such account"))),
		retry.Hold(busy, time.Minute),
	} {
		verdict := retry.Classify(context.Background(), nil, err)
		decision := policy.Next(retry.State{Attempts: 1, Verdict: verdict})
		fmt.Printf("%v %v %q\n", decision.Action, decision.Wait, decision.Disposition)
	}
	fmt.Println(policy.Next(retry.State{Attempts: 3}).Disposition)
	// Output:
	// retry 10s ""
	// retry 30s ""
	// dead 0s "poison"
	// hold 1m0s ""
	// exhausted
}

// A wait that no lane has takes the next longer lane.
func ExamplePolicy_Place() {
	policy := retry.Policy{DisableJitter: true}.WithDefaults()
	for _, wait := range []time.Duration{10 * time.Second, 30 * time.Second, 2 * time.Hour} {
		place := policy.Place(wait, 0)
		fmt.Println(retry.LaneTopic("payments", "billing", place.Lane), "due in", place.Wait)
	}
	// Output:
	// payments.billing.retry.10s due in 10s
	// payments.billing.retry.1m due in 1m0s
	// payments.billing.retry.36m due in 2h0m0s
}

// A classifier decides about errors without a mark, here about the status a
// gateway answered with.
func ExampleClassify() {
	rejected := errors.New("422 unprocessable")
	classifier := retry.ClassifierFunc(func(ctx context.Context, err error) retry.Verdict {
		if errors.Is(err, rejected) {
			return retry.Verdict{Class: retry.ClassPoison}
		}
		return retry.DefaultClassifier().Classify(ctx, err)
	})
	ctx := context.Background()
	fmt.Println(retry.Classify(ctx, classifier, rejected).Class)
	fmt.Println(retry.Classify(ctx, classifier, retry.Transient(rejected)).Class)
	fmt.Println(retry.Classify(ctx, classifier, errors.New("503 unavailable")).Class)
	// Output:
	// poison
	// transient
	// transient
}

// All waits of a policy, before chance adds to them.
func ExamplePolicy_Delay() {
	policy := retry.Policy{Initial: time.Second, Multiplier: 4, Max: 30 * time.Second}
	for attempt := 1; attempt <= 4; attempt++ {
		fmt.Println(policy.Delay(attempt, 0))
	}
	// Output:
	// 1s
	// 4s
	// 16s
	// 30s
}

// Topics have the same names for everybody who knows topic and group.
func ExampleDLQTopic() {
	dlq := retry.DLQTopic("payments", "billing")
	fmt.Println(dlq)
	fmt.Println(retry.LedgerTopic(dlq))
	fmt.Println(retry.ReplayTopic("payments", "billing.eu"))
	// Output:
	// payments.billing.dlq
	// payments.billing.dlq.ledger
	// payments.billing_eu-fe79037c.replay
}
