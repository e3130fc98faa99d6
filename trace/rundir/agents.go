package rundir

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
