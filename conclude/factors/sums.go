package factors

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/efficiency"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// unbounded says why what comes from sums of the whole run is a bound.
const unbounded = "only sums of the whole run are known: what is before the end of MPI_Init and after the begin of MPI_Finalize counts too, " +
	"and what is neither computing nor in MPI counts as outside"

// OfSums computes the factors of a run of which only the rows of its profile are known, because its bursts were kept on
// their nodes. Of the run the threads, nodes and clusters are taken, and how long it took.
func OfSums(p *parquet.Profile, run *trace.Run, classes []Class) *rundir.Efficiency {
	known := &trace.Run{DurationNS: run.DurationNS, Nodes: run.Nodes, Worlds: run.Worlds, Clusters: run.Clusters, Counters: p.Counters, Threads: run.Threads}
	at := make(map[rundir.ThreadName]int)
	for i := range run.Threads {
		at[rundir.NameOf(&run.Threads[i])] = i
	}
	m := &measurement{run: known, options: Options{Classes: classes}, why: []string{unbounded}, withClusters: 1}
	whole := efficiency.Span{EndNS: run.DurationNS}
	m.regions = []region{{name: Run, stretch: &whole, world: -1, iteration: -1}}
	e := m.describe(sumsOf(p, at, len(run.Threads), m))
	e.Within = Run
	return e
}

// OfProfile is OfSums of a run directory without efficiency.json: the threads are those of the profile. On which nodes
// they ran is not known where there are several.
func OfProfile(p *parquet.Profile, m *rundir.Manifest, clusters []trace.Cluster) *rundir.Efficiency {
	run := &trace.Run{DurationNS: int64(math.Round(float64(m.Seconds) * 1e9)), Clusters: clusters}
	for i := range m.Hosts {
		run.Nodes = append(run.Nodes, trace.Node{Name: m.Hosts[i].Name})
	}
	seen := make(map[rundir.ThreadName]bool)
	for i := range p.Rows {
		r := &p.Rows[i]
		name := rundir.ThreadName{World: int(r.World), Rank: int(r.Rank), Thread: int(r.Thread)}
		if (r.Kind == parquet.ProfileComputation || r.Kind == parquet.ProfileMPI) && !seen[name] {
			seen[name] = true
			run.Threads = append(run.Threads, trace.Thread{World: name.World, Rank: name.Rank, Thread: name.Thread, EndNS: run.DurationNS})
		}
	}
	slices.SortFunc(run.Threads, func(a, b trace.Thread) int {
		return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Thread, b.Thread))
	})
	e := OfSums(p, run, nil)
	if len(m.Hosts) > 1 {
		r := &e.Runs[0]
		r.InNodes, r.BetweenNodes, r.Nodes = rundir.Number(math.NaN()), rundir.Number(math.NaN()), nil
		r.Why = append(r.Why, "which ranks ran on which nodes is not known")
	}
	return e
}

// sumsOf adds up the rows of each thread.
func sumsOf(p *parquet.Profile, at map[rundir.ThreadName]int, threads int, m *measurement) *efficiency.Sums {
	instructions, cycles := m.counter("PAPI_TOT_INS"), m.counter("PAPI_TOT_CYC")
	sums := make([]efficiency.Sum, threads)
	clusters := make([][]efficiency.ClusterSum, threads)
	for i := range p.Rows {
		r := &p.Rows[i]
		thread := at[rundir.ThreadName{World: int(r.World), Rank: int(r.Rank), Thread: int(r.Thread)}]
		switch r.Kind {
		case parquet.ProfileMPI:
			sums[thread].MPINS += r.TimeNS
			continue
		case parquet.ProfileComputation:
		default:
			continue
		}
		s := &sums[thread]
		s.ComputingNS += r.TimeNS
		counted := countedIn(r, instructions, cycles)
		s.Counted.Add(&counted)
		k := slices.IndexFunc(clusters[thread], func(c efficiency.ClusterSum) bool { return c.Cluster == r.Cluster })
		if k < 0 {
			k = len(clusters[thread])
			clusters[thread] = append(clusters[thread], efficiency.ClusterSum{Location: int32(thread), Cluster: r.Cluster})
		}
		c := &clusters[thread][k]
		c.Bursts += r.Count
		c.TimeNS += r.TimeNS
		c.Counted.Add(&counted)
	}
	for i := range sums {
		s := &sums[i]
		s.ElapsedNS, s.LifeNS = m.run.DurationNS, s.ComputingNS+s.MPINS
	}
	return &efficiency.Sums{Regions: [][]efficiency.Sum{sums}, Clusters: [][][]efficiency.ClusterSum{clusters}}
}

// countedIn is what the bursts of a row have counted. How long those took that lack a value is not known: they are
// taken for as long as the others.
func countedIn(r *parquet.ProfileRow, instructions, cycles int) (c efficiency.Counted) {
	value := func(counter int) (sum, ns int64) {
		if counter < 0 || r.Count == 0 {
			return 0, 0
		}
		x := &r.Counters[counter]
		return x.Sum, int64(math.Round(float64(r.TimeNS) * float64(r.Count-x.Missing) / float64(r.Count)))
	}
	c.Instructions, c.InstructionsNS = value(instructions)
	c.Cycles, c.CyclesNS = value(cycles)
	if instructions >= 0 && cycles >= 0 && r.Counters[instructions].Missing == r.Counters[cycles].Missing {
		c.BothInstructions, c.BothCycles = c.Instructions, c.Cycles
	}
	return c
}
