package main

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"moriens/analysis/grouping"
	"moriens/analysis/represent"
	"moriens/analysis/space"
	"moriens/app/report"
	"moriens/collector/store"
	"moriens/conclude"
	"moriens/conclude/retention"
	"moriens/internal/stage"
	"moriens/trace"
	"moriens/trace/rundir"
)

// An end is the cost of the end of one run, and its results.
type end struct {
	Ranks, Iterations, Bursts int
	Before                    float64 // bytes that were resident before
	Costs                     []cost
	// What was planted must be found, or the figures are of something else.
	Phases, Found, Windows, Messages int // phases and iterations of them
	Slow, Odd                        bool
	Bytes                            int64 // of the run directory
	Ratio                            float64
	Missing                          []string
	Clusters                         int
	Notes                            []string
}

// measure ends a run as `moriens run` does by default except for the budget, or keeps everything. With a profile, it
// writes that of the processor; with dir, the run directory is left there. What there is no time for within the limit
// is Missing; 0 = there is none.
func measure(j job, keep retention.Options, profile, dir string, limit time.Duration) (*end, error) {
	s := store.New()
	if err := j.fill(s); err != nil {
		return nil, err
	}
	if dir == "" {
		temporary, err := os.MkdirTemp("", "moriens-end-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(temporary)
		dir = temporary
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	runtime.GC()
	before, err := peakSince()
	if err == nil {
		before, err = peakSince() // the first one was of filling
	}
	if err != nil {
		return nil, err
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, err
		}
		defer pprof.StopCPUProfile()
	}
	options := grouping.Options{By: grouping.ByAuto, Filter: space.Filter{Auto: true}, Workers: runtime.NumCPU()}
	stages := stage.New(limit)
	stop := make(chan struct{})
	done := watch(stages, stop)
	var frozen store.Frozen
	stages.Must(stage.Freeze, func() { frozen = s.Freeze() })
	r, err := conclude.Conclude(context.Background(), conclude.End{
		Frozen: frozen, Job: conclude.Job{Run: "end", Started: time.Unix(1.7e9, 0), Ended: time.Unix(1.7e9, 0)}, Options: options, Stages: stages, Windows: j,
		Keep: retention.Options{All: keep.All, Budget: keep.Budget, Windows: represent.DefaultWindows, Outliers: -1, Workers: options.Workers},
	})
	if r == nil {
		return nil, err
	}
	failed := err
	r.Report = report.Of(&r.Content)
	stages.Must(stage.Write, func() { _, err = rundir.Write(&r.Content, dir) })
	close(stop)
	w := <-done
	if err == nil {
		err = w.err
	}
	if err != nil {
		return nil, err
	}
	detail, _ := r.Detail()
	e := &end{Ranks: j.ranks, Iterations: j.iterations, Bursts: j.bursts(), Before: before, Costs: w.costs, Messages: len(detail.Messages)}
	e.describe(j, r, detail)
	if failed != nil {
		e.Missing = append(e.Missing, failed.Error())
	}
	e.Clusters, e.Notes = len(r.Run.Clusters), r.Manifest.Notes
	e.Bytes = r.Manifest.Reduction.Bytes
	return e, nil
}

// describe says what of that which was planted is among what was found.
func (e *end) describe(j job, r *conclude.Result, detail *trace.Run) {
	m := r.Manifest
	for _, p := range m.Kept.Phases {
		if p.Iterations > 0 {
			e.Phases++
			e.Found += p.Iterations
		}
	}
	for _, x := range m.Kept.Outliers {
		e.Slow = e.Slow || x.Rank == slowRank
	}
	for _, c := range m.Kept.Classes {
		e.Slow = e.Slow || c.Size == 1 && c.Exemplar.Rank == slowRank
	}
	run := r.Run
	oddNS := run.Threads[0].Calls.EnterNS[j.row(j.odd())]
	for _, w := range detail.Windows {
		e.Odd = e.Odd || w.BeginNS <= oddNS && oddNS < w.EndNS && len(w.Threads) > 0 && w.Threads[0] == 0
	}
	e.Windows = len(detail.Windows)
	e.Ratio = float64(m.Reduction.Ratio)
	e.Missing = m.Reduction.Missing
}
