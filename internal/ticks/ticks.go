// Package ticks reads the tick counters that the shim stamps its records with, and relates them to the
// system's clocks.
//
// Where the kernel's clock source is the time-stamp counter, that counter is the same on all CPUs of a
// node, so a reading taken in one process can be compared with one taken in another.
package ticks

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"moriens/internal/shmabi"
)

// A Sample relates one reading of a tick counter to the node's clocks.
type Sample struct {
	Ticks         uint64
	MonotonicNS   int64 // CLOCK_MONOTONIC
	RealtimeNS    int64 // since the Unix epoch
	UncertaintyNS int64 // the clocks were read within this of Ticks
}

// attempts is how many brackets Take tries: the narrowest is least likely to hold an interruption.
const attempts = 9

// Take samples the counter of the given kind (shmabi.Clock…).
func Take(clock uint32) (Sample, error) {
	read, err := reader(clock)
	if err != nil {
		return Sample{}, err
	}
	var best Sample
	width := uint64(math.MaxUint64)
	for range attempts {
		before := read()
		mono, err := nanoseconds(unix.CLOCK_MONOTONIC)
		if err != nil {
			return Sample{}, err
		}
		after := read()
		if w := after - before; w < width {
			width = w
			best.Ticks, best.MonotonicNS = before+w/2, mono
		}
	}
	// The bracket's width in nanoseconds needs the counter's rate; two clock reads bound it as well.
	mono0, err := nanoseconds(unix.CLOCK_MONOTONIC)
	if err != nil {
		return Sample{}, err
	}
	real, err := nanoseconds(unix.CLOCK_REALTIME)
	if err != nil {
		return Sample{}, err
	}
	mono1, err := nanoseconds(unix.CLOCK_MONOTONIC)
	if err != nil {
		return Sample{}, err
	}
	best.UncertaintyNS = mono1 - mono0
	best.RealtimeNS = real + best.MonotonicNS - (mono0 + (mono1-mono0)/2)
	return best, nil
}

func reader(clock uint32) (func() uint64, error) {
	switch clock {
	case shmabi.ClockMonotonicRaw:
		return func() uint64 {
			ns, err := nanoseconds(unix.CLOCK_MONOTONIC_RAW)
			if err != nil {
				return 0
			}
			return uint64(ns)
		}, nil
	case counterClock:
		return counter, nil
	}
	return nil, fmt.Errorf("this build cannot read clock kind %d", clock)
}

func nanoseconds(clock int32) (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0, fmt.Errorf("clock_gettime(%d): %w", clock, err)
	}
	return ts.Nano(), nil
}
