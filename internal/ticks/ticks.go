// Package ticks reads the tick counters with which the shim stamps its records, and relates them to the system's clocks
// in nanoseconds.
//
// Where the kernel's clock source is the time-stamp counter, that counter is the same on all CPUs of a node, so that
// readings of different processes can be compared.
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
	// Identity says which counter it is: two with one identity are one, and show the same ticks at the same time.
	// Empty where that is not known.
	Identity string
}

// Clocks are the tick counters of a node (shmabi.Clock…), alone and together with its clocks.
type Clocks interface {
	Now(clock uint32) (uint64, error)
	Take(clock uint32) (Sample, error)
}

// attempts is how many brackets Take tries: the narrowest is least likely to hold an interruption.
const attempts = 9

// Take samples the counter of the given kind (shmabi.Clock…).
func Take(clock uint32) (Sample, error) {
	read, err := reader(clock)
	if err != nil {
		return Sample{}, err
	}
	best := Sample{UncertaintyNS: math.MaxInt64}
	for range attempts {
		before, err := nanoseconds(unix.CLOCK_MONOTONIC)
		if err != nil {
			return Sample{}, err
		}
		ticks := read()
		wall, err := nanoseconds(unix.CLOCK_REALTIME)
		if err != nil {
			return Sample{}, err
		}
		after, err := nanoseconds(unix.CLOCK_MONOTONIC)
		if err != nil {
			return Sample{}, err
		}
		// Counter and wall clock were both read within the bracket, whose middle stands for them.
		if width := after - before; width < best.UncertaintyNS {
			best = Sample{Ticks: ticks, MonotonicNS: before + width/2, RealtimeNS: wall, UncertaintyNS: width}
		}
	}
	best.Identity = identity(clock)
	return best, nil
}

// Now reads a counter alone.
func Now(clock uint32) (uint64, error) {
	read, err := reader(clock)
	if err != nil {
		return 0, err
	}
	return read(), nil
}

// System is the machine's own Clocks.
type System struct{}

// Take samples a counter; see the function Take.
func (System) Take(clock uint32) (Sample, error) { return Take(clock) }

// Now reads a counter alone.
func (System) Now(clock uint32) (uint64, error) { return Now(clock) }

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
