package factors

import (
	"fmt"
	"math"

	"moriens/analysis/efficiency"
	"moriens/trace"
	"moriens/trace/rundir"
)

func seconds(ns float64) rundir.Number { return rundir.Number(ns / 1e9) }

// describe puts the sums of all locations into the words of the file.
func (m *measurement) describe(s *efficiency.Sums) *rundir.Efficiency {
	d := &describer{run: m.run, classes: m.options.Classes, called: m.called, nodes: make([]int, len(m.run.Threads))}
	for i := range d.nodes {
		d.nodes[i] = m.run.Threads[i].Node
	}
	run := rundir.EfficiencyRun{Dir: ".", EfficiencyScaling: notKnown(), Ranks: d.ranks(d.all()), Locations: len(d.all()), Bound: len(m.why) > 0, Why: m.why}
	for r, region := range m.regions {
		sums := s.Regions[r]
		switch {
		case region.world >= 0:
			members := d.of(func(t *trace.Thread) bool { return t.World == region.world })
			run.Worlds = append(run.Worlds, rundir.EfficiencyWorld{
				World: region.world, Ranks: d.ranks(members), Locations: len(members),
				EfficiencyFactors: d.factors(efficiency.Solve(sums, d.nodes, region.length(), members)),
			})
		case region.iteration >= 0:
			l := &s.Loops[region.iteration]
			n := len(l.ComputingNS)
			k := region.iteration
			run.Phases = append(run.Phases, d.phase(rundir.EfficiencyPhase{Phase: &k, Iterations: n}, efficiency.Solve(sums, d.nodes, region.length(), d.all())))
			run.Iterations = append(run.Iterations, iterations(k, l)...)
		case region.stretch != nil:
			x := d.stretch(region.name, *region.stretch, sums, s.Clusters[r])
			if r > 0 {
				run.Stretches = append(run.Stretches, x)
				continue
			}
			run.Take(x)
			run.Threads = d.threads(sums)
			if s.Kinds != nil {
				run.Kinds = d.clusters(s.Kinds)
			}
			if mains := d.of(func(t *trace.Thread) bool { return t.Thread == 0 }); len(mains) < len(d.all()) {
				f := d.factors(efficiency.Solve(sums, d.nodes, region.length(), mains))
				run.MainThreads = &f
			}
		default:
			run.Phases = append(run.Phases, d.phase(rundir.EfficiencyPhase{Name: region.name, Iterations: region.times}, efficiency.Solve(sums, d.nodes, 0, d.all())))
		}
	}
	run.Bounded(shortcomings(&run))
	return &rundir.Efficiency{Format: rundir.EfficiencyFormat, Within: Main, Runs: []rundir.EfficiencyRun{run}}
}

// From these shares of the time on it is said what main does not show: of the computing time that lies outside of it,
// of all time that was not recorded.
const muchOutside, muchUnrecorded = .1, .01

// shortcomings are what main does not show of a run.
func shortcomings(run *rundir.EfficiencyRun) (why []string) {
	if x := &run.Budget; x.NotRecorded > muchUnrecorded*x.Total {
		why = append(why, fmt.Sprintf("%.0f %% of the time was not recorded (paused, lost or not kept), and counts as lost in communication", 100*float64(x.NotRecorded/x.Total)))
	}
	if len(run.Worlds) > 0 { // each has its own main
		return why
	}
	for _, s := range run.Stretches {
		if outside := s.Budget.Computing - run.Budget.Computing; s.Within == Run && outside > muchOutside*s.Budget.Computing {
			why = append(why, fmt.Sprintf("%.0f %% of the computing time is outside main, while a rank was in MPI_Init or MPI_Finalize: --within run has all of it", 100*float64(outside/s.Budget.Computing)))
		}
	}
	return why
}

// length is that of a stretch.
func (r *region) length() int64 { return r.stretch.EndNS - r.stretch.BeginNS }

// A describer puts sums of the threads of a run into words.
type describer struct {
	run     *trace.Run
	classes []Class
	called  []bool // by thread: it called MPI, and so is a location; nil: all are
	nodes   []int  // by thread
}

// all are the locations.
func (d *describer) all() []int { return d.of(func(*trace.Thread) bool { return true }) }

// of are the numbers of some locations.
func (d *describer) of(some func(t *trace.Thread) bool) (list []int) {
	for i := range d.run.Threads {
		if (d.called == nil || d.called[i]) && some(&d.run.Threads[i]) {
			list = append(list, i)
		}
	}
	return list
}

// ranks is how many ranks threads are of.
func (d *describer) ranks(threads []int) int {
	type rank struct{ world, rank int }
	seen := make(map[rank]bool)
	for _, i := range threads {
		seen[rank{d.run.Threads[i].World, d.run.Threads[i].Rank}] = true
	}
	return len(seen)
}

func (d *describer) name(thread int) *rundir.ThreadName {
	if thread < 0 {
		return nil
	}
	name := rundir.NameOf(&d.run.Threads[thread])
	return &name
}

// factorDecimals are so many that products of two factors hold to 1e-12, whatever is rounded.
const factorDecimals = 13

func (d *describer) factors(f efficiency.Factors) rundir.EfficiencyFactors {
	x := rundir.EfficiencyFactors{
		Seconds: seconds(float64(f.TNS)), Parallel: rundir.Rounded(f.Parallel, factorDecimals), Balance: rundir.Rounded(f.Balance, factorDecimals),
		InNodes: rundir.Rounded(f.BalanceIn, factorDecimals), BetweenNodes: rundir.Rounded(f.BalanceOut, factorDecimals), Communication: rundir.Rounded(f.Communication, factorDecimals),
		Serialisation: rundir.Number(math.NaN()), Transfer: rundir.Number(math.NaN()), MostOutsideMPI: rundir.Number(math.NaN()),
		MeanComputing: seconds(f.MeanNS()), MostComputing: seconds(f.LongestNS()), Most: d.name(f.Longest),
		IPC: rundir.Rounded(f.IPC(), factorDecimals), GHz: rundir.Rounded(f.Hertz()/1e9, factorDecimals), Instructions: rundir.Number(f.AllInstructions()),
	}
	return x
}

func (d *describer) budget(b efficiency.Budget) rundir.EfficiencyBudget {
	return rundir.EfficiencyBudget{
		Total: seconds(float64(b.TotalNS)), Computing: seconds(float64(b.ComputingNS)), MPI: seconds(float64(b.MPINS)),
		Outside: seconds(float64(b.OutsideNS)), NotRecorded: seconds(float64(b.NotRecordedNS)),
	}
}

// stretch describes a stretch of the run's time.
func (d *describer) stretch(name string, s efficiency.Span, sums []efficiency.Sum, clusters [][]efficiency.ClusterSum) rundir.EfficiencyStretch {
	f := efficiency.Solve(sums, d.nodes, s.EndNS-s.BeginNS, d.all())
	x := rundir.EfficiencyStretch{
		Within: name, BeginSeconds: seconds(float64(s.BeginNS)), EndSeconds: seconds(float64(s.EndNS)),
		EfficiencyFactors: d.factors(f), Budget: d.budget(f.Budget), Clusters: d.clusters(clusters),
	}
	x.MostOutsideMPI = seconds(d.mostOutsideMPI(s, sums))
	for n := range d.run.Nodes {
		members := d.of(func(t *trace.Thread) bool { return t.Node == n })
		x.Nodes = append(x.Nodes, d.group(d.run.NodeName(n), sums, members, &f))
	}
	for _, c := range d.classes {
		var members []int
		for _, i := range c.Threads {
			if d.called == nil || d.called[i] {
				members = append(members, int(i))
			}
		}
		x.Classes = append(x.Classes, d.group(c.Name, sums, members, &f))
	}
	return x
}

func (d *describer) phase(x rundir.EfficiencyPhase, f efficiency.Factors) rundir.EfficiencyPhase {
	x.EfficiencyFactors, x.Budget = d.factors(f), d.budget(f.Budget)
	return x
}

// mostOutsideMPI is the longest that a location is outside MPI, from the begin of a stretch to its own end; NaN where
// it is not known when one ended.
func (d *describer) mostOutsideMPI(s efficiency.Span, sums []efficiency.Sum) float64 {
	most := math.NaN()
	for _, i := range d.all() {
		if d.run.Threads[i].Untimed() {
			return math.NaN()
		}
		if ns := float64(min(d.run.Threads[i].EndNS, s.EndNS) - s.BeginNS - sums[i].MPINS); !(ns <= most) {
			most = ns
		}
	}
	return most
}

func (d *describer) group(name string, sums []efficiency.Sum, members []int, whole *efficiency.Factors) rundir.EfficiencyGroup {
	f := efficiency.Solve(sums, d.nodes, whole.TNS, members)
	return rundir.EfficiencyGroup{
		Name: name, Locations: len(members), Mean: seconds(f.MeanNS()), OfMost: rundir.Rounded(f.MeanNS()/whole.LongestNS(), 9),
		MPI: rundir.Rounded(float64(f.Budget.MPINS)/float64(f.Budget.TotalNS), 9),
	}
}

func (d *describer) clusters(sums [][]efficiency.ClusterSum) []rundir.EfficiencyCluster {
	alike := make(map[int32]int)
	groups := make(map[[2]uint32]int)
	for i := range d.run.Clusters {
		c := &d.run.Clusters[i]
		if len(c.Before) == 0 || len(c.After) == 0 {
			continue
		}
		ends := [2]uint32{c.Before[0].Path, c.After[0].Path}
		if _, known := groups[ends]; !known {
			groups[ends] = len(groups)
		}
		alike[c.ID] = groups[ends]
	}
	members := d.all()
	own := make([][]efficiency.ClusterSum, len(members))
	for k, i := range members {
		own[k] = sums[i]
	}
	list := []rundir.EfficiencyCluster{}
	for _, c := range efficiency.Clusters(own, alike) {
		list = append(list, rundir.EfficiencyCluster{
			ID: c.ID, Share: rundir.Rounded(c.Share, 9), Bursts: c.Bursts, Seconds: seconds(float64(c.TimeNS)), Ranks: c.Locations,
			Balance: rundir.Rounded(c.Balance, 9), Lost: seconds(c.LostNS), Most: d.name(members[c.Longest]), IPC: rundir.Rounded(c.IPC, 9), Best: rundir.Rounded(c.Best, 9),
		})
	}
	return list
}

func (d *describer) threads(sums []efficiency.Sum) []rundir.EfficiencyLocation {
	members := d.all()
	list := make([]rundir.EfficiencyLocation, len(members))
	for k, i := range members {
		t := &d.run.Threads[i]
		begin, end := seconds(float64(t.BeginNS)), seconds(float64(t.EndNS))
		if t.Untimed() {
			begin, end = rundir.Number(math.NaN()), rundir.Number(math.NaN())
		}
		list[k] = rundir.EfficiencyLocation{
			ThreadName: *d.name(i), Begin: begin, End: end,
			Computing: seconds(float64(sums[i].ComputingNS)), MPI: seconds(float64(sums[i].MPINS)),
		}
	}
	return list
}

// mostIterations is about how many entries the iterations of a phase are described in.
const mostIterations = 32

func iterations(phase int, l *efficiency.LoopSum) (list []rundir.EfficiencyIteration) {
	for _, x := range l.Iterations(mostIterations) {
		list = append(list, rundir.EfficiencyIteration{
			Phase: phase, Iteration: x.First, Count: x.Count, Seconds: seconds(float64(x.TNS)), Parallel: rundir.Rounded(x.Parallel, 5),
			Balance: rundir.Rounded(x.Balance, 5), Communication: rundir.Rounded(x.Communication, 5), Skewed: x.Skewed,
		})
	}
	return list
}
