// Package clustering clusters the bursts of a run, whatever their origin: a measured job or a trace that was read.
//
// A trace.Run comes in, with times in nanoseconds, and goes out with clusters and a label on every burst. Beside it
// come out how the clusters were found, in the terms of the run directory, and messages for the user. It writes no
// file.
//
// With a team in the options every member clusters, with the columns of its own threads in the run; these get their
// labels, and all members the same clusters and the same result.
package clustering

import (
	"fmt"
	"math"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A Result says how the bursts were clustered.
type Result struct {
	Clusters *rundir.Clusters
	Tree     *Tree           // nil with an error
	Filtered rundir.Filtered // the filter; rundir adds what it left out
	Speed    []rundir.Speed  // of the threads; nil = not compared
	Notes    []string        // for the user, each a sentence without a full stop
}

// A Proposal is a clustering that has not been written into the run yet.
type Proposal struct {
	result  *grouping.Result
	options grouping.Options
	notes   []string
	inTime  []trace.Stretch // by cluster; may be nil
	cells   *Cells          // that it was made of, nil = of bursts
}

// Cluster clusters the bursts of a run and replaces its clusters and labels. With an error there is a result too, and the
// bursts are in no cluster.
func Cluster(run *trace.Run, options grouping.Options) (*Result, error) {
	found, err := Find(run, options)
	return found.Adopt(run), err
}

// Find clusters the bursts of a run, which stays as it is. With an error there is a result too, in which the bursts are in no cluster. It is collective.
func Find(run *trace.Run, options grouping.Options) (*Proposal, error) {
	f := choose(run, options)
	result, err := compute(run, f.options)
	if err != nil {
		f.result = None(run, f.options).result
		return f, fmt.Errorf("cluster the bursts: %w", err)
	}
	f.result = result
	if f.inTime, err = stretches(run, result, f.options.Team); err != nil {
		return f, err
	}
	f.notes = append(append(f.notes, result.Warnings...), kindNotes(run, result, &f.options)...)
	return f, nil
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
			note += ", separately for each pair of surrounding MPI call paths"
		}
		f.notes = append(f.notes, note)
	}
	f.notes = append(f.notes, notes...)
	return f
}

func compute(run *trace.Run, options grouping.Options) (*grouping.Result, error) {
	bursts, err := columns(run, options.Team)
	if err != nil {
		return nil, err
	}
	return grouping.Compute(bursts, options)
}

func countersOf(run *trace.Run) []string {
	var names []string
	for _, c := range run.Counters {
		names = append(names, c.Name)
	}
	return names
}

// None is a clustering in which the bursts of a run are in no cluster.
func None(run *trace.Run, options grouping.Options) *Proposal {
	options, _ = options.Choose(countersOf(run))
	return &Proposal{options: options, result: &grouping.Result{
		Labels: make([]int32, run.Bursts()), Selection: new(space.Selection), Score: math.NaN(), NoiseScore: math.NaN(), Resolution: options.Floor(),
	}}
}

// Adopt replaces the clusters and labels of the run by what was found.
func (f *Proposal) Adopt(run *trace.Run) *Result {
	adopt(run, f.result)
	for i, stretch := range f.inTime {
		run.Clusters[i].InTime = stretch
	}
	r := &Result{
		Clusters: describe(run, f.result, f.options),
		Filtered: describeFilter(f.options.Filter, f.result.Selection),
		Speed:    describeSpeed(run, f.result.Speed),
		Notes:    f.notes,
	}
	if f.cells != nil {
		r.Clusters.Algorithm, r.Clusters.Cells = "dbscan on micro-cells", describeCells(f.cells)
	}
	if f.result.Tree != nil {
		r.Tree = &Tree{f.result.Tree, clusterOf(f.result), kindsOf(f.result), r.Clusters.Refinement.Basins, f.result.Joins}
	}
	return r
}
