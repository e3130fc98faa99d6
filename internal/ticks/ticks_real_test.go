//go:build !quick

package ticks

import (
	"runtime"
	"testing"
	"time"

	"moriens/internal/shmabi"
)

func TestTake(t *testing.T) {
	kinds := []uint32{shmabi.ClockMonotonicRaw}
	if runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" {
		kinds = append(kinds, counterClock)
	}
	for _, kind := range kinds {
		before := time.Now().UnixNano()
		a, err := Take(kind)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
		b, err := Take(kind)
		if err != nil {
			t.Fatal(err)
		}
		after := time.Now().UnixNano()
		if a.RealtimeNS < before-1e6 || b.RealtimeNS > after+1e6 {
			t.Errorf("clock %d: wall clock %d … %d, want within %d … %d", kind, a.RealtimeNS, b.RealtimeNS, before, after)
		}
		if b.MonotonicNS-a.MonotonicNS < 20e6 || b.Ticks <= a.Ticks {
			t.Errorf("clock %d: %+v then %+v", kind, a, b)
		}
		if a.UncertaintyNS < 0 {
			t.Errorf("clock %d: uncertainty %d", kind, a.UncertaintyNS)
		}
		if kind == shmabi.ClockMonotonicRaw {
			continue
		}
		// Any counter in use ticks between 1 MHz and 10 GHz.
		if rate := float64(b.Ticks-a.Ticks) / float64(b.MonotonicNS-a.MonotonicNS); rate < .001 || rate > 10 {
			t.Errorf("%g ticks a nanosecond", rate)
		}
	}
}

func TestTakeRefuses(t *testing.T) {
	if _, err := Take(99); err == nil {
		t.Error("a clock of kind 99 was read")
	}
}

// Readings of one counter have one identity, those of different ones have not.
func TestIdentity(t *testing.T) {
	raw, err := Take(shmabi.ClockMonotonicRaw)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Take(shmabi.ClockMonotonicRaw)
	if err != nil {
		t.Fatal(err)
	}
	if raw.Identity == "" || raw.Identity != again.Identity {
		t.Errorf("%q, then %q", raw.Identity, again.Identity)
	}
	if other, err := Take(counterClock); err != nil || other.Identity == raw.Identity || other.Identity == "" {
		t.Errorf("%q and %q are different counters (%v)", raw.Identity, other.Identity, err)
	}
	if _, err := Take(Usual()); err != nil {
		t.Errorf("the usual clock: %v", err)
	}
}
