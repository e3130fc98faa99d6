package rundir

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/trace"
	"moriens/trace/parquet"
)

// A restorer puts together again what Write has spread over the files.
type restorer struct {
	manifest *Manifest
	clusters *Clusters
	run      *trace.Run // of trace.prv, then with all the rest
	numbered *trace.Run // the call paths of callpaths.json; nil where there is none
	bursts   *trace.Run // of bursts.parquet: the kept bursts, and others perhaps

	transfers []parquet.Transfer // of transfers.parquet; nil where there is none

	threads map[ThreadName]int // indices into run.Threads
	marks   map[string]uint32  // indices into run.MarkNames
}

// take begins with what the trace holds.
func (r *restorer) take(run *trace.Run) {
	r.run = run
	r.threads, r.marks = make(map[ThreadName]int, len(run.Threads)), make(map[string]uint32)
	for i := range run.Threads {
		r.threads[NameOf(&run.Threads[i])] = i
	}
}

func (r *restorer) phase(world, rank, thread int, name string, p trace.Phase) error {
	t, err := r.thread("a phase", ThreadName{world, rank, thread})
	if err != nil {
		return err
	}
	deepest := int32(0)
	if n := len(t.Phases); n > 0 {
		if p.BeginNS < t.Phases[n-1].BeginNS {
			return fmt.Errorf("%v: phases are not in order", NameOf(t))
		}
		deepest = t.Phases[n-1].Depth + 1
	}
	if deepest >= trace.MostPhaseDepth && p.Depth >= trace.MostPhaseDepth {
		return nil // of an earlier version: it is part of the phase at that depth
	}
	// Formats name each depth: what is far too large would take all memory.
	if p.Depth > deepest {
		return fmt.Errorf("%v: phases do not nest: one is at depth %d where it can be %d at most", NameOf(t), p.Depth, deepest)
	}
	p.Name = r.mark(name)
	t.Phases = append(t.Phases, p)
	return nil
}

func (r *restorer) event(world, rank, thread int, name string, e trace.Event) error {
	t, err := r.thread("an event", ThreadName{world, rank, thread})
	if err != nil {
		return err
	}
	if n := len(t.Events); n > 0 && e.TimeNS < t.Events[n-1].TimeNS {
		return fmt.Errorf("%v: events are not in order", NameOf(t))
	}
	e.Name = r.mark(name)
	t.Events = append(t.Events, e)
	return nil
}

// thread is the one that has something.
func (r *restorer) thread(something string, name ThreadName) (*trace.Thread, error) {
	i, known := r.threads[name]
	if !known {
		return nil, fmt.Errorf("%s of %v, which %s lacks", something, name, TraceFile)
	}
	return &r.run.Threads[i], nil
}

func (r *restorer) mark(name string) uint32 {
	i, known := r.marks[name]
	if !known {
		i = uint32(len(r.run.MarkNames))
		r.run.MarkNames = append(r.run.MarkNames, name)
		r.marks[name] = i
	}
	return i
}

// restore brings the files together.
func (r *restorer) restore() error {
	if r.bursts == nil {
		return nil
	}
	if err := r.places(); err != nil {
		return err
	}
	if err := r.counters(); err != nil {
		return err
	}
	if err := r.communicators(); err != nil {
		return err
	}
	paths, err := newPathBook(r)
	if err != nil {
		return err
	}
	if err := r.mergeBursts(paths); err != nil {
		return err
	}
	r.run.CallPaths = paths.paths
	if r.numbered != nil {
		r.run.PathNames = r.numbered.PathNames
	}
	r.run.SettleLate()
	if r.transfers == nil {
		restoreTransfers(r.run)
	} else if err := r.putTransfers(); err != nil {
		return err
	}
	for i := range r.run.Threads {
		r.run.Threads[i].LocatePhases()
	}
	return r.restoreClusters(paths)
}

// places takes programs and hosts from the manifest.
func (r *restorer) places() error {
	m, run := r.manifest, r.run
	if len(run.Worlds) != m.Traced() { // the others are behind them
		return fmt.Errorf("%s has %d worlds, %s %d", TraceFile, len(run.Worlds), ManifestFile, m.Traced())
	}
	for i := range run.Worlds {
		w := &run.Worlds[i]
		if w.Size != m.Worlds[i].Size {
			return fmt.Errorf("%s has %d ranks in world %d, %s %d", TraceFile, w.Size, i, ManifestFile, m.Worlds[i].Size)
		}
		w.Executable, w.MPILibrary = m.Worlds[i].Executable, m.Worlds[i].MPI.String()
	}
	if len(run.Nodes) != max(len(m.Hosts), 1) { // Paraver cannot do without a node
		return fmt.Errorf("%s has %d nodes, %s %d hosts", TraceFile, len(run.Nodes), ManifestFile, len(m.Hosts))
	}
	run.Nodes = nil
	for _, h := range m.Hosts {
		run.Nodes = append(run.Nodes, trace.Node{Name: h.Name, CPUs: h.CPUs})
	}
	return nil
}

func (r *restorer) counters() error {
	r.run.Counters = nil
	for _, c := range r.manifest.Counters {
		r.run.Counters = append(r.run.Counters, trace.Counter(c))
	}
	if !slices.Equal(r.run.Counters, r.bursts.Counters) {
		return fmt.Errorf("%s has the counters %v, %s %v", BurstsFile, r.bursts.Counters, ManifestFile, r.run.Counters)
	}
	return nil
}

// communicators puts the windows and files, of which Paraver knows nothing, between the others, in the numbering of the
// run. Their ranks are not known.
func (r *restorer) communicators() error {
	inTrace := r.run.Communicators
	number := make([]int32, len(inTrace)) // in the run, by number in the trace
	var all []trace.Communicator
	next := 0
	for _, c := range r.manifest.Communicators {
		x := trace.Communicator{World: c.World, ID: c.ID, Window: c.Kind == "window", File: c.Kind == "file"}
		if !x.Window && !x.File {
			if next == len(inTrace) || inTrace[next].World != c.World || inTrace[next].ID != c.ID {
				return fmt.Errorf("%s lacks communicator %d of world %d", TraceFile, c.ID, c.World)
			}
			x, number[next] = inTrace[next], int32(len(all))
			next++
		}
		all = append(all, x)
	}
	if next < len(inTrace) {
		return fmt.Errorf("%s has %d communicators, %s %d", TraceFile, len(inTrace), ManifestFile, next)
	}
	r.run.Communicators = all
	for i := range r.run.Threads {
		for k, comm := range r.run.Threads[i].Collectives.Comm {
			if comm >= 0 {
				r.run.Threads[i].Collectives.Comm[k] = number[comm]
			}
		}
	}
	return nil
}

// mergeBursts gives each burst of the trace what its row in bursts.parquet says, which may have rows of other bursts
// too, and the calls round it their call paths.
func (r *restorer) mergeBursts(paths *pathBook) error {
	r.run.Lineages = r.bursts.Lineages
	rows := make(map[ThreadName]*trace.Bursts, len(r.bursts.Threads))
	for i := range r.bursts.Threads {
		rows[NameOf(&r.bursts.Threads[i])] = &r.bursts.Threads[i].Bursts
	}
	for i := range r.run.Threads {
		t := &r.run.Threads[i]
		if err := r.mergeThread(t, cmp.Or(rows[NameOf(t)], new(trace.Bursts)), paths); err != nil {
			return fmt.Errorf("%v: %w", NameOf(t), err)
		}
	}
	return nil
}

func (r *restorer) mergeThread(t *trace.Thread, rows *trace.Bursts, paths *pathBook) error {
	b := &t.Bursts
	b.Counters = make([][]int64, len(r.run.Counters))
	named := make([]uint32, t.Calls.Len()) // by call: number in paths, 0 = not known
	name := func(row, inTrace uint32, call int) uint32 {
		if r.numbered != nil {
			return row
		}
		id := paths.named(r.bursts.CallPaths[row], inTrace)
		if call >= 0 && paths.trace[t.Calls.Path[call]].Function == paths.paths[id].Function {
			named[call] = id
		}
		return id
	}
	walk := callWalk{calls: &t.Calls}
	at := 0
	for k, start := range b.StartNS {
		for at < rows.Len() && (rows.StartNS[at] != start || rows.DurationNS[at] != b.DurationNS[k]) {
			at++
		}
		if at == rows.Len() {
			return fmt.Errorf("%s lacks the burst at %d ns, of %d ns", BurstsFile, start, b.DurationNS[k])
		}
		if rows.Cluster[at] != b.Cluster[k] {
			return fmt.Errorf("the burst at %d ns is in cluster %d in %s, in %d in %s", start, rows.Cluster[at], BurstsFile, b.Cluster[k], TraceFile)
		}
		for c := range b.Counters {
			b.Counters[c] = append(b.Counters[c], rows.Counters[c][at])
		}
		if rows.Kind != nil {
			b.Kind = append(b.Kind, rows.Kind[at])
		}
		if rows.Lineage != nil {
			b.Lineage = append(b.Lineage, rows.Lineage[at])
		}
		if rows.Weight != nil {
			b.Weight = append(b.Weight, rows.Weight[at])
		}
		before, after := walk.round(start, start+b.DurationNS[k])
		b.Before[k] = name(rows.Before[at], b.Before[k], before)
		b.After[k] = name(rows.After[at], b.After[k], after)
		at++
	}
	if !slices.ContainsFunc(b.Weight, func(w float64) bool { return w != 1 }) {
		b.Weight = nil
	}
	if r.numbered != nil {
		return nil // the trace has the numbers of calls
	}
	for i, id := range named {
		if id == 0 {
			id = paths.unnamed(t.Calls.Path[i])
		}
		t.Calls.Path[i] = id
	}
	return nil
}

// Outline is as much of the run as clusters.json holds: the clusters and the call paths round them.
func (c *Clusters) Outline() (*trace.Run, error) {
	r := &restorer{clusters: c, run: new(trace.Run)}
	paths, err := newPathBook(r)
	if err != nil {
		return nil, err
	}
	r.run.CallPaths = paths.paths
	return r.run, r.restoreClusters(paths)
}

// restoreClusters makes the clusters of clusters.json, which are those of the whole run.
func (r *restorer) restoreClusters(paths *pathBook) error {
	run := r.run
	run.Clusters = nil
	for i, c := range r.clusters.Clusters {
		if c.ID != int32(i+1) {
			return fmt.Errorf("%s: cluster %d is in the place of cluster %d", ClustersFile, c.ID, i+1)
		}
		x := trace.Cluster{
			ID: c.ID, Bursts: c.Bursts, TimeNS: int64(math.Round(float64(c.Seconds) * 1e9)), Share: float64(c.Share),
			MeanNS: float64(c.MeanNS), StdNS: float64(c.StdNS), Eps: float64(c.Eps), MinPts: c.MinPts, Rare: c.Rare, Score: float64(c.Score),
			Kinship: c.Kinship.restore(), Costs: c.restoreCosts(),
		}
		if int(x.VariantOf) > len(r.clusters.Clusters) || x.VariantOf < 0 {
			return fmt.Errorf("%s: cluster %d is a variant of cluster %d, of which it says nothing", ClustersFile, c.ID, x.VariantOf)
		}
		if math.IsNaN(x.Score) {
			x.Score = 0
		}
		var before, after, wholeBefore, wholeAfter error
		x.Before, before = paths.counts(c.Before)
		x.After, after = paths.counts(c.After)
		x.WholeBefore, wholeBefore = paths.counts(c.WholeBefore)
		x.WholeAfter, wholeAfter = paths.counts(c.WholeAfter)
		if err := cmp.Or(before, after, wholeBefore, wholeAfter); err != nil {
			return fmt.Errorf("%s: cluster %d: %w", ClustersFile, c.ID, err)
		}
		if len(x.WholeBefore)+len(x.WholeAfter) == 0 {
			x.WholeBefore, x.WholeAfter = mostOf(x.Before), mostOf(x.After)
		}
		for _, s := range c.Counters {
			x.CounterMean, x.CounterStd = append(x.CounterMean, float64(s.Mean)), append(x.CounterStd, float64(s.Std))
		}
		run.Clusters = append(run.Clusters, x)
	}
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		kinds := b.Kinds()
		for k, label := range b.Cluster {
			if label = max(label, kinds[k]); int(label) > len(run.Clusters) {
				return fmt.Errorf("%v: the burst at %d ns is in cluster %d, of which %s says nothing", NameOf(&run.Threads[i]), b.StartNS[k], label, ClustersFile)
			}
		}
	}
	return nil
}
