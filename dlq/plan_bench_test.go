package dlq

import (
	"fmt"
	"testing"
)

// BenchmarkPlanner is the cost of one dead letter in a plan, beyond reading it.
func BenchmarkPlanner(b *testing.B) {
	records := make([]*Record, 1024)
	for i := range records {
		records[i] = dead(int64(i), func(l *Letter) { l.Stamp.Meta.Error = fmt.Sprint("no order ", i) })
	}
	b.ReportAllocs()
	p := newPlanner(PlanRequest{DLQ: "d"}, &Ledger{}, "c")
	for i := 0; b.Loop(); i++ {
		r := *records[i%len(records)]
		r.Offset = int64(i)
		p.add(&r)
	}
}
