package clustering

import (
	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/space"
	"moriens/trace"
)

// Cells are a clustering of micro-cells, of bursts of which a run has some.
type Cells struct {
	*microcell.Result
	Dims     []space.Dim
	Side     float64
	Counters []string          // whose figures clusters have, in their order
	Between  []microcell.Group // of units, by the numbers of call paths in the run
	By       grouping.By
	MinNS    int64 // bursts that last less are in no cell
	// Found is what nodes have found of the bursts, by thread; nil = all of a unit have the unit's label.
	Found [][]BurstLabel
	Speed []float64 // by thread of the run, as in grouping.Result
	// Locate finds the unit of a burst between two call paths, by their numbers in the run, as an index into Units; 0
	// and 0 where all bursts are together.
	Locate func(before, after uint32, at []float64) (unit int32, ok bool)
}

// A BurstLabel is the cluster and the kind of a burst, or one of the labels of package grouping; 0 where its node has
// it in no unit.
type BurstLabel struct{ Cluster, Kind int32 }

// A Proposal is a clustering that has not been written into the run yet.
type Proposal struct {
	result  *grouping.Result
	options grouping.Options
	notes   []string
	inTime  []trace.Stretch // by cluster; may be nil
	paths   []int64         // round the bursts of clusters: rows of a trace.PathTally
	cells   *Cells          // that it was made of, nil = of bursts
}

// choose completes the options for a run, and says what the user should know of that.
func choose(run *trace.Run, options grouping.Options) *Proposal {
	usual := options.Dims == nil
	options, notes := options.Choose(countersOf(run))
	options.JobThreads = len(run.Threads)
	f := &Proposal{options: options}
	if usual && options.Dims[0].Num == space.Duration {
		note := "no hardware counters: bursts are clustered by duration"
		if len(run.Counters) > 0 {
			note = "instructions and cycles are not both counted: bursts are clustered by duration"
		}
		if options.By == grouping.ByCalls {
			note += ", separately for each pair of MPI calls"
		}
		f.notes = append(f.notes, note)
	}
	f.notes = append(f.notes, notes...)
	return f
}

func countersOf(run *trace.Run) []string {
	var names []string
	for _, c := range run.Counters {
		names = append(names, c.Name)
	}
	return names
}
