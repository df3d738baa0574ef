package dlq_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-kafka/holdfast/dlq"
)

func Example() {
	replay := func(ctx context.Context, brokers string) error {
		cluster, err := dlq.Open(dlq.Config{Brokers: brokers})
		if err != nil {
			return err
		}
		defer func() {
			if err := cluster.Close(); err != nil {
				log.Print(err)
			}
		}()
		plan, err := cluster.Plan(ctx, dlq.PlanRequest{
			DLQ:    "payments.billing.dlq",
			Filter: dlq.Filter{Fingerprint: "v1:5d41402abc4b2a76"},
		})
		if err != nil {
			return err
		}
		result, err := cluster.Replay(ctx, plan, dlq.ReplayOptions{By: "kim", Reason: "gateway is back", Rate: 50})
		fmt.Printf("%d of %d sent\n", result.Sent, result.Planned)
		return err
	}
	_ = replay
}

func ExampleFingerprint() {
	a := dlq.Fingerprint("*net.OpError", "dial tcp 10.0.0.1:443: order 17 failed", "")
	b := dlq.Fingerprint("*net.OpError", "dial tcp 10.0.0.9:443: order 42 failed", "")
	fmt.Println(a == b)
	// Output: true
}
