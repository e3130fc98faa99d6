package represent

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/internal/team"
)

// Noise is the Cluster of a burst that was clustered and is in no dense region.
const Noise int32 = -1

// A Run is what windows are chosen from.
type Run struct {
	Threads []Thread
	Phases  []Phase // in the order of time, covering the run; nil = one stretch without iterations
	Name    Namer

	team    team.Panicking
	anchors int // the most that a thread has
}

// A Thread is one thread's bursts in the order of time; the columns have one length.
type Thread struct {
	Cluster             []int32 // a cluster's ID from 1 on; Noise; or any below: not clustered
	Disturbed           []bool  // longer than its cluster is, and not unusual for that; nil = none is
	BeginNS, DurationNS []int64
	Anchors             []int32 // how many of them are before anchor k, k = 0…; shorter where the thread ended early, nil = not known
}

// A Phase is a stretch of the run, with iterations or without. Fields are those of package period, as it gives them.
type Phase struct {
	// FromAnchor is the last anchor at or before the first burst on all threads, -1 = the begin of the run; ToAnchor the
	// first at or after the last burst, the number of anchors = the end of the run.
	FromAnchor, ToAnchor int
	Iterations           int
	First, Behind        []int32   // per thread: its bursts are [First, Behind)
	Begins               [][]int32 // per thread: the burst at which each iteration begins, and the end of the last (Iterations+1); empty = it has none. nil without iterations
}

func (r *Run) check() error {
	for i := range r.Threads {
		t := &r.Threads[i]
		n := len(t.Cluster)
		if len(t.BeginNS) != n || len(t.DurationNS) != n || t.Disturbed != nil && len(t.Disturbed) != n {
			return fmt.Errorf("represent: thread %d: %d clusters, %d begins, %d durations, %d disturbed or not", i, n, len(t.BeginNS), len(t.DurationNS), len(t.Disturbed))
		}
		if !slices.IsSorted(t.BeginNS) {
			return fmt.Errorf("represent: thread %d: bursts are not in the order of time", i)
		}
		for b, ns := range t.DurationNS {
			if ns < 0 || t.BeginNS[b] > math.MaxInt64-ns {
				return fmt.Errorf("represent: thread %d, burst %d: %d ns from %d ns on", i, b, ns, t.BeginNS[b])
			}
		}
		if !ascending(t.Anchors, 0, n) {
			return fmt.Errorf("represent: thread %d: anchors are not in the order of %d bursts", i, n)
		}
	}
	before := make([]int32, len(r.Threads))
	for i := range r.Phases {
		if err := r.Phases[i].check(r, before); err != nil {
			return fmt.Errorf("represent: phase %d: %w", i, err)
		}
	}
	return nil
}

// check advances before, per thread the burst up to which the phases before reach.
func (p *Phase) check(r *Run, before []int32) error {
	threads := r.Threads
	if len(p.First) != len(threads) || len(p.Behind) != len(threads) {
		return errors.New("has not as many threads as the run")
	}
	if p.Iterations < 0 || p.Iterations > 0 && len(p.Begins) != len(threads) {
		return fmt.Errorf("%d iterations, begins of %d threads of %d", p.Iterations, len(p.Begins), len(threads))
	}
	for t := range threads {
		if p.First[t] < before[t] || p.Behind[t] < p.First[t] || r.team.Mine(t) && int(p.Behind[t]) > len(threads[t].Cluster) {
			return fmt.Errorf("thread %d: bursts %d to %d, behind %d of %d", t, p.First[t], p.Behind[t], before[t], len(threads[t].Cluster))
		}
		before[t] = p.Behind[t]
		if p.Iterations == 0 || len(p.Begins[t]) == 0 {
			continue
		}
		if len(p.Begins[t]) != p.Iterations+1 || !ascending(p.Begins[t], int(p.First[t]), int(p.Behind[t])) {
			return fmt.Errorf("thread %d: begins of iterations do not fit", t)
		}
	}
	return nil
}

func ascending(list []int32, from, to int) bool {
	for _, x := range list {
		if int(x) < from || int(x) > to {
			return false
		}
		from = int(x)
	}
	return true
}

// phases are those of the run, or one stretch of all there is.
func (r *Run) phases() []Phase {
	if r.Phases != nil {
		return r.Phases
	}
	lengths := make([]int64, len(r.Threads))
	for t := range r.Threads {
		lengths[t] = int64(len(r.Threads[t].Cluster))
	}
	r.team.Reduce(team.Sum, lengths)
	p := Phase{FromAnchor: -1, ToAnchor: r.anchors, First: make([]int32, len(r.Threads)), Behind: make([]int32, len(r.Threads))}
	for t, n := range lengths {
		p.Behind[t] = int32(n)
	}
	return []Phase{p}
}

// countAnchors finds out how many there are.
func (r *Run) countAnchors() {
	n := []int64{0}
	for i := range r.Threads {
		n[0] = max(n[0], int64(len(r.Threads[i].Anchors)))
	}
	r.team.Reduce(team.Max, n)
	r.anchors = int(n[0])
}

// FindOptions say which windows are looked for.
type FindOptions struct {
	Windows   int // consecutive iterations in the window that stands for a phase; 0 = DefaultWindows
	Anomalies int // windows round anomalies at most; 0 = DefaultAnomalies, below 0 = none
	Fallback  int // windows at most in a stretch without iterations; 0 = DefaultFallback
	// MaxBursts is how many bursts of one thread a window should have at most, so that it can fit a budget: iterations
	// with more are cut at the anchors within them, or by time. 0 = any number.
	MaxBursts int
	// Near is how many bursts of one thread the window of an anomaly has about, and one for a cluster that no other window
	// has: of an iteration with more than twice as many it is the part round what it is for. Neighbours share a window
	// only if they have no more. 0 = whole iterations.
	Near int
	// Show are threads of which there shall be bursts in a window that shows them, if they have any: exemplars and
	// outliers.
	Show    []int32
	Workers int // below 1 means 1
	// Team is who has which threads of the Run, which at a member has the columns of its own, and Phases of all. What was
	// found is the same at all members.
	Team team.Threads
}

// Defaults of FindOptions.
const (
	DefaultWindows   = 2
	DefaultAnomalies = 32
	DefaultFallback  = 64
)

func (o *FindOptions) complete() error {
	if o.Windows < 0 || o.Fallback < 0 || o.MaxBursts < 0 || o.Near < 0 {
		return fmt.Errorf("represent: %d windows, %d without iterations, of %d bursts, %d near what is unusual: want no number below 0", o.Windows, o.Fallback, o.MaxBursts, o.Near)
	}
	if o.Windows == 0 {
		o.Windows = DefaultWindows
	}
	if o.Anomalies == 0 {
		o.Anomalies = DefaultAnomalies
	}
	if o.Fallback == 0 {
		o.Fallback = DefaultFallback
	}
	o.Workers = max(1, o.Workers)
	return nil
}
