// Command payments is a payment processor on Holdfast, with a card gateway
// that fails the way gateways do.
//
//	go run ./examples/payments
//
// It starts a Kafka broker inside the process, writes payments, charges them
// through an unreliable gateway, sends the dead letters that a new release
// understands back to be handled, and counts from the topics and from the
// gateway's own book what became of every payment.
//
// To copy: processor.go, the handler; cards.go, its gateway client; and
// consumer.go, which puts them together. The rest is the stage: gateway.go,
// script.go and book.go are the gateway, writer.go writes the payments,
// audit.go, trail.go and figures.go check, story.go and report.go tell.
//
// Exit status: 0 when every figure that must be zero is zero, 1 when one is
// not or the run failed, 2 for wrong usage, 130 when it was interrupted.
package main
