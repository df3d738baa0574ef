package breaker_test

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-kafka/holdfast/breaker"
)

// model is the breaker said naively: no locks, no generations of counters but
// the number of the period a call began in.
type model struct {
	cfg      breaker.Config
	state    breaker.State
	period   int
	failures int
	taken    int // tickets used up or under way
	good     int // successful probes
	openings int
	openFor  time.Duration
	until    time.Time
}

func (m *model) admit(now time.Time) bool {
	switch m.state {
	case breaker.Closed:
		return true
	case breaker.Open:
		if now.Before(m.until) {
			return false
		}
		m.enter(breaker.HalfOpen)
	case breaker.HalfOpen:
	}
	if m.taken >= m.cfg.Probes {
		return false
	}
	m.taken++
	return true
}

func (m *model) enter(s breaker.State) {
	m.state = s
	m.period++
	m.failures, m.taken, m.good = 0, 0, 0
}

func (m *model) open(now time.Time) {
	m.openFor = min(2*m.openFor, m.cfg.MaxOpenFor)
	if m.openings == 0 {
		m.openFor = m.cfg.OpenFor
	}
	m.openings++
	m.until = now.Add(m.openFor)
	m.enter(breaker.Open)
}

func (m *model) end(now time.Time, period int, err error) {
	if period != m.period {
		return
	}
	switch {
	case err == nil && m.state == breaker.Closed:
		m.failures = 0
	case err == nil:
		if m.good++; m.good == m.cfg.Probes {
			m.openings = 0
			m.enter(breaker.Closed)
		}
	case !breaker.IsFailure(err):
		if m.state == breaker.HalfOpen {
			m.taken--
		}
	case m.state == breaker.HalfOpen:
		m.open(now)
	default:
		if m.failures++; m.failures >= m.cfg.ConsecutiveFailures {
			m.open(now)
		}
	}
}

// under is a call under way in both.
type under struct {
	release chan error
	done    chan struct{}
	period  int
}

func TestBreakerIsItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			cfg := breaker.Config{
				ConsecutiveFailures: rapid.IntRange(1, 3).Draw(t, "failures"),
				OpenFor:             time.Duration(rapid.IntRange(1, 50).Draw(t, "open for")) * time.Millisecond,
				Probes:              rapid.IntRange(1, 3).Draw(t, "probes"),
				Random:              func() float64 { return 0 },
			}
			cfg.MaxOpenFor = cfg.OpenFor * time.Duration(rapid.IntRange(1, 9).Draw(t, "bound"))
			b, err := breaker.New("model", cfg)
			if err != nil {
				t.Fatal(err)
			}
			m := &model{cfg: cfg}
			var calls []*under
			defer func() {
				for _, c := range calls {
					c.release <- nil
					<-c.done
				}
			}()
			t.Repeat(map[string]func(*rapid.T){
				"": func(t *rapid.T) { compare(t, b, m) },
				"begin": func(t *rapid.T) {
					if len(calls) > 8 {
						t.Skip("enough under way")
					}
					want := m.admit(time.Now())
					c := begin(b)
					if got := c != nil; got != want {
						t.Fatalf("let through: %v, want %v", got, want)
					}
					if c != nil {
						c.period = m.period
						calls = append(calls, c)
					}
				},
				"end": func(t *rapid.T) {
					if len(calls) == 0 {
						t.Skip("nothing under way")
					}
					i := rapid.IntRange(0, len(calls)-1).Draw(t, "which")
					err := rapid.SampledFrom([]error{nil, errDown, context.Canceled}).Draw(t, "err")
					c := calls[i]
					calls = append(calls[:i], calls[i+1:]...)
					c.release <- err
					<-c.done
					m.end(time.Now(), c.period, err)
				},
				"time passes": func(t *rapid.T) {
					advance(time.Duration(rapid.IntRange(1, 40).Draw(t, "ms")) * time.Millisecond)
				},
				"to the edge": func(t *rapid.T) {
					left := time.Until(m.until)
					if m.state != breaker.Open || left <= 1 {
						t.Skip("no edge ahead")
					}
					advance(left - 1 + time.Duration(rapid.IntRange(0, 1).Draw(t, "past")))
				},
			})
		})
	})
}

// begin begins a call, or returns nil where it was refused.
func begin(b *breaker.Breaker) *under {
	c := &under{release: make(chan error), done: make(chan struct{})}
	began := make(chan struct{})
	go func() {
		defer close(c.done)
		_ = b.Do(context.Background(), func(context.Context) error {
			close(began)
			return <-c.release
		})
	}()
	select {
	case <-began:
		return c
	case <-c.done:
		return nil
	}
}

func compare(t *rapid.T, b *breaker.Breaker, m *model) {
	t.Helper()
	got := b.State()
	tickets := map[breaker.State]int{breaker.Open: m.cfg.Probes, breaker.HalfOpen: m.cfg.Probes - m.taken}[m.state]
	until := m.until
	if m.state != breaker.Open {
		until = time.Time{}
	}
	if got.State != m.state || got.Probes != tickets || got.ConsecutiveFailures != m.failures || got.Openings != m.openings || !got.Until.Equal(until) {
		t.Fatalf("breaker is %+v, the model %+v", got, *m)
	}
}
