package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-kafka/holdfast/breaker"
)

// A downstream that fails is left alone until the breaker lets a probe through.
func ExampleBreaker_Do() {
	ctx := context.Background()
	gateway, err := breaker.New("gateway", breaker.Config{ConsecutiveFailures: 2, OpenFor: 10 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	failing := func(context.Context) error { return errors.New("no answer") }
	for range 3 {
		fmt.Println(gateway.Do(ctx, failing))
	}
	if err := gateway.Wait(ctx); err != nil {
		panic(err)
	}
	fmt.Println(gateway.Do(ctx, func(context.Context) error { return nil }))
	fmt.Println(gateway.State().State)
	// Output:
	// no answer
	// no answer
	// breaker gateway is open
	// <nil>
	// closed
}

// Do as a function hands on a result.
func ExampleDo() {
	gateway, err := breaker.New("gateway", breaker.Config{})
	if err != nil {
		panic(err)
	}
	receipt, err := breaker.Do(context.Background(), gateway, func(context.Context) (string, error) {
		return "receipt 17", nil
	})
	fmt.Println(receipt, err)
	// Output: receipt 17 <nil>
}

// A watcher is told of every change, and may ask the breaker itself.
func ExampleBreaker_Watch() {
	gateway, err := breaker.New("gateway", breaker.Config{ConsecutiveFailures: 1})
	if err != nil {
		panic(err)
	}
	stop := gateway.Watch(func(s breaker.Snapshot) {
		fmt.Println(gateway.Name(), "is", s.State, "for", s.Left(s.Since))
	})
	defer stop()
	_ = gateway.Do(context.Background(), func(context.Context) error { return errors.New("no answer") })
	// Output: gateway is open for 10s
}
