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

// PartOfAll is the part of the time for clusters, 0 to 1, in which all bursts are clustered; if they are not by then,
// there has to be time for a sample and for giving all bursts its clusters.
const PartOfAll = .6

// A Result says how the bursts were clustered.
type Result struct {
	Clusters *rundir.Clusters
	Tree     *Tree           // nil with an error
	Filtered rundir.Filtered // the filter; rundir adds what it left out
	Speed    []rundir.Speed  // of the threads; nil = not compared
	Notes    []string        // for the user, each a sentence without a full stop
}

// Cluster clusters the bursts of a run and replaces its clusters and labels. With an error there is a result too, and
// the bursts are in no cluster.
func Cluster(run *trace.Run, options grouping.Options) (*Result, error) {
	all := run.BurstColumns()
	found, err := Find(run, &all, options)
	return found.Adopt(run), err
}

// Find clusters the bursts of a run, whose columns are also here, and does not change the run. With an error there is a
// result too, in which the bursts are in no cluster. It is collective.
func Find(run *trace.Run, all *trace.BurstColumns, options grouping.Options) (*Proposal, error) {
	f := choose(run, options)
	result, err := compute(run, all, f.options)
	if err != nil {
		f.result = None(run, f.options).result
		return f, fmt.Errorf("cluster the bursts: %w", err)
	}
	f.result = result
	if f.inTime, err = stretches(run, result, f.options.Team); err != nil {
		return f, err
	}
	if f.paths, err = tallyPaths(run, result.Labels, f.options.Team); err != nil {
		return f, err
	}
	f.notes = append(append(f.notes, result.Warnings...), kindNotes(run, result, &f.options)...)
	return f, nil
}

func compute(run *trace.Run, all *trace.BurstColumns, options grouping.Options) (*grouping.Result, error) {
	bursts, err := columns(run, all, options.Team)
	if err != nil {
		return nil, err
	}
	return grouping.Compute(bursts, options)
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
	trace.TakePaths(run.Clusters, f.paths)
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
