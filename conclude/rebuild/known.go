package rebuild

import "moriens/analysis/clock"

// causes are who waited for whom, as far as that is known: messages that were matched, and collectives.
type causes struct {
	waits *clock.Traffic // what calls of this member's threads waited for
	known known
}

// known is what a member knows of that for the comparison of clocks: of the threads only the calls that count.
type known struct {
	traffic *clock.Traffic
	threads []clock.Thread
}

func noCauses() causes { return causes{new(clock.Traffic), known{traffic: new(clock.Traffic)}} }
