package ticks

import (
	"fmt"
	"os"
	"strings"

	"moriens/internal/shmabi"
)

// identity names a counter of this node. It belongs to the kernel that runs, whose boot id containers share;
// CLOCK_MONOTONIC_RAW, which time namespaces shift, to one of those too (time_namespaces(7)).
func identity(clock uint32) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	name := fmt.Sprintf("%s/%d", strings.TrimSpace(string(boot)), clock)
	if clock != shmabi.ClockMonotonicRaw {
		return name
	}
	namespace, err := os.Readlink("/proc/self/ns/time")
	switch {
	case os.IsNotExist(err): // a kernel older than these namespaces
		return name
	case err != nil:
		return ""
	}
	return name + "/" + namespace
}

// Usual is the counter that processes of this node stamp their records with, as cshim/src/clock.c chooses it.
func Usual() uint32 {
	if counterClock == shmabi.ClockTSC {
		source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
		if err != nil || strings.TrimSpace(string(source)) != "tsc" {
			return shmabi.ClockMonotonicRaw
		}
	}
	return counterClock
}
