package represent_test

import (
	"math/rand/v2"
	"slices"

	"moriens/analysis/represent"
)

// A plan makes runs: threads whose bursts follow each other with a call of 10 us behind each.
type plan struct {
	run represent.Run
	now []int64
}

func newPlan(threads int) *plan {
	p := &plan{now: make([]int64, threads)}
	p.run.Threads = make([]represent.Thread, threads)
	return p
}

func (p *plan) burst(thread int, cluster int32, ns int64) {
	t := &p.run.Threads[thread]
	t.Cluster = append(t.Cluster, cluster)
	t.BeginNS = append(t.BeginNS, p.now[thread])
	t.DurationNS = append(t.DurationNS, ns)
	p.now[thread] += ns + 10*us
}

// barrier lets all threads go on together.
func (p *plan) barrier() {
	latest := slices.Max(p.now)
	for i := range p.run.Threads {
		t := &p.run.Threads[i]
		t.Anchors = append(t.Anchors, int32(len(t.Cluster)))
		p.now[i] = latest
	}
}

// phase declares what lies behind the phases before; from are the bursts at which it begins on each thread.
func (p *plan) phase(iterations int, begins [][]int32) {
	n := len(p.run.Threads)
	ph := represent.Phase{FromAnchor: -1, Iterations: iterations, Begins: begins, First: make([]int32, n), Behind: make([]int32, n)}
	if k := len(p.run.Phases); k > 0 {
		ph.First = p.run.Phases[k-1].Behind
		ph.FromAnchor = p.run.Phases[k-1].ToAnchor
	}
	for i := range n {
		ph.Behind[i] = int32(len(p.run.Threads[i].Cluster))
	}
	ph.ToAnchor = len(p.run.Threads[0].Anchors) - 1
	p.run.Phases = append(p.run.Phases, ph)
}

// loop adds a phase of iterations, each of which ends with a barrier.
func (p *plan) loop(iterations int, body func(thread, iteration int)) {
	begins := make([][]int32, len(p.now))
	for k := range iterations + 1 {
		for t := range begins {
			begins[t] = append(begins[t], int32(len(p.run.Threads[t].Cluster)))
		}
		if k == iterations {
			break
		}
		for t := range begins {
			body(t, k)
		}
		p.barrier()
	}
	p.phase(iterations, begins)
}

// anchorsOf gives the anchors that a window lies between: the last one at or before its first burst on all threads, -1
// = the begin of the run, and the first at or behind its last burst; the number of anchors = the end of the run.
func anchorsOf(run *represent.Run, w *represent.Window) (from, to int) {
	all := 0
	for _, t := range run.Threads {
		all = max(all, len(t.Anchors))
	}
	from, to = all, -1
	for t, first := range w.First {
		if anchors := run.Threads[t].Anchors; first < w.Behind[t] {
			before, _ := slices.BinarySearch(anchors, first+1)
			end, _ := slices.BinarySearch(anchors, w.Behind[t])
			from, to = min(from, before-1), max(to, min(end, all))
		}
	}
	return from, to
}

func find(t interface {
	Helper()
	Fatal(...any)
}, run represent.Run, o represent.FindOptions) *represent.Selection {
	t.Helper()
	f, err := represent.Find(run, o)
	if err != nil {
		t.Fatal(err)
	}
	checkTeam(t, run, o, f)
	return f
}

// halo is the program of the issue: set-up, two phases of 500 iterations, a slow rank, an anomalous iteration in the
// first.
func halo(ranks int) represent.Run {
	p := newPlan(ranks)
	random := rand.New(rand.NewPCG(1, 1))
	noisy := func(ns int64) int64 { return int64(float64(ns) * (1 + .02*random.Float64())) }
	for t := range ranks {
		p.burst(t, 5, 400*ms)
	}
	p.barrier()
	p.phase(0, nil)
	p.loop(500, func(t, k int) {
		p.burst(t, 1, noisy(5*ms))
		ns := int64(1 * ms)
		if t == 5 {
			ns = ns * 13 / 10
		}
		if t == 3 && k == 412 {
			ns *= 9
		}
		p.burst(t, 2, noisy(ns))
	})
	p.loop(500, func(t, k int) {
		p.burst(t, 3, noisy(2*ms))
		p.burst(t, 4, noisy(500*us))
		if t == 0 && k%100 == 99 {
			p.burst(t, 6, noisy(100*us)) // output, which hides behind nothing
		}
	})
	return p.run
}
