package retry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-kafka/holdfast/retry"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	lanes := retry.Lanes{time.Second, time.Minute}
	tests := []struct {
		wait  time.Duration
		lane  time.Duration
		index int
	}{
		{-1, time.Second, 0},
		{0, time.Second, 0},
		{time.Second, time.Second, 0},
		{time.Second + 1, time.Minute, 1},
		{time.Minute, time.Minute, 1},
		{time.Minute + 1, time.Minute, 1},
	}
	for _, tt := range tests {
		if lane, index := lanes.Choose(tt.wait); lane != tt.lane || index != tt.index {
			t.Errorf("Choose(%v) = %v, %d; want %v, %d", tt.wait, lane, index, tt.lane, tt.index)
		}
	}
	if lane, index := (retry.Lanes{}).Choose(1); lane != 0 || index != -1 {
		t.Errorf("no lanes: %v, %d; want 0, -1", lane, index)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	p := retry.Policy{Jitter: 1, Lanes: retry.Lanes{10 * time.Second, time.Minute}}
	tests := []struct {
		name   string
		wait   time.Duration
		random float64
		want   retry.Placement
	}{
		{"due after the lane's delay", 11 * time.Second, 0, retry.Placement{1, time.Minute, time.Minute}},
		{"jitter of a lane is bounded", 5 * time.Second, 0.5, retry.Placement{0, 10 * time.Second, 11 * time.Second}},
		{"longer than the longest keeps the true wait", time.Hour, 0, retry.Placement{1, time.Minute, time.Hour}},
		{"longer than a day", 1 << 62, 0, retry.Placement{1, time.Minute, retry.MaxWait}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, p.Place(tt.wait, tt.random)); diff != "" {
				t.Errorf("placement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlaceLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy").WithDefaults()
		wait := time.Duration(rapid.Int64Range(0, int64(retry.MaxWait)).Draw(t, "wait"))
		random := rapid.Float64Range(0, 0.999999).Draw(t, "random")
		got := p.Place(wait, random)
		longest := p.Lanes[len(p.Lanes)-1]
		switch {
		case got.Lane != p.Lanes[got.Index]:
			t.Fatalf("%+v: lane and index differ", got)
		case got.Wait < wait:
			t.Fatalf("%+v is shorter than the wanted %v", got, wait)
		case wait <= longest && (got.Wait < got.Lane || got.Wait > got.Lane+got.Lane/5):
			t.Fatalf("%+v is not what the lane allows", got)
		case wait > longest && got.Lane != longest:
			t.Fatalf("%+v is not the longest lane, %v", got, longest)
		case got.Index > 0 && p.Lanes[got.Index-1] >= wait && wait <= longest:
			t.Fatalf("%+v: a smaller lane is long enough for %v", got, wait)
		}
	})
}

func TestReaderWait(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_700_000_000_000)
	const lane = 10 * time.Second
	tests := []struct {
		name         string
		written, due time.Duration // relative to now
		wait, rest   time.Duration
		skewed       bool
	}{
		{"due in the past", -time.Minute, -time.Second, 0, 0, false},
		{"exactly due", -lane, 0, 0, 0, false},
		{"one nanosecond early", -lane + 1, 1, 1, 0, false},
		{"just written", 0, 12 * time.Second, 12 * time.Second, 0, false},
		{"longer than the lane", 0, time.Minute, 12 * time.Second, 48 * time.Second, false},
		{"longer than the lane, partly over", -50 * time.Second, 10 * time.Second, 10 * time.Second, 0, false},
		{"longer than the lane, most to come", -10 * time.Second, 50 * time.Second, 12 * time.Second, 38 * time.Second, false},
		{"writer ahead", time.Hour, time.Hour + lane, lane, 0, true},
		{"writer ahead and longer than the lane", time.Hour, time.Hour + time.Minute, 12 * time.Second, 48 * time.Second, true},
		{"writer behind", -time.Hour, -time.Hour + lane, 0, 0, false},
		{"due before written", time.Hour, 30 * time.Minute, 0, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wait, rest, skewed := retry.ReaderWait(now, now.Add(tt.due), now.Add(tt.written), lane)
			if wait != tt.wait || rest != tt.rest || skewed != tt.skewed {
				t.Errorf("got %v, %v, %v; want %v, %v, %v", wait, rest, skewed, tt.wait, tt.rest, tt.skewed)
			}
		})
	}
}

// With equal clocks a record is never handled early, however long it was not
// read, and hops through lanes add up to the wanted wait. With a wrong clock
// it still waits no longer than its lane allows.
func TestReaderWaitLaws(t *testing.T) {
	t.Parallel()
	day := int64(24 * time.Hour)
	rapid.Check(t, func(t *rapid.T) {
		written := time.UnixMilli(rapid.Int64Range(0, 4_000_000_000_000).Draw(t, "written"))
		wanted := time.Duration(rapid.Int64Range(-day, day).Draw(t, "wanted"))
		lane := time.Duration(rapid.Int64Range(-1, day).Draw(t, "lane"))
		now := written.Add(time.Duration(rapid.Int64Range(-day, 2*day).Draw(t, "unread")))
		due := written.Add(wanted)
		wait, rest, skewed := retry.ReaderWait(now, due, written, lane)
		allowed := max(0, lane) + max(0, lane)/5
		switch {
		case wait < 0 || wait > allowed || rest < 0:
			t.Fatalf("wait %v and rest %v, allowed %v", wait, rest, allowed)
		case !skewed && now.Add(wait+rest).Before(due):
			t.Fatalf("early by %v", due.Sub(now.Add(wait+rest)))
		case wait+rest > max(0, wanted):
			t.Fatalf("wait %v and rest %v are more than the wanted %v", wait, rest, wanted)
		case wait+rest > max(0, due.Sub(now)):
			t.Fatalf("late: wait %v and rest %v, due in %v", wait, rest, due.Sub(now))
		case skewed != written.After(now):
			t.Fatalf("skewed is %v", skewed)
		}
	})
}

func TestDelayNames(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Millisecond: "1ms", 100 * time.Millisecond: "100ms", 1500 * time.Millisecond: "1500ms",
		time.Second: "1s", 10 * time.Second: "10s", 90 * time.Second: "90s", time.Minute: "1m",
		time.Hour: "1h", 90 * time.Minute: "90m", 24 * time.Hour: "24h",
	} {
		if got, err := retry.FormatDelay(d); got != want || err != nil {
			t.Errorf("FormatDelay(%v) = %q, %v; want %q", d, got, err, want)
		}
		if got, err := retry.ParseDelay(want); got != d || err != nil {
			t.Errorf("ParseDelay(%q) = %v, %v; want %v", want, got, err, d)
		}
	}
	for _, d := range []time.Duration{0, -time.Second, 1, time.Millisecond + 1, 24*time.Hour + time.Millisecond} {
		if got, err := retry.FormatDelay(d); err == nil {
			t.Errorf("FormatDelay(%v) = %q", d, got)
		}
	}
	for _, s := range []string{
		"", "s", "1", "0s", "60s", "1000ms", "01s", "+1s", "-1s", "1.5s", "1h30m", "25h", "1us", "9999999999999999999h", "1S", " 1s",
	} {
		if got, err := retry.ParseDelay(s); err == nil {
			t.Errorf("ParseDelay(%q) = %v", s, got)
		}
	}
}
