// Package breaker has circuit breakers that a consumer can wait on.
//
// A breaker stands in front of a downstream. While calls succeed it is closed
// and lets them through. After a number of failures in a row it opens and
// refuses calls at once, so that a downstream in trouble is left alone and its
// callers do not wait for timeouts. When the open time is over it is half-open:
// a few calls, the probes, go through and decide.
//
//	               ConsecutiveFailures
//	closed ------------------------------> open
//	  ^                                   |    ^
//	  | Probes successes     OpenFor over |    | one probe fails:
//	  |                      and a call   v    | open again, longer
//	  +-------------------------------- half-open
//
// The smallest use is
//
//	gateway, err := breaker.New("gateway", breaker.Config{})
//	...
//	err = gateway.Do(ctx, func(ctx context.Context) error { return charge(ctx, payment) })
//
// A refused call returns an [*OpenError]. [Breaker.Wait] waits until a call
// would be let through, [Breaker.State] tells how long that takes without
// changing anything, and [Breaker.Watch] tells of changes.
//
// # Guarantees
//
// A call that was let through is counted once: as a success, a failure or
// neither. A panic or a [runtime.Goexit] is a failure and goes on its way. The
// result of a call that began before the breaker last changed its state is
// ignored. No code of the caller runs while a lock is held.
//
// # Not guaranteed
//
// After Wait or Ready somebody else can take the last probe, so a call can be
// refused all the same. A probe that never returns keeps its ticket: calls must
// end when their context does. Each process has its own breakers.
package breaker
