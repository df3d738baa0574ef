package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// teller tells the story to a person. Safe for concurrent use.
type teller struct {
	start time.Time

	mu  sync.Mutex // guards out
	out io.Writer
}

func newTeller(out io.Writer) *teller { return &teller{start: time.Now(), out: out} }

func (t *teller) printf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.out, format, args...) // nobody to tell
}

// sayf tells one thing that happened, and when.
func (t *teller) sayf(format string, args ...any) {
	t.printf("%6.1f s  %s\n", time.Since(t.start).Seconds(), fmt.Sprintf(format, args...))
}

// opening tells what the story plays on.
func (t *teller) opening(s *story) {
	where := "on " + s.brokers
	if s.embedded != nil {
		where += ", a broker inside this process"
	}
	t.printf("Topic %s, group %s, %s.\nThe card gateway at %s behaves as seed %d says.\n\n", s.topic, s.group, where, s.gateway.url, s.seed)
}

// table tells what became of everything.
func (t *teller) table(f *figures) {
	var b strings.Builder
	fmt.Fprintf(&b, "\nWhat became of %s payments, counted from the topics and the gateway's book:\n\n", thousands(f.Payments))
	row := func(n int, what string) { fmt.Fprintf(&b, "  %9s  %s\n", thousands(n), what) }
	row(f.Charged, "charged")
	row(f.declined, "declined by the bank")
	row(f.cancelled, "cancelled before they were charged")
	row(f.unsettled, "dead letters, waiting for somebody to decide")
	if f.waiting > 0 {
		row(f.waiting, "still to be handled")
	}
	row(f.Lost, "lost")
	fmt.Fprintf(&b, "\n%s failed attempts waited in lanes, %s dead letters were written, %s records were replayed.\n",
		thousands(f.Retried), thousands(f.Dead), thousands(f.Replayed))
	f.writeCauses(&b)
	t.printf("%s", b.String())
}

// writeCauses lists why dead letters are dead, the most first.
func (f *figures) writeCauses(b *strings.Builder) {
	if len(f.causes) == 0 {
		return
	}
	const most = 8
	fmt.Fprintf(b, "\nDead letters by cause:\n\n  %9s  %9s  %-11s  %s\n", "all", "open", "disposition", "error")
	order := slices.SortedFunc(maps.Keys(f.causes), func(x, y cause) int {
		return cmp.Or(cmp.Compare(f.causes[y].all, f.causes[x].all), cmp.Compare(x.text, y.text), cmp.Compare(x.disposition, y.disposition))
	})
	for i, why := range order {
		if i == most {
			fmt.Fprintf(b, "  and %d more causes\n", len(order)-most)
			break
		}
		n := f.causes[why]
		fmt.Fprintf(b, "  %9s  %9s  %-11s  %.70q\n", thousands(n.all), thousands(n.open), why.disposition, why.text)
	}
}

// serving tells what can be tried while the story stays up.
func (t *teller) serving(s *story) {
	t.printf("\nThe broker is %s. Try from another terminal:\n\n%s\nCtrl-C ends it.\n", s.brokers, next(s.dlqTopic(), s.brokers))
}

// next are the commands to try.
func next(topic, brokers string) string {
	var b strings.Builder
	for _, command := range []string{"inspect %s", "inspect %s --disposition decode", "replay %s --disposition exhausted --yes"} {
		fmt.Fprintf(&b, "  go run ./cmd/dlqctl "+command+" --brokers %s\n", topic, brokers)
	}
	return b.String()
}

// closing tells how to go on after a story that did not stay up.
func (s *story) closing() string {
	if s.embedded == nil {
		return "\nTo look at the dead letters:\n\n" + next(s.dlqTopic(), s.brokers)
	}
	return "\nThe broker is gone with this process. To look at the dead letters with dlqctl, keep it:\n\n" +
		"  go run ./examples/payments --serve\n"
}

// verdict tells whether the promises were kept.
func (t *teller) verdict(f *figures) {
	problems := f.problems()
	if len(problems) == 0 {
		t.printf("\nKept: none lost, none charged twice, none handled before it was due, no attempt spent on an open breaker (%.1f s).\n",
			float64(f.ElapsedMS)/1000)
		return
	}
	t.printf("\nBROKEN: %s.\n", strings.Join(problems, ", "))
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
