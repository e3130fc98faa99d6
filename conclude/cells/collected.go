package cells

import "moriens/trace/rundir"

// A Collected is what agents have reported of a run.
type Collected struct {
	asker
	clustered
	summed
	fetched
	cells rundir.Cells
}
