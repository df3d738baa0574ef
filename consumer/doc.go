// Package consumer runs handlers for the records of Kafka topics and loses
// none of them.
//
// A program gives [New] its topics and handlers and calls [Consumer.Run]:
//
//	c, err := consumer.New(consumer.Config{
//		Brokers: "localhost:9092",
//		Group:   "billing",
//		Routes: []consumer.Route{{
//			Topics:  []string{"payments"},
//			Handler: consumer.JSON(charge),
//		}},
//	})
//	if err != nil {
//		return err
//	}
//	return c.Run(ctx)
//
// # What happens to a record
//
// A record is dispatched to its handler within its ordering unit: its
// partition, its key, or none. The order of composition is
//
//	breaker gate -> timeout -> middleware -> handler -> outcome
//
// What the handler returns is the outcome (see [Handler]): done; retry, in a
// lane, which is a topic for each delay, or in place; dead, which is a copy in
// the dead-letter topic that says why; hold, which waits in memory and is not
// charged; or drop.
//
//	        +------ lane <topic>.<group>.retry.<delay> <-----+
//	        v                                                | failed, due later
//	source -+-> gate -> handler --------------------------> outcome -> done
//	        ^                                                | given up on
//	        +-- replay <topic>.<group>.replay <- dlqctl <- <topic>.<group>.dlq
//
// # Guarantees
//
// An offset is committed only after the outcome of every record before it is
// durable. A copy that cannot be written is tried again for ever and its
// partition waits. Only a failed attempt is charged: not an open breaker, a
// revoke or a shutdown. A record in a lane is never handled before it is due,
// by this member's clock. Handlers may take as long as they like: the poll loop
// does not wait for them, so the group does not throw the member out.
//
// # Non-guarantees
//
// Delivery is at least once. After a crash, or a revoke that did not wait long
// enough, the records in flight and those not yet committed are seen again;
// [Record.Origin] gives the key that makes that harmless. A crash between the
// acknowledgement of a copy and the commit makes two copies of one record, with
// the same x-origin-id. A record that goes to a lane gives up its place in the
// order.
package consumer
