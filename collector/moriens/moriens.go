// Package moriens is the end of a run: everything that the ranks have sent comes in, and the run
// directory's content goes out.
//
//	store.Frozen ─ recount ─▶ trace.Run ─ partition ─▶ labels, clusters ─ report ─▶ manifest, clusters.json
//
// It writes no file itself: trace/rundir does.
package moriens

import (
	"fmt"
	"time"

	"moriens/analysis/partition"
	"moriens/analysis/space"
	"moriens/collector/store"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A Job is what only the launcher of the job knows.
type Job struct {
	Program    rundir.Program
	Run        string
	Command    []string
	ExitStatus int
	Started    time.Time
	Ended      time.Time
}

// A Result is a run, ready to be written.
type Result struct {
	Run      *trace.Run
	Manifest *rundir.Manifest
	Clusters *rundir.Clusters
	Advice   string // where Manifest.Empty says that there is no burst: what to do about it, as far as known
}

// Conclude clusters the bursts of a run and describes it. With an error there is a result too, in which the bursts
// are in no cluster.
func Conclude(f store.Frozen, job Job, options partition.Options) (*Result, error) {
	stages := make(map[string]rundir.Number)
	start := time.Now()
	lap := func(stage string) {
		stages[stage] = rundir.Number(time.Since(start).Seconds())
		start = time.Now()
	}

	h := recount(f)
	lap("recount")

	bursts := columns(h.run)
	usual := options.Dims == nil
	options, chosen := options.Choose(bursts.CounterNames)
	options.JobThreads = len(h.run.Threads)
	result, err := partition.Compute(bursts, options)
	if err != nil {
		err = fmt.Errorf("cluster the bursts: %w", err)
		h.notes = append(h.notes, err.Error())
		result = &partition.Result{Selection: new(space.Selection)}
	}
	adopt(h.run, result)
	lap("cluster")

	r := &Result{Run: h.run, Manifest: describeRun(h, f, job), Clusters: describeClusters(h.run, result, options)}
	m := r.Manifest
	m.Filtered.MinDurationNS = result.Selection.MinNS
	m.Filtered.How = describeFilter(options.Filter)
	m.StageSeconds = stages
	if m.Empty, r.Advice = whyEmpty(h, f); m.Empty != "" {
		return r, err
	}
	if usual && options.Dims[0].Num == space.Duration {
		note := "no hardware counters: bursts are told apart by their duration"
		if options.By == partition.ByCalls {
			note += ", those between different MPI call paths apart"
		}
		m.Notes = append(m.Notes, note)
	}
	m.Notes = append(m.Notes, chosen...)
	m.Notes = append(m.Notes, result.Warnings...)
	return r, err
}

// columns puts the bursts of all threads, in the threads' order, into the columns of the analysis.
func columns(run *trace.Run) partition.Bursts {
	n := 0
	for i := range run.Threads {
		n += run.Threads[i].Bursts.Len()
	}
	b := partition.Bursts{
		Columns: space.Columns{DurationNS: make([]int64, 0, n), Counters: make([][]int64, len(run.Counters))},
		Before:  make([]uint32, 0, n), After: make([]uint32, 0, n),
	}
	for k, c := range run.Counters {
		b.CounterNames = append(b.CounterNames, c.Name)
		b.Counters[k] = make([]int64, 0, n)
	}
	for i := range run.Threads {
		t := &run.Threads[i].Bursts
		b.DurationNS = append(b.DurationNS, t.DurationNS...)
		b.Before = append(b.Before, t.Before...)
		b.After = append(b.After, t.After...)
		for k, column := range t.Counters {
			for _, v := range column {
				b.Counters[k] = append(b.Counters[k], notRead(v))
			}
		}
	}
	return b
}

// notRead gives a missing count the value that the analysis knows it by. A count that went down, as that of a
// gauge can, has no logarithm and no share either.
func notRead(count int64) int64 { return max(count, space.NotRead) }

// adopt puts labels and clusters into the run.
func adopt(run *trace.Run, result *partition.Result) {
	labels := result.Labels
	for i := range run.Threads {
		t := &run.Threads[i].Bursts
		labels = labels[copy(t.Cluster, labels):]
	}
	for _, c := range result.Clusters {
		run.Clusters = append(run.Clusters, trace.Cluster{
			ID: c.ID, Bursts: c.Bursts, TimeNS: c.TimeNS, Share: c.Share, MeanNS: c.MeanNS, StdNS: c.StdNS,
			Eps: c.Eps, MinPts: c.MinPts, Rare: c.Rare,
			Before: pathCounts(c.Before), After: pathCounts(c.After),
			CounterMean: c.CounterMean, CounterStd: c.CounterStd,
		})
	}
}

func pathCounts(counts []partition.PathCount) []trace.PathCount {
	out := make([]trace.PathCount, len(counts))
	for i, c := range counts {
		out[i] = trace.PathCount(c)
	}
	return out
}
