package retry

import (
	"fmt"
	"time"
)

// roundUp rounds a wait up to whole milliseconds.
func roundUp(d time.Duration) time.Duration {
	if part := d % time.Millisecond; part > 0 {
		return d - part + time.Millisecond
	}
	return d
}

// FormatDelay returns the delay as it stands in a lane's name: one number and
// one unit, the largest of h, m, s and ms that divides it, as in 100ms, 90s,
// 1m and 1h. The error wraps [ErrDelay] where d is no whole number of
// milliseconds from 1 ms to [MaxWait].
func FormatDelay(d time.Duration) (string, error) {
	if d < time.Millisecond || d > MaxWait || d%time.Millisecond != 0 {
		return "", fmt.Errorf("delay %v: must be whole milliseconds, 1ms to %v: %w", d, MaxWait, ErrDelay)
	}
	return formatDelay(d), nil
}

func formatDelay(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d/time.Millisecond)
}

// ParseDelay is the inverse of [FormatDelay] and reads nothing else: 60s is an
// error, since that delay is written 1m. The error wraps [ErrDelay].
func ParseDelay(s string) (time.Duration, error) {
	// The text is one that FormatDelay writes if and only if it comes back
	// from its value, so time's more generous reading does no harm.
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("delay %q: %w", s, ErrDelay)
	}
	if canonical, err := FormatDelay(d); err != nil || canonical != s {
		return 0, fmt.Errorf("delay %q: %w", s, ErrDelay)
	}
	return d, nil
}
