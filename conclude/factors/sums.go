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
const unbounded = "only sums of the whole run are known: the time before the end of MPI_Init and after the start of MPI_Finalize is included, " +
	"and what is neither computing nor in MPI counts as outside"

// OfSums computes the factors of a run of which only the rows of its profile are known, because its bursts were kept on
// their nodes. Of the run the threads, nodes and clusters are taken, and how long it took.
func OfSums(p *parquet.Profile, run *trace.Run, classes []Class) *rundir.Efficiency {
	t := new(Tally)
	for i := range run.Threads { // a thread without a row is one too
		t.thread(rundir.NameOf(&run.Threads[i]))
	}
	t.Add(p)
	known := &trace.Run{DurationNS: run.DurationNS, Nodes: run.Nodes, Worlds: run.Worlds, Clusters: run.Clusters, Threads: run.Threads}
	return t.describe(known, classes)
}

// describe is about a run whose threads are the first of the tally's.
func (t *Tally) describe(run *trace.Run, classes []Class) *rundir.Efficiency {
	m := &measurement{run: run, options: Options{Classes: classes}, why: []string{unbounded}, withClusters: 1}
	threads := len(run.Threads)
	whole := efficiency.Span{EndNS: run.DurationNS}
	for i := range threads { // when those began and ended of which only sums are known is not in the run's duration
		whole.EndNS = max(whole.EndNS, t.sums[i].ComputingNS+t.sums[i].MPINS)
	}
	m.regions = []region{{name: Run, stretch: &whole, world: -1, iteration: -1}}
	for i := range threads {
		s := &t.sums[i]
		s.ElapsedNS, s.LifeNS = whole.EndNS, s.ComputingNS+s.MPINS
	}
	e := m.describe(&efficiency.Sums{Regions: [][]efficiency.Sum{t.sums[:threads]}, Clusters: [][][]efficiency.ClusterSum{t.clusters[:threads]}})
	e.Within = Run
	return e
}

// ProfileColumns are the columns of a profile that a Tally needs.
var ProfileColumns = []string{
	"world", "rank", "thread", "cluster", "count", "time_ns",
	nameOfInstructions + ".sum", nameOfInstructions + ".missing", nameOfCycles + ".sum", nameOfCycles + ".missing",
}

// A Tally adds up the rows of a profile by thread. The zero value is one of none.
type Tally struct {
	at                   map[rundir.ThreadName]int
	names                []rundir.ThreadName
	sums                 []efficiency.Sum
	clusters             [][]efficiency.ClusterSum
	last                 int // the thread of the latest row: its rows stand together
	instructions, cycles int // counters of the latest rows; -1: they were not counted
}

// Add adds rows.
func (t *Tally) Add(p *parquet.Profile) {
	counter := func(name string) int {
		return slices.IndexFunc(p.Counters, func(c trace.Counter) bool { return c.Name == name })
	}
	t.instructions, t.cycles = counter(nameOfInstructions), counter(nameOfCycles)
	for i := range p.Rows {
		switch r := &p.Rows[i]; r.Kind {
		case parquet.ProfileMPI:
			t.sums[t.threadOf(r)].MPINS += r.TimeNS
		case parquet.ProfileComputation:
			t.compute(r)
		}
	}
}

func (t *Tally) compute(r *parquet.ProfileRow) {
	thread := t.threadOf(r)
	counted := t.countedIn(r)
	s := &t.sums[thread]
	s.ComputingNS += r.TimeNS
	s.Counted.Add(&counted)
	list := t.clusters[thread]
	k := slices.IndexFunc(list, func(c efficiency.ClusterSum) bool { return c.Cluster == r.Cluster })
	if k < 0 {
		k = len(list)
		list = append(list, efficiency.ClusterSum{Cluster: r.Cluster})
		t.clusters[thread] = list
	}
	c := &list[k]
	c.Bursts += r.Count
	c.TimeNS += r.TimeNS
	c.Counted.Add(&counted)
}

func (t *Tally) threadOf(r *parquet.ProfileRow) int {
	name := rundir.ThreadName{World: int(r.World), Rank: int(r.Rank), Thread: int(r.Thread)}
	if t.last >= len(t.names) || t.names[t.last] != name {
		t.last = t.thread(name)
	}
	return t.last
}

// thread is the number of a thread, which may be new.
func (t *Tally) thread(name rundir.ThreadName) int {
	i, known := t.at[name]
	if !known {
		if t.at == nil {
			t.at = make(map[rundir.ThreadName]int)
		}
		i = len(t.names)
		t.at[name] = i
		t.names, t.sums, t.clusters = append(t.names, name), append(t.sums, efficiency.Sum{}), append(t.clusters, nil)
	}
	return i
}

// sort puts the threads in order.
func (t *Tally) sort() {
	order := make([]int, len(t.names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := t.names[i], t.names[j]
		return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Thread, b.Thread))
	})
	sorted := Tally{instructions: t.instructions, cycles: t.cycles}
	for _, i := range order {
		k := sorted.thread(t.names[i])
		sorted.sums[k], sorted.clusters[k] = t.sums[i], t.clusters[i]
	}
	*t = sorted
}

// OfProfile is OfSums of the profile of a run directory without efficiency.json: the threads are those of the tally. On
// which nodes they ran is not known where there are several.
func OfProfile(t *Tally, m *rundir.Manifest, clusters []trace.Cluster) *rundir.Efficiency {
	run := &trace.Run{DurationNS: int64(math.Round(float64(m.Seconds) * 1e9)), Clusters: clusters, Threads: make([]trace.Thread, len(t.names))}
	for i := range m.Hosts {
		run.Nodes = append(run.Nodes, trace.Node{Name: m.Hosts[i].Name})
	}
	t.sort()
	for i, name := range t.names {
		run.Threads[i] = trace.Thread{World: name.World, Rank: name.Rank, Thread: name.Thread, EndNS: run.DurationNS}
	}
	e := t.describe(run, nil)
	if len(m.Hosts) > 1 {
		r := &e.Runs[0]
		r.InNodes, r.BetweenNodes, r.Nodes = rundir.Number(math.NaN()), rundir.Number(math.NaN()), nil
		if f := r.MainThreads; f != nil {
			f.InNodes, f.BetweenNodes = r.InNodes, r.BetweenNodes
		}
		r.Why = append(r.Why, "which ranks ran on which nodes is not known")
	}
	e.Runs[0].Bounded(m.Incomplete)
	if text := m.Deaths(); text != "" {
		e.Runs[0].Bounded([]string{text})
	}
	return e
}

// countedIn is what the bursts of a row have counted. How long those took that lack a value is not known: they are
// taken for as long as the others.
func (t *Tally) countedIn(r *parquet.ProfileRow) (c efficiency.Counted) {
	value := func(counter int) (sum, ns int64) {
		if counter < 0 || r.Count == 0 {
			return 0, 0
		}
		x := &r.Counters[counter]
		return x.Sum, int64(math.Round(float64(r.TimeNS) * float64(r.Count-x.Missing) / float64(r.Count)))
	}
	c.Instructions, c.InstructionsNS = value(t.instructions)
	c.Cycles, c.CyclesNS = value(t.cycles)
	if t.instructions >= 0 && t.cycles >= 0 && r.Counters[t.instructions].Missing == r.Counters[t.cycles].Missing {
		c.BothInstructions, c.BothCycles = c.Instructions, c.Cycles
	}
	return c
}
