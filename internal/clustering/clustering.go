// Package clustering has the bursts of a run clustered, whatever they come from: a job that was measured or a trace
// that was read. A trace.Run comes in, and goes out with clusters and a label on every burst; beside it come out how
// the clusters were found, in the words of the run directory, and what the user should know. It writes no file.
package clustering

import (
	"fmt"
	"math"

	"moriens/analysis/partition"
	"moriens/analysis/space"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A Result says how the bursts were clustered.
type Result struct {
	Clusters *rundir.Clusters
	Tree     *Tree           // nil with an error
	Filtered rundir.Filtered // the filter; rundir adds what it left out
	Notes    []string        // for the user, each a sentence without a full stop
}

// Cluster clusters the bursts of a run and replaces its clusters and labels. With an error there is a result too, and the
// bursts are in no cluster.
func Cluster(run *trace.Run, options partition.Options) (*Result, error) {
	bursts := columns(run)
	usual := options.Dims == nil
	options, notes := options.Choose(bursts.CounterNames)
	options.JobThreads = len(run.Threads)
	result, err := partition.Compute(bursts, options)
	if err != nil {
		err = fmt.Errorf("cluster the bursts: %w", err)
		result = &partition.Result{
			Labels: make([]int32, bursts.Len()), Selection: new(space.Selection), Score: math.NaN(), NoiseScore: math.NaN(),
			Resolution: options.Floor(),
		}
	}
	adopt(run, result)
	r := &Result{
		Clusters: describe(run, result, options),
		Filtered: describeFilter(options.Filter, result.Selection),
	}
	if result.Tree != nil {
		r.Tree = &Tree{result.Tree, clusterOf(result)}
	}
	if usual && options.Dims[0].Num == space.Duration {
		note := "no hardware counters: bursts are told apart by their duration"
		if len(run.Counters) > 0 {
			note = "instructions and cycles are not both counted: bursts are told apart by their duration"
		}
		if options.By == partition.ByCalls {
			note += ", those between different MPI call paths apart"
		}
		r.Notes = append(r.Notes, note)
	}
	r.Notes = append(r.Notes, notes...)
	r.Notes = append(r.Notes, result.Warnings...)
	return r, err
}
