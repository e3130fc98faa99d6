package ticks

import "moriens/internal/shmabi"

const counterClock = shmabi.ClockCNTVCT

// counter reads the virtual counter (cntvct_el0).
func counter() uint64
