package retry

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Defaults of [Policy]. Four waits of 10 s, 1 min, 6 min and 36 min outlast a
// deployment and most failovers of a downstream, and each is a name people can
// read in a topic.
const (
	MaxAttemptsDefault = 5
	InitialDefault     = 10 * time.Second
	MultiplierDefault  = 6.0
	MaxDefault         = time.Hour
	// JitterDefault spreads what failed together enough that it does not
	// come back together, and is the most a lane can spread: see [MaxLaneJitter].
	JitterDefault = 0.2
)

// Bounds of [Policy].
const (
	// MaxWait bounds every single wait, whoever asks for it: a hostile or
	// mistaken Retry-After must not hide a record for longer than a day.
	MaxWait = 24 * time.Hour
	// MaxAttemptsLimit bounds MaxAttempts: a number beyond it is a mistake,
	// since the waits alone would take years.
	MaxAttemptsLimit = 10_000
	// MultiplierMin is the smallest multiplier above 1; MultiplierMax the largest.
	MultiplierMin = 1.01
	MultiplierMax = 100.0
)

// Policy says how often and when a failed record is tried again. Its zero
// value is the default policy. It is a value: nothing changes it, and asking
// it a question never changes its answer, so it is safe to share. Methods take
// unset fields as their defaults, but expect Lanes as [Policy.WithDefaults]
// leaves them.
type Policy struct {
	// MaxAttempts is how often a record is attempted, the first call
	// included. Default 5, range 1 to [MaxAttemptsLimit].
	MaxAttempts int

	// Initial is the wait after the first failed attempt. Default 10 s, range
	// 1 ms to [MaxWait]. Where Lanes is set and Initial is not, the waits are
	// the lanes themselves, in order, the last one repeated.
	Initial time.Duration
	// Multiplier is what each wait is multiplied by to give the next.
	// Default 6; 1 for a constant wait, otherwise [MultiplierMin] to
	// [MultiplierMax].
	Multiplier float64
	// Max is the longest wait that grows, jitter apart. Default one hour, or
	// Initial where that is longer, or the longest lane where the waits are
	// the lanes; at most [MaxWait].
	Max time.Duration

	// Jitter is the share of a wait, 0 to 1, that chance may add to it; it
	// never takes away. Default 0.2. A lane adds at most [MaxLaneJitter].
	Jitter float64
	// DisableJitter turns jitter off.
	DisableJitter bool

	// MaxElapsed is how long after the first failure an attempt may still
	// begin; holds and parks do not count. Zero: no bound.
	MaxElapsed time.Duration

	// Lanes are the delays for which there is a retry topic, in whole
	// milliseconds, 1 ms to [MaxWait], each once. Default: the distinct waits
	// of this policy, rounded up to milliseconds, or [DerivedLanesMax] of
	// them, evenly chosen and the longest included, where there are more.
	Lanes Lanes
}

// WithDefaults returns a copy with every unset field set and the lanes in
// ascending order, each once. It judges nothing: see [Policy.Validate].
func (p Policy) WithDefaults() Policy {
	p.Lanes = p.Lanes.sorted()
	p = p.scalars()
	if len(p.Lanes) == 0 {
		p.Lanes = p.derivedLanes()
	}
	return p
}

// byLane reports whether the waits are the lanes themselves.
func (p Policy) byLane() bool { return p.Initial == 0 && len(p.Lanes) > 0 }

// scalars sets the unset fields apart from the lanes. It allocates nothing.
func (p Policy) scalars() Policy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = MaxAttemptsDefault
	}
	if p.Jitter == 0 && !p.DisableJitter {
		p.Jitter = JitterDefault
	}
	if p.byLane() {
		if p.Max == 0 {
			p.Max = p.Lanes[len(p.Lanes)-1]
		}
		return p
	}
	if p.Initial == 0 {
		p.Initial = InitialDefault
	}
	if p.Multiplier == 0 {
		p.Multiplier = MultiplierDefault
	}
	if p.Max == 0 {
		p.Max = max(MaxDefault, p.Initial)
	}
	return p
}

// Validate returns every mistake of p, joined, or nil. Unset fields are taken
// as their defaults.
func (p Policy) Validate() error {
	var probs problems
	if p.byLane() && p.Multiplier != 0 {
		probs.addf("retry multiplier %v has no effect: without initial the waits are the lanes", p.Multiplier)
	}
	if p.DisableJitter && p.Jitter != 0 {
		probs.addf("retry jitter %v is set and disabled", p.Jitter)
	}
	full := p.WithDefaults()
	if full.MaxAttempts < 1 || full.MaxAttempts > MaxAttemptsLimit {
		probs.addf("retry max attempts %d: must be 1 to %d", full.MaxAttempts, MaxAttemptsLimit)
	}
	if !(full.Jitter >= 0 && full.Jitter <= 1) {
		probs.addf("retry jitter %v: must be 0 to 1", full.Jitter)
	}
	if full.MaxElapsed < 0 {
		probs.addf("retry max elapsed %v: must not be negative", full.MaxElapsed)
	}
	full.validateGrowth(&probs)
	if len(p.Lanes) > 0 {
		probs.addAll(p.Lanes.validate())
	}
	return errors.Join(probs...)
}

func (p Policy) validateGrowth(probs *problems) {
	if p.Max < time.Millisecond || p.Max > MaxWait {
		probs.addf("retry max %v: must be 1ms to %v", p.Max, MaxWait)
	}
	if p.byLane() {
		return
	}
	if p.Initial < time.Millisecond || p.Initial > MaxWait {
		probs.addf("retry initial %v: must be 1ms to %v", p.Initial, MaxWait)
	}
	if p.Initial > p.Max {
		probs.addf("retry initial %v: must not be longer than max %v", p.Initial, p.Max)
	}
	grows := p.Multiplier >= MultiplierMin && p.Multiplier <= MultiplierMax
	if p.Multiplier != 1 && !grows {
		probs.addf("retry multiplier %v: must be 1, or %v to %v", p.Multiplier, MultiplierMin, MultiplierMax)
	}
}

// Delay returns how long to wait after the attempt-th failed attempt, the
// first being 1, with jitter: Initial times Multiplier to the power of
// attempt-1, at most Max, plus random (0 to below 1) times Jitter of it. It
// never overflows and never shrinks from one attempt to the next where random
// is the same. Numbers out of range count as the nearest in range.
func (p Policy) Delay(attempt int, random float64) time.Duration {
	p = p.scalars()
	base := p.base(attempt)
	return base + jitter(base, p.Jitter, random)
}

// base is the wait after the attempt-th failed attempt without jitter, for a
// policy whose scalars are set.
func (p Policy) base(attempt int) time.Duration {
	attempt = max(1, attempt)
	longest := min(max(0, p.Max), MaxWait)
	if p.byLane() {
		return min(max(0, p.Lanes[min(attempt, len(p.Lanes))-1]), longest)
	}
	wait := float64(p.Initial) * math.Pow(p.Multiplier, float64(attempt-1))
	switch {
	case wait < float64(longest):
		return max(0, time.Duration(wait))
	default: // beyond, infinite or not a number
		return longest
	}
}

// jitter is what chance adds to a wait.
func jitter(wait time.Duration, share, random float64) time.Duration {
	if !(share > 0 && random > 0) {
		return 0
	}
	return time.Duration(float64(wait) * min(share, 1) * min(random, 1))
}

// derivedLanes are the distinct waits of a policy whose scalars are set.
func (p Policy) derivedLanes() Lanes {
	var all Lanes
	for attempt := 1; attempt < max(2, min(p.MaxAttempts, MaxAttemptsLimit)); attempt++ {
		wait := roundUp(p.base(attempt))
		if len(all) > 0 && wait == all[len(all)-1] {
			if wait >= p.Max || p.Multiplier <= 1 {
				break
			}
			continue
		}
		all = append(all, wait)
	}
	if len(all) <= DerivedLanesMax {
		return all
	}
	chosen := make(Lanes, DerivedLanesMax)
	for i := range chosen {
		chosen[i] = all[(i+1)*len(all)/DerivedLanesMax-1]
	}
	return chosen
}

// problems collects mistakes so that all of them are reported.
type problems []error

func (p *problems) addf(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (p *problems) addAll(errs []error) { *p = append(*p, errs...) }
