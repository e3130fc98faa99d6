// Package moriens is the end of a run: everything that the ranks have sent comes in, and the run
// directory's content goes out.
//
//	store.Frozen ─ recount ─▶ trace.Run ─ clustering ─▶ labels, clusters ─ report ─▶ manifest, clusters.json
//
// It writes no file itself: trace/rundir does.
package moriens

import (
	"time"

	"moriens/analysis/partition"
	"moriens/collector/store"
	"moriens/internal/clustering"
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
	EndedBy    string   // what ended the run before its ranks did; empty = nothing
	Notes      []string // what the user should know of it
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

	clusters, err := clustering.Cluster(h.run, options)
	if err != nil {
		h.notes = append(h.notes, err.Error())
	}
	lap("cluster")

	r := &Result{Run: h.run, Manifest: describeRun(h, f, job), Clusters: clusters.Clusters}
	m := r.Manifest
	m.Filtered = clusters.Filtered
	m.StageSeconds = stages
	if m.Empty, r.Advice = whyEmpty(h, f); m.Empty != "" {
		return r, err
	}
	m.Notes = append(m.Notes, clusters.Notes...)
	return r, err
}
