package rundir

import "math"

// An Agent is what measuring has used on one node.
type Agent struct {
	Host             string `json:"host"`
	Restarts         int    `json:"restarts"`    // times that it was started again
	CPUSeconds       Number `json:"cpu_seconds"` // of all of its lives; of one that was killed, up to the last clock sample
	PeakBytes        int64  `json:"peak_bytes"`  // of memory, resident
	Shared           bool   `json:"shared"`      // these two are those of `moriens run`, the collector's part included
	SpoolPeakBytes   int64  `json:"spool_peak_bytes"`
	SpoolFullSeconds Number `json:"spool_full_seconds"` // while it was full the rings had to wait
	SpoolFullDropped int64  `json:"spool_full_dropped"` // calls and marks lost in that time, because the rings were full
	SpoolCutBytes    int64  `json:"spool_cut_bytes"`    // of unfinished writes; nothing of them had left the rings
}

// An Overhead is the processor time that measuring has taken: of all agents and collectors of the run.
type Overhead struct {
	AgentSeconds     Number `json:"agent_seconds"`     // of agents that are processes of their own; NaN = one has reported nothing
	CollectorSeconds Number `json:"collector_seconds"` // until the run ended; NaN = not known of one of its lives
	Shared           bool   `json:"shared"`            // a collector's process is an agent too: its time is in CollectorSeconds
	Calls            int64  `json:"calls"`             // recorded; each poll of a run of polls counts
	NSPerCall        Number `json:"ns_per_call"`       // NaN = not known, or no calls
}

// share says what of it each call takes.
func (o *Overhead) share(calls map[string]int64) {
	o.Calls, o.NSPerCall = 0, Number(math.NaN())
	for _, n := range calls {
		o.Calls += n
	}
	if o.Calls > 0 {
		o.NSPerCall = (o.AgentSeconds + o.CollectorSeconds) * 1e9 / Number(o.Calls)
	}
}
