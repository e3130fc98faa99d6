package ticks

import "moriens/internal/shmabi"

const counterClock = shmabi.ClockTSC

// counter reads the time-stamp counter (rdtsc).
func counter() uint64
