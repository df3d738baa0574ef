package main

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// script says how the gateway behaves. The same seed gives the same story,
// apart from what the clock decides.
type script struct {
	seed    uint64
	shares  shares
	outages []outage
	// forgetful: the gateway does not look at idempotency keys.
	forgetful bool
}

// shares are how many of a thousand payments something happens to.
type shares struct {
	declined int // every call
	silent   int // the first call is never answered
	unheard  int // the first call charges and is never answered
	busy     int // the first call is told to come back in a second
	issuer   int // every call, until the next release
}

// outage is a time in which the gateway answers nothing but errors.
type outage struct {
	after int // calls answered before it begins
	lasts time.Duration
}

// newScript returns the script for a number of payments: three outages, each
// long enough for the breaker to open and to probe a few times.
func newScript(seed uint64, payments int) script {
	s := script{seed: seed, shares: shares{declined: 60, silent: 3, unheard: 5, busy: 20, issuer: 4}}
	dice := rand.New(rand.NewPCG(seed, 0))
	for _, percent := range []int{20, 50, 80} {
		s.outages = append(s.outages, outage{
			after: payments * (percent - 5 + dice.IntN(10)) / 100,
			lasts: 1500*time.Millisecond + time.Duration(dice.IntN(1000))*time.Millisecond,
		})
	}
	return s
}

// fate is what the gateway does about a payment while it is up.
type fate uint8

// The fates.
const (
	fateCharged fate = iota
	fateDeclined
	fateSilent
	fateUnheard
	fateBusy
	fateIssuer
)

// fateOf tells a payment's fate.
func (s *script) fateOf(payment string) fate {
	h := fnv.New64a()
	_, _ = h.Write([]byte(payment)) // a hash never fails
	roll := rand.New(rand.NewPCG(s.seed, h.Sum64())).IntN(1000)
	for _, share := range []struct {
		of   int
		fate fate
	}{
		{s.shares.declined, fateDeclined},
		{s.shares.silent, fateSilent},
		{s.shares.unheard, fateUnheard},
		{s.shares.busy, fateBusy},
		{s.shares.issuer, fateIssuer},
	} {
		if roll < share.of {
			return share.fate
		}
		roll -= share.of
	}
	return fateCharged
}

// answer is what the gateway does about one call: what it writes into its book
// and whether the caller hears of it.
type answer struct {
	kind  entryKind
	heard bool
}

// answer decides about a charge. known is what the book has about its key.
func (s *script) answer(payment string, known page, released bool) answer {
	if known.charged && !s.forgetful {
		return answer{entryRepeated, true}
	}
	first := known.calls == 0
	switch fate := s.fateOf(payment); {
	case fate == fateDeclined:
		return answer{entryDeclined, true}
	case fate == fateIssuer && !released:
		return answer{entryIssuer, true}
	case fate == fateBusy && first:
		return answer{entryBusy, true}
	case fate == fateSilent && first:
		return answer{entrySilent, false}
	case fate == fateUnheard && first:
		return answer{entryCharged, false}
	}
	return answer{entryCharged, true}
}
