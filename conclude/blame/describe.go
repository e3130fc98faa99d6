package blame

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"moriens/analysis/waits"
	"moriens/analysis/workers"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// So many causes, links, ranks and parts of the path are listed in waits.json, but none with less than that share of
// the waits or of the path; waits.parquet has all.
const mostListed, leastListed = 32, .001

// From these shares of the waits on, of what may be wrong about clocks, waits are marked, and given up.
const markedFrom, givenUpFrom = .01, .1

func seconds(ns int64) rundir.Number { return rundir.Number(float64(ns) / 1e9) }

// shareDecimals is how many decimals shares have.
const shareDecimals = 7

// listed is how many of a list are listed, of which the shares descend.
func listed(n int, share func(i int) float64) int {
	n = min(n, mostListed)
	return sort.Search(n, func(i int) bool { return share(i) < leastListed })
}

// describer puts what was found into the words of files.
type describer struct {
	*Blame
	run       *trace.Run
	places    []string // by call path: the name of its place
	names     []string // by call path
	threads   []rundir.ThreadName
	locations int
}

func (b *Blame) describer(run *trace.Run, locations int) *describer {
	d := &describer{Blame: b, run: run, names: run.Names(), locations: locations}
	for _, place := range run.Places() {
		d.places = append(d.places, d.names[place])
	}
	for i := range run.Threads {
		d.threads = append(d.threads, rundir.NameOf(&run.Threads[i]))
	}
	return d
}

// Describe is collective: it gives the first member waits.json and the rows of waits.parquet.
func (b *Blame) Describe(run *trace.Run, owners team.Threads) (*rundir.Waits, []parquet.WaitsRow, error) {
	calls := make([]int64, len(run.Threads))
	for i := range run.Threads {
		calls[i] = int64(run.Threads[i].Calls.Len())
	}
	if err := owners.AllReduce(calls, team.Max); err != nil {
		return nil, nil, err
	}
	locations := 0
	for _, n := range calls {
		if n > 0 {
			locations++
		}
	}
	d := b.describer(run, locations)
	all, err := team.Values(owners, d.waitRows(owners))
	if err != nil {
		return nil, nil, err
	}
	rows := slices.Concat(all...)
	slices.SortStableFunc(rows, func(a, b parquet.WaitsRow) int {
		return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Thread, b.Thread))
	})
	w := &rundir.Waits{Format: rundir.WaitsFormat, Why: b.why()}
	switch {
	case locations == 0:
		w.Why = []string{"no call of MPI is known"}
		return w, nil, nil
	case b.givenUp():
		return w, nil, nil
	}
	w.WholeRun = d.table(rows)
	return w, append(rows, d.otherRows()...), nil
}

// doubt is which part of the waits may be wrong for what clocks disagree.
func (b *Blame) doubt() float64 {
	return float64(b.UncertainNS+b.options.MovedNS) / float64(max(b.WaitNS, 1))
}

// several says that threads are on nodes whose clocks may differ.
func (b *Blame) several() bool { return b.options.UncertaintyNS != nil }

func (b *Blame) marked() bool { return b.several() && b.doubt() >= markedFrom }

func (b *Blame) givenUp() bool { return b.several() && b.doubt() >= givenUpFrom }

func (b *Blame) why() (why []string) {
	switch {
	case b.givenUp():
		return []string{fmt.Sprintf("clocks of hosts do not agree well enough: waits of %.3g s are shorter than their uncertainty, calls were moved by %.3g s in sum, for waits of %.3g s", seconds(b.UncertainNS), seconds(b.options.MovedNS), seconds(b.WaitNS))}
	case b.marked():
		why = append(why, fmt.Sprintf("clocks of hosts do not agree to better than %.2g %% of the waits", 100*b.doubt()))
	}
	if !b.Full {
		why = append(why, "whole_run has collectives alone: messages are known in the windows that are kept in full detail")
	}
	return why
}

// waitRows are the waits of this member's threads, by call path, kind and phase of iterations.
func (d *describer) waitRows(owners team.Threads) []parquet.WaitsRow {
	lists, sizes := make([][]parquet.WaitsRow, len(d.Waits)), make([]int, len(d.Waits))
	for i := range sizes {
		sizes[i] = len(d.Waits[i])
	}
	workers.Every(sizes, d.options.Workers, func(i int) {
		if owners.Mine(i) {
			lists[i] = d.rowsOf(i)
		}
	})
	return slices.Concat(lists...)
}

// rowsOf are the waits of a thread.
func (d *describer) rowsOf(thread int) (rows []parquet.WaitsRow) {
	type key struct {
		path  uint32
		kind  waits.Kind
		phase int32
	}
	t := &d.run.Threads[thread]
	at := make(map[key]int)
	phaseOf := d.phasesOf(thread)
	before, n := key{phase: math.MinInt32}, 0 // most are like the one before
	for _, w := range d.Waits[thread] {
		enterNS := t.Calls.EnterNS[w.Row]
		if k := (key{t.Calls.Path[w.Row], w.Kind, phaseOf(enterNS)}); k != before {
			var known bool
			if n, known = at[k]; !known {
				n = len(rows)
				at[k] = n
				rows = append(rows, parquet.WaitsRow{
					Kind: parquet.WaitsWait, World: int32(t.World), Rank: int32(t.Rank), Thread: int32(t.Thread),
					CallPath: d.names[k.path], Wait: trace.WaitKind(k.kind).String(), Iterations: k.phase,
				})
			}
			before = k
		}
		r := &rows[n]
		r.Count++
		r.WaitNS += w.UntilNS - enterNS
		r.LongestNS = max(r.LongestNS, w.UntilNS-enterNS)
		r.ResidualNS += t.Calls.ExitNS[w.Row] - w.UntilNS
	}
	slices.SortFunc(rows, func(a, b parquet.WaitsRow) int {
		return cmp.Or(cmp.Compare(a.CallPath, b.CallPath), cmp.Compare(a.Wait, b.Wait), cmp.Compare(a.Iterations, b.Iterations))
	})
	return rows
}

// phasesOf says in which phase of iterations the calls of a thread are, asked in the order of time: that of the last
// burst before them; -1: none.
func (d *describer) phasesOf(thread int) func(enterNS int64) int32 {
	b := &d.run.Threads[thread].Bursts
	behind := int32(0) // bursts that are over
	return func(enterNS int64) int32 {
		if len(d.options.Phases) == 0 {
			return -1
		}
		for int(behind) < b.Len() && b.StartNS[behind]+b.DurationNS[behind] <= enterNS {
			behind++
		}
		last := max(behind-1, 0)
		for k := range d.options.Phases {
			p := &d.options.Phases[k]
			if loop := &p.Threads[thread]; p.Iterations > 0 && loop.From <= last && last < loop.To {
				return int32(k)
			}
		}
		return -1
	}
}

// otherRows are causes, links and the path.
func (d *describer) otherRows() (rows []parquet.WaitsRow) {
	of := func(kind string, thread, key int32) parquet.WaitsRow {
		t, k := &d.run.Threads[thread], d.Keys[key]
		what, path := d.what(k)
		return parquet.WaitsRow{
			Kind: kind, World: int32(t.World), Rank: int32(t.Rank), Thread: int32(t.Thread), What: what, Cluster: k.Cluster, CallPath: path, Iterations: -1,
		}
	}
	for _, c := range d.Causes {
		row := of(parquet.WaitsCause, c.Thread, c.Key)
		row.Count, row.ChargedNS, row.DirectNS, row.MoreNS = c.Waits, c.NS, c.DirectNS, c.MoreNS
		rows = append(rows, row)
	}
	for _, s := range d.Shares {
		row := of(parquet.WaitsPath, s.Thread, s.Key)
		row.PathNS = s.NS
		rows = append(rows, row)
	}
	for _, l := range d.Links {
		t, other := &d.run.Threads[l.Thread], &d.run.Threads[l.For]
		rows = append(rows, parquet.WaitsRow{
			Kind: parquet.WaitsLink, World: int32(t.World), Rank: int32(t.Rank), Thread: int32(t.Thread), Iterations: -1,
			ForWorld: int32(other.World), ForRank: int32(other.Rank), ForThread: int32(other.Thread),
			Count: l.Waits, WaitNS: l.NS, ComputingNS: l.ComputingNS, MPINS: l.MPINS, OutsideNS: l.OutsideNS, HandedOnNS: l.HandedOnNS,
		})
	}
	return rows
}

// what is a key in the words of files; the call path by all its frames.
func (d *describer) what(k waits.Key) (what, path string) {
	switch k.What {
	case waits.Computing:
		return rundir.CauseComputing, d.name(d.names, k.Path)
	case waits.MPI:
		return rundir.CauseMPI, d.name(d.names, k.Path)
	}
	return rundir.CauseOutside, ""
}

// name is that of a call path, which a burst at a thread's end has not.
func (d *describer) name(names []string, path uint32) string {
	if int(path) >= len(names) || path == 0 {
		return ""
	}
	return names[path]
}

// table is waits.json of the run, or of its windows; rows are those of waits.
func (d *describer) table(rows []parquet.WaitsRow) *rundir.WaitsTable {
	residualNS := d.MPINS - d.WaitNS
	for _, n := range d.NotExplained {
		residualNS -= n.NS
	}
	t := &rundir.WaitsTable{
		Basis: rundir.WaitsCollectives, Marked: d.marked(), Locations: d.locations, Seconds: seconds(d.run.DurationNS),
		MPI: seconds(d.MPINS), Waiting: seconds(d.WaitNS), Residual: seconds(residualNS), Uncertain: seconds(d.UncertainNS), Unexplained: seconds(d.UnexplainedNS),
		Contradictions: d.Contradictions, Incomplete: d.Incomplete, NotSynchronising: d.NotSynchronising, OneSided: d.OneSided,
	}
	if d.Full {
		t.Basis = rundir.WaitsFull
	}
	ranks := make(map[[2]int]bool)
	for _, n := range d.threads {
		ranks[[2]int{n.World, n.Rank}] = true
	}
	t.Ranks = len(ranks)
	d.kinds(t, rows)
	d.causes(t)
	d.ranks(t)
	d.links(t)
	d.path(t)
	d.clusters(t)
	for _, n := range d.NotExplained {
		t.NotExplained = append(t.NotExplained, rundir.WaitsNotExplained{What: n.What, Calls: n.Calls, Seconds: seconds(n.NS)})
	}
	for _, e := range d.Eager {
		x := rundir.WaitsEager{SameNode: e.SameNode}
		if e.Bytes >= 0 {
			x.Bytes = &e.Bytes
		}
		t.Eager = append(t.Eager, x)
	}
	return t
}

// kinds sums the waits by kind, and by call path.
func (d *describer) kinds(t *rundir.WaitsTable, rows []parquet.WaitsRow) {
	type sum struct{ count, ns, longestNS, residualNS int64 }
	add := func(s *sum, r *parquet.WaitsRow) {
		s.count += r.Count
		s.ns += r.WaitNS
		s.longestNS = max(s.longestNS, r.LongestNS)
		s.residualNS += r.ResidualNS
	}
	place := make(map[string]string)
	for i, name := range d.names {
		place[name] = d.places[i]
	}
	byKind, byPath := make(map[string]*sum), make(map[[2]string]*sum)
	for i := range rows {
		r := &rows[i]
		path := [2]string{place[r.CallPath], r.Wait}
		if byKind[r.Wait] == nil {
			byKind[r.Wait] = new(sum)
		}
		if byPath[path] == nil {
			byPath[path] = new(sum)
		}
		add(byKind[r.Wait], r)
		add(byPath[path], r)
	}
	for kind, s := range byKind {
		t.Kinds = append(t.Kinds, rundir.WaitsKind{Kind: kind, Count: s.count, Seconds: seconds(s.ns), Longest: seconds(s.longestNS)})
	}
	slices.SortFunc(t.Kinds, func(a, b rundir.WaitsKind) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Kind, b.Kind))
	})
	for path, s := range byPath {
		t.CallPaths = append(t.CallPaths, rundir.WaitsCallPath{CallPath: path[0], Kind: path[1], Count: s.count, Seconds: seconds(s.ns), Residual: seconds(s.residualNS)})
	}
	slices.SortFunc(t.CallPaths, func(a, b rundir.WaitsCallPath) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.CallPath, b.CallPath), cmp.Compare(a.Kind, b.Kind))
	})
}

// A doing is what a thread does, by the place of the call.
type doing struct {
	thread  int32
	what    waits.What
	cluster int32
	place   string
}

func (d *describer) doing(thread, key int32) doing {
	k := d.Keys[key]
	x := doing{thread: thread, what: k.What, cluster: max(k.Cluster, 0)}
	if k.What == waits.Computing || k.What == waits.MPI {
		x.place = d.name(d.places, k.Path)
	}
	return x
}

func (a doing) compare(b doing) int {
	return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.what, b.what), cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.place, b.place))
}

// whatOf are the words of files for what threads do.
var whatOf = map[waits.What]string{
	waits.Computing: rundir.CauseComputing, waits.MPI: rundir.CauseMPI, waits.Outside: rundir.CauseOutside, waits.NotKept: rundir.CauseOutside,
}

func (x doing) clusterID() *int32 {
	if x.what != waits.Computing || x.cluster == 0 {
		return nil
	}
	return &x.cluster
}

func (d *describer) causes(t *rundir.WaitsTable) {
	sums := make(map[doing]*waits.Cause)
	for i := range d.Causes {
		c := &d.Causes[i]
		x := d.doing(c.Thread, c.Key)
		s := sums[x]
		if s == nil {
			s = new(waits.Cause)
			sums[x] = s
		}
		s.NS += c.NS
		s.DirectNS += c.DirectNS
		s.MoreNS += c.MoreNS
	}
	keyOf := make(map[int32]int32) // by deed
	for key, deed := range d.Deeds {
		keyOf[deed] = int32(key)
	}
	for _, x := range d.Direct {
		sums[d.doing(x.Thread, keyOf[x.Deed])].Waits += x.Waits
	}
	order := make([]doing, 0, len(sums))
	for x := range sums {
		order = append(order, x)
	}
	slices.SortFunc(order, func(a, b doing) int { return cmp.Or(cmp.Compare(sums[b].NS, sums[a].NS), a.compare(b)) })
	t.CausesTotal = len(order)
	for _, x := range order[:listed(len(order), func(i int) float64 { return float64(sums[order[i]].NS) / float64(max(d.WaitNS, 1)) })] {
		s := sums[x]
		c := rundir.WaitsCause{
			ThreadName: d.threads[x.thread], What: whatOf[x.what], Cluster: x.clusterID(), CallPath: x.place, Seconds: seconds(s.NS), Direct: seconds(s.DirectNS),
			Share: rundir.Rounded(float64(s.NS)/float64(max(d.WaitNS, 1)), shareDecimals), Waits: s.Waits, More: rundir.Number(math.NaN()),
		}
		if s.Waits > 0 {
			c.More = seconds(s.MoreNS / s.Waits)
		}
		t.Causes = append(t.Causes, c)
	}
}

func (d *describer) ranks(t *rundir.WaitsTable) {
	type sum struct{ waitNS, causedNS, directNS, pathNS int64 }
	sums := make([]sum, len(d.threads))
	for i, ns := range d.WaitedNS {
		sums[i].waitNS = ns
	}
	for _, c := range d.Causes {
		sums[c.Thread].causedNS += c.NS
		sums[c.Thread].directNS += c.DirectNS
	}
	for _, s := range d.Shares {
		sums[s.Thread].pathNS += s.NS
	}
	order := make([]int, len(sums))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(sums[b].causedNS+sums[b].waitNS, sums[a].causedNS+sums[a].waitNS)
	})
	for _, i := range order[:min(len(order), mostListed)] {
		s := sums[i]
		t.ByRank = append(t.ByRank, rundir.WaitsRank{ThreadName: d.threads[i], Waiting: seconds(s.waitNS), Caused: seconds(s.causedNS), Direct: seconds(s.directNS), Path: seconds(s.pathNS)})
	}
}

func (d *describer) links(t *rundir.WaitsTable) {
	list := slices.Clone(d.Links)
	slices.SortStableFunc(list, func(a, b waits.Link) int { return cmp.Compare(b.NS, a.NS) })
	t.LinksTotal = len(list)
	for _, l := range list[:listed(len(list), func(i int) float64 { return float64(list[i].NS) / float64(max(d.WaitNS, 1)) })] {
		t.Links = append(t.Links, rundir.WaitsLink{
			Waiting: d.threads[l.Thread], For: d.threads[l.For], Count: l.Waits, Seconds: seconds(l.NS), Computing: seconds(l.ComputingNS), MPI: seconds(l.MPINS),
			Outside: seconds(l.OutsideNS), HandedOn: seconds(l.HandedOnNS),
		})
	}
}

func (d *describer) path(t *rundir.WaitsTable) {
	parts, ranks := make(map[doing]int64), make(map[int32]int64)
	total := int64(0)
	for _, s := range d.Shares {
		parts[d.doing(0, s.Key)] += s.NS
		ranks[s.Thread] += s.NS
		total += s.NS
	}
	of := func(ns int64) float64 { return float64(ns) / float64(max(total, 1)) }
	share := func(ns int64) rundir.Number { return rundir.Rounded(of(ns), shareDecimals) }
	p := &t.Path
	p.Seconds, p.Changes = seconds(total), max(0, len(d.Path)-1)
	order := make([]doing, 0, len(parts))
	for x := range parts {
		order = append(order, x)
	}
	slices.SortFunc(order, func(a, b doing) int { return cmp.Or(cmp.Compare(parts[b], parts[a]), a.compare(b)) })
	rest := total
	for _, x := range order[:listed(len(order), func(i int) float64 { return of(parts[order[i]]) })] {
		rest -= parts[x]
		p.Parts = append(p.Parts, rundir.WaitsPathPart{What: whatOf[x.what], Cluster: x.clusterID(), CallPath: x.place, Seconds: seconds(parts[x]), Share: share(parts[x])})
	}
	p.PartsTotal, p.Rest = len(order), seconds(rest)
	var threads []int32
	for thread := range ranks {
		threads = append(threads, thread)
	}
	slices.SortFunc(threads, func(a, b int32) int { return cmp.Or(cmp.Compare(ranks[b], ranks[a]), cmp.Compare(a, b)) })
	for _, thread := range threads[:min(len(threads), mostListed)] {
		p.Ranks = append(p.Ranks, rundir.WaitsPathRank{ThreadName: d.threads[thread], Seconds: seconds(ranks[thread]), Share: share(ranks[thread])})
	}
}

func (d *describer) clusters(t *rundir.WaitsTable) {
	caused, path := make(map[int32]int64), make(map[int32]int64)
	total := int64(0)
	for _, c := range d.Causes {
		if k := d.Keys[c.Key]; k.What == waits.Computing {
			caused[k.Cluster] += c.NS
		}
	}
	for _, s := range d.Shares {
		total += s.NS
		if k := d.Keys[s.Key]; k.What == waits.Computing {
			path[k.Cluster] += s.NS
		}
	}
	for i := range d.run.Clusters {
		c := &d.run.Clusters[i]
		t.Clusters = append(t.Clusters, rundir.WaitsCluster{
			Cluster: c.ID, Caused: seconds(caused[c.ID]), Path: seconds(path[c.ID]), PathShare: rundir.Rounded(float64(path[c.ID])/float64(max(total, 1)), shareDecimals),
			Imbalance: seconds(path[c.ID] - c.TimeNS/int64(max(d.locations, 1))),
		})
	}
	slices.SortStableFunc(t.Clusters, func(a, b rundir.WaitsCluster) int { return cmp.Compare(b.Caused, a.Caused) })
}
