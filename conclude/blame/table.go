package blame

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"moriens/analysis/waits"
	"moriens/trace/rundir"
)

// So many causes, links, ranks and parts of the path are listed in waits.json, but none with less than that share of
// the waits or of the path; waits.parquet has all.
const mostListed, leastListed = 32, .001

// listed is how many of a list are listed, of which the shares descend.
func listed(n int, share func(i int) float64) int {
	n = min(n, mostListed)
	return sort.Search(n, func(i int) bool { return share(i) < leastListed })
}

// A part is what a table of waits.json is about: all of the run, or of its windows, or the stretch main of it.
type part struct {
	*describer
	main   bool
	waitNS int64
	pathNS int64
}

func (p *part) span() waits.Span {
	if p.main {
		return p.options.Main
	}
	return waits.Span{EndNS: p.run.DurationNS}
}

func (p *part) charge(c *waits.Cause) waits.Charge {
	if p.main {
		return c.Main
	}
	return c.Charge
}

func (p *part) share(s *waits.Share) int64 {
	if p.main {
		return s.MainNS
	}
	return s.NS
}

func (p *part) link(l *waits.Link) waits.LinkSums {
	if p.main {
		return l.Main
	}
	return l.LinkSums
}

// of is a share of the waits.
func (p *part) of(ns int64) float64 { return float64(ns) / float64(max(p.waitNS, 1)) }

// ofPath is a share of the critical path.
func (p *part) ofPath(ns int64) float64 { return float64(ns) / float64(max(p.pathNS, 1)) }

// table is what waits.json has of the run, or of its windows, or of main; rows are those of waits.
func (d *describer) table(rows []waitRow, main bool) *rundir.WaitsTable {
	p := &part{describer: d, main: main, waitNS: d.WaitNS}
	mpiNS, uncertainNS, unexplainedNS, span := d.MPINS, d.UncertainNS, d.UnexplainedNS, p.span()
	if main {
		mpiNS, p.waitNS, uncertainNS, unexplainedNS = d.MainMPINS, d.MainWaitNS, d.MainUncertainNS, d.MainUnexplainedNS
	}
	for i := range d.Shares {
		p.pathNS += p.share(&d.Shares[i])
	}
	t := &rundir.WaitsTable{
		Basis: rundir.WaitsCollectives, Marked: d.marked(), Locations: d.locations,
		Begin: seconds(span.BeginNS), End: seconds(span.EndNS), Seconds: seconds(span.EndNS - span.BeginNS),
		MPI: seconds(mpiNS), Waiting: seconds(p.waitNS), Uncertain: seconds(uncertainNS), Unexplained: seconds(unexplainedNS),
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
	residualNS := mpiNS - p.waitNS
	for _, n := range d.NotExplained {
		calls, ns := n.Calls, n.NS
		if main {
			calls, ns = n.MainCalls, n.MainNS
		}
		if residualNS -= ns; calls > 0 {
			t.NotExplained = append(t.NotExplained, rundir.WaitsNotExplained{What: n.What, Calls: calls, Seconds: seconds(ns)})
		}
	}
	t.Residual = seconds(residualNS)
	p.kinds(t, rows)
	p.causes(t)
	p.ranks(t, rows)
	p.links(t)
	p.path(t)
	p.clusters(t)
	for _, e := range d.Eager {
		x := rundir.WaitsEager{SameNode: e.SameNode}
		if e.Bytes >= 0 {
			x.Bytes = &e.Bytes
		}
		t.Eager = append(t.Eager, x)
	}
	return t
}

// A waitSum is what waits come to.
type waitSum struct{ count, ns, longestNS, residualNS int64 }

func (s *waitSum) add(r *waitRow, main bool) {
	x := waitSum{r.Row.Count, r.Row.WaitNS, r.Row.LongestNS, r.Row.ResidualNS}
	if main {
		x = waitSum{r.MainCount, r.Row.MainWaitNS, r.MainLongestNS, r.MainResidualNS}
	}
	s.count += x.count
	s.ns += x.ns
	s.longestNS = max(s.longestNS, x.longestNS)
	s.residualNS += x.residualNS
}

// kinds sums the waits by kind, and by call path.
func (p *part) kinds(t *rundir.WaitsTable, rows []waitRow) {
	place := make(map[string]string)
	for i, name := range p.names {
		place[name] = p.places[i]
	}
	byKind, byPath := make(map[string]*waitSum), make(map[[2]string]*waitSum)
	for i := range rows {
		r := &rows[i]
		if p.main && r.MainCount == 0 {
			continue
		}
		path := [2]string{place[r.Row.CallPath], r.Row.Wait}
		if byKind[r.Row.Wait] == nil {
			byKind[r.Row.Wait] = new(waitSum)
		}
		if byPath[path] == nil {
			byPath[path] = new(waitSum)
		}
		byKind[r.Row.Wait].add(r, p.main)
		byPath[path].add(r, p.main)
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

// A doing is what a thread does, by kind of computation and place of the call.
type doing struct {
	thread int32
	what   waits.What
	kind   int32 // the cluster that stands for it; 0: of no cluster
	place  string
}

func (d *describer) doing(thread, key int32) doing {
	k := d.Keys[key]
	x := doing{thread: thread, what: k.What, kind: d.kind(k)}
	if k.What == waits.Computing || k.What == waits.MPI {
		x.place = d.name(d.places, k.Path)
	}
	return x
}

// kind is the cluster that stands for the kind of computation of a key; 0: it is of no cluster.
func (d *describer) kind(k waits.Key) int32 {
	if k.What != waits.Computing || k.Cluster < 1 {
		return 0
	}
	return d.run.Clusters[k.Cluster-1].Kind()
}

func (a doing) compare(b doing) int {
	return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.what, b.what), cmp.Compare(a.kind, b.kind), cmp.Compare(a.place, b.place))
}

// whatOf are the words of files for what threads do.
var whatOf = map[waits.What]string{
	waits.Computing: rundir.CauseComputing, waits.MPI: rundir.CauseMPI, waits.Outside: rundir.CauseOutside, waits.NotKept: rundir.CauseOutside,
}

func (a doing) cluster() *int32 {
	if a.kind == 0 {
		return nil
	}
	return &a.kind
}

// A deed is what a doing comes to.
type deed struct {
	waits.Charge
	clusters map[int32]bool // of its kind, that have a part in it
}

// deeds are what doings come to.
type deeds map[doing]*deed

func (s deeds) of(x doing, k waits.Key) *deed {
	sum := s[x]
	if sum == nil {
		sum = &deed{clusters: make(map[int32]bool)}
		s[x] = sum
	}
	if x.kind > 0 {
		sum.clusters[k.Cluster] = true
	}
	return sum
}

// order has those with most time first.
func (s deeds) order() []doing {
	order := make([]doing, 0, len(s))
	for x := range s {
		order = append(order, x)
	}
	slices.SortFunc(order, func(a, b doing) int { return cmp.Or(cmp.Compare(s[b].NS, s[a].NS), a.compare(b)) })
	return order
}

func (p *part) causes(t *rundir.WaitsTable) {
	sums := make(deeds)
	for i := range p.Causes {
		c := &p.Causes[i]
		x := p.charge(c)
		if x.NS == 0 {
			continue
		}
		s := sums.of(p.doing(c.Thread, c.Key), p.Keys[c.Key])
		s.NS += x.NS
		s.DirectNS += x.DirectNS
		s.MoreNS += x.MoreNS
	}
	for _, x := range p.Direct {
		s := sums[p.doing(x.Thread, x.Key)]
		switch {
		case s == nil: // less than 1 ns, or none in main
		case p.main:
			s.Waits += x.MainWaits
		default:
			s.Waits += x.Waits
		}
	}
	order := sums.order()
	t.CausesTotal = len(order)
	for _, x := range order[:listed(len(order), func(i int) float64 { return p.of(sums[order[i]].NS) })] {
		s := sums[x]
		c := rundir.WaitsCause{
			ThreadName: p.threads[x.thread], What: whatOf[x.what], Cluster: x.cluster(), Variants: rundir.VariantsOf(x.kind, s.clusters), CallPath: x.place,
			Seconds: seconds(s.NS), Direct: seconds(s.DirectNS), Share: rundir.WaitsShare(p.of(s.NS)), Waits: s.Waits, More: rundir.Number(math.NaN()),
		}
		if s.Waits > 0 {
			c.More = seconds(s.MoreNS / s.Waits)
		}
		t.Causes = append(t.Causes, c)
	}
}

func (p *part) ranks(t *rundir.WaitsTable, rows []waitRow) {
	type sum struct{ waitNS, causedNS, directNS, pathNS int64 }
	sums, at := make([]sum, len(p.threads)), make(map[rundir.ThreadName]int)
	for i, name := range p.threads {
		at[name] = i
	}
	for i := range rows {
		r := &rows[i].Row
		s := &sums[at[rundir.ThreadName{World: int(r.World), Rank: int(r.Rank), Thread: int(r.Thread)}]]
		if p.main {
			s.waitNS += r.MainWaitNS
		} else {
			s.waitNS += r.WaitNS
		}
	}
	for i := range p.Causes {
		c := &p.Causes[i]
		x := p.charge(c)
		sums[c.Thread].causedNS += x.NS
		sums[c.Thread].directNS += x.DirectNS
	}
	for i := range p.Shares {
		sums[p.Shares[i].Thread].pathNS += p.share(&p.Shares[i])
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
		t.ByRank = append(t.ByRank, rundir.WaitsRank{ThreadName: p.threads[i], Waiting: seconds(s.waitNS), Caused: seconds(s.causedNS), Direct: seconds(s.directNS), Path: seconds(s.pathNS)})
	}
}

func (p *part) links(t *rundir.WaitsTable) {
	list := slices.DeleteFunc(slices.Clone(p.Links), func(l waits.Link) bool { return p.link(&l).NS == 0 })
	slices.SortStableFunc(list, func(a, b waits.Link) int { return cmp.Compare(p.link(&b).NS, p.link(&a).NS) })
	t.LinksTotal = len(list)
	for _, l := range list[:listed(len(list), func(i int) float64 { return p.of(p.link(&list[i]).NS) })] {
		x := p.link(&l)
		t.Links = append(t.Links, rundir.WaitsLink{
			Waiting: p.threads[l.Thread], For: p.threads[l.For], Count: x.Waits, Seconds: seconds(x.NS), Computing: seconds(x.ComputingNS), MPI: seconds(x.MPINS),
			Outside: seconds(x.OutsideNS), HandedOn: seconds(x.HandedOnNS),
		})
	}
}

func (p *part) path(t *rundir.WaitsTable) {
	parts, ranks := make(deeds), make(map[int32]int64)
	for i := range p.Shares {
		s := &p.Shares[i]
		if ns := p.share(s); ns > 0 {
			parts.of(p.doing(0, s.Key), p.Keys[s.Key]).NS += ns
			ranks[s.Thread] += ns
		}
	}
	share := func(ns int64) rundir.Number { return rundir.WaitsShare(p.ofPath(ns)) }
	path := &t.Path
	path.Seconds, path.Changes = seconds(p.pathNS), p.changes()
	order := parts.order()
	rest := p.pathNS
	for _, x := range order[:listed(len(order), func(i int) float64 { return p.ofPath(parts[order[i]].NS) })] {
		ns := parts[x].NS
		rest -= ns
		path.Parts = append(path.Parts, rundir.WaitsPathPart{
			What: whatOf[x.what], Cluster: x.cluster(), Variants: rundir.VariantsOf(x.kind, parts[x].clusters), CallPath: x.place, Seconds: seconds(ns), Share: share(ns),
		})
	}
	path.PartsTotal, path.Rest = len(order), seconds(rest)
	var threads []int32
	for thread := range ranks {
		threads = append(threads, thread)
	}
	slices.SortFunc(threads, func(a, b int32) int { return cmp.Or(cmp.Compare(ranks[b], ranks[a]), cmp.Compare(a, b)) })
	for _, thread := range threads[:min(len(threads), mostListed)] {
		path.Ranks = append(path.Ranks, rundir.WaitsPathRank{ThreadName: p.threads[thread], Seconds: seconds(ranks[thread]), Share: share(ranks[thread])})
	}
}

// changes is how often the path goes from one thread to another.
func (p *part) changes() int {
	parts, span := 0, p.span()
	for _, x := range p.Path {
		if span.Within(x.BeginNS, x.EndNS) > 0 {
			parts++
		}
	}
	return max(0, parts-1)
}

// clusters has what each cluster costs, and what else costs something.
func (p *part) clusters(t *rundir.WaitsTable) {
	type sum struct{ causedNS, pathNS int64 }
	of := make(map[waits.Key]*sum) // by what and cluster; 0: none
	at := func(key int32) *sum {
		k := waits.Key{What: p.Keys[key].What, Cluster: max(p.Keys[key].Cluster, 0)}
		if k.What == waits.NotKept {
			k.What = waits.Outside
		}
		if of[k] == nil {
			of[k] = new(sum)
		}
		return of[k]
	}
	for i := range p.Causes {
		at(p.Causes[i].Key).causedNS += p.charge(&p.Causes[i]).NS
	}
	for i := range p.Shares {
		at(p.Shares[i].Key).pathNS += p.share(&p.Shares[i])
	}
	found := func(what waits.What, cluster int32) sum {
		if s := of[waits.Key{What: what, Cluster: cluster}]; s != nil {
			return *s
		}
		return sum{}
	}
	for i := range p.run.Clusters {
		c := &p.run.Clusters[i]
		s, ns := found(waits.Computing, c.ID), c.TimeNS
		if p.main {
			ns = p.counted.clusterNS[c.ID]
		}
		t.Clusters = append(t.Clusters, rundir.WaitsCluster{
			Cluster: c.ID, Kind: c.Kind(), Locations: p.counted.having[c.Kind()], Caused: seconds(s.causedNS), Path: seconds(s.pathNS), PathShare: rundir.WaitsShare(p.ofPath(s.pathNS)),
			Imbalance: seconds(s.pathNS - ns/int64(max(p.locations, 1))),
		})
	}
	slices.SortStableFunc(t.Clusters, func(a, b rundir.WaitsCluster) int { return cmp.Compare(b.Caused, a.Caused) })
	for _, what := range []waits.What{waits.Computing, waits.MPI, waits.Outside} {
		s := found(what, 0)
		t.Others = append(t.Others, rundir.WaitsOther{What: whatOf[what], Caused: seconds(s.causedNS), Path: seconds(s.pathNS), PathShare: rundir.WaitsShare(p.ofPath(s.pathNS))})
	}
}
