package kinds

import (
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// A Proposal is what density says.
type Proposal struct {
	Basins []Basin
	Cells  []Cells // by basin: where its bursts are
	Of     []int32 // per burst: index into Basins
	Least  float64 // Eps of the finest basins
	// Speed is by thread how many times as long as the others it takes for everything, and Shift what a coordinate of its
	// bursts is to be less by, ln units; nil = not compared.
	Speed, Shift []float64

	local  *local
	exec   *executor
	o      Options
	strata int
}

// Propose finds the basins of density. It is collective.
func Propose(b Bursts, o Options) (p *Proposal, err error) {
	if err := team.Explain(b.Team, b.check()); err != nil {
		return nil, err
	}
	defer team.Leave("kinds", &err)
	if o.Least == 0 {
		o.Least = DefaultLeast(b.Timed)
	}
	p = &Proposal{local: newLocal(&b), exec: &executor{team.Panicking{Threads: b.Team}, max(1, o.Workers), o.Halt}, o: o, strata: b.Groups, Least: o.Least}
	l, c := p.local, p.exec
	if b.Ends != nil {
		l.findBegins()
		if b.Timed && !o.Unaligned {
			p.align()
		}
		if b.Dims == 1 && !o.Unstrated {
			p.strata = l.stratify(c, !o.Crowded) // threads whose cores are shared differ by these
		}
	}
	p.Basins, p.Cells, p.Of = l.basins(c, p.strata, scales(o.Least), p.tiny)
	return p, nil
}

// ByOrder reports whether order decides about what density proposes.
func (p *Proposal) ByOrder() bool { return !p.o.Unordered && p.local.Ends != nil }

// tiny is how many bursts a basin of a stratum of so many has at least that meets no other.
func (p *Proposal) tiny(bursts int64) int64 {
	if p.ByOrder() {
		bursts = 0
	}
	if p.o.MinPts == nil {
		return int64(max(leastBasin, len(p.local.Ends)/4))
	}
	return int64(p.o.MinPts(int(bursts)))
}

// align moves the bursts of threads that take longer than others in everything.
func (p *Proposal) align() {
	l := p.local
	shifts := l.speeds(p.exec)
	p.Speed, p.Shift = make([]float64, len(shifts)), make([]float64, len(shifts))
	cells := make([]int32, len(shifts))
	for t, s := range shifts {
		p.Shift[t] = float64(s) * speedCell
		p.Speed[t] = math.Exp(p.Shift[t])
		cells[t] = s * int32(math.Round(speedCell/l.Side))
	}
	if slices.ContainsFunc(cells, func(s int32) bool { return s != 0 }) {
		l.shiftBy(cells, p.exec.workers)
	}
}

// A Decision is what order says of leaves.
type Decision struct {
	Verdict
	// Cluster is per burst its cluster: its leaf, or, where a kind was cut into quick and slow turns, the half of it; None
	// = noise. KindOf is per cluster the cluster that stands for its kind.
	Cluster, KindOf []int32
	HalfOf          []int32 // per cluster: the leaf that it was cut off; itself if it was not
	// Predicted is, per cluster that stands for a kind, how far the places of bursts distinguish it from the nearest other
	// kinds of its group, 0–1: the least of these. NaN for one that has its group to itself, and for variants. nil where
	// order is not asked.
	Predicted []float64
	// Kind is per burst the cluster that stands for its kind, by place; None = noise.
	Kind []int32
	// Elsewhere says of a cluster that it was a kind of its own until its bursts turned out to be at the places of
	// another; nil where order is not asked.
	Elsewhere []bool
}

// Decide says which leaves are kinds: leafOf is per burst of the proposal its leaf, or None; it becomes the decision's.
// It is collective. The proposal is of no use any more.
func (p *Proposal) Decide(leaves []Leaf, leafOf []int32) (d *Decision, err error) {
	defer team.Leave("kinds", &err)
	l, c := p.local, p.exec
	l.codes = codes{len(leaves)}
	if !p.ByOrder() {
		return Undecided(len(leaves), leafOf), nil
	}
	l.order(c)
	d = &Decision{Cluster: leafOf, Kind: l.ownStrata()} // which are not needed any more
	for i := range leaves {
		d.HalfOf = append(d.HalfOf, int32(i))
	}
	verdict, tails := p.evaluate(leaves, leafOf)
	d.Verdict = *verdict
	workers.Chunks(l.n, c.workers, func(_, from, to int) {
		for i := from; i < to; i++ {
			leaf := leafOf[i]
			if leaf == None || d.Pool[leaf] || l.Timed && l.Cell[i] >= tails[leaf] {
				d.Kind[i] = None // until its place says what it is
			} else {
				d.Kind[i] = d.Of[leaf]
			}
		}
	})
	d.KindOf = slices.Clone(d.Of)
	if l.Timed {
		p.takeTurns(d)
	}
	l.codes = codes{len(d.KindOf)}
	d.Predicted = l.place(c, d.Kind, len(d.KindOf))
	workers.Chunks(l.n, c.workers, func(_, from, to int) {
		for i := from; i < to; i++ {
			if cluster := d.Cluster[i]; d.Kind[i] == None && cluster != None {
				d.Kind[i] = d.KindOf[cluster]
			}
		}
	})
	d.giveUp(c)
	return d, nil
}

// Undecided is the decision that each of so many leaves is a kind.
func Undecided(leaves int, leafOf []int32) *Decision {
	v := Verdict{Of: make([]int32, leaves), Pool: make([]bool, leaves), Why: make([]Reason, leaves)}
	for i := range v.Of {
		v.Of[i], v.Why[i] = int32(i), Reason{By: Unjudged, Other: None}
	}
	return &Decision{Verdict: v, Cluster: leafOf, KindOf: slices.Clone(v.Of), HalfOf: slices.Clone(v.Of), Kind: slices.Clone(leafOf)}
}

// evaluate evaluates the leaves by their surroundings. It returns the first cell of each leaf's tail too, whose bursts
// have the kind of their place.
func (p *Proposal) evaluate(leaves []Leaf, leafOf []int32) (*Verdict, []int32) {
	l, c := p.local, p.exec
	var columns []func(i int) int32
	for d := range l.Dims {
		columns = append(columns, func(i int) int32 { return l.Cell[i*l.Dims+d] })
	}
	spreads := l.spreads(c, func(i int) int32 { return leafOf[i] }, len(leaves), columns...)
	all := make(map[int32]int64)
	for i := range leaves {
		all[leaves[i].Stratum] += leaves[i].Bursts
	}
	leaves = slices.Clone(leaves)
	tails := slices.Repeat([]int32{math.MaxInt32}, len(leaves))
	if l.Timed {
		for i := range leaves {
			s := &spreads[i][0]
			tails[i] = s.tail()
			s.trim(tails[i])
			leaves[i].Bursts = s.bursts
		}
	}
	l.relabel(c, func(i int) int32 {
		if leaf := leafOf[i]; leaf != None && (!l.Timed || l.Cell[i] < tails[leaf]) {
			return l.codes.leaf(leaf)
		}
		return l.codes.noise(l.Group[i])
	})
	inStratum := make([]int, p.strata)
	for i := range leaves {
		inStratum[leaves[i].Stratum]++
	}
	wanted := make([]bool, codeMost+1)
	for i := range leaves {
		wanted[l.codes.leaf(int32(i))] = inStratum[leaves[i].Stratum] > 1 && i+1 < codeMost
	}
	j := &evaluator{leaves: leaves, side: l.Side, dims: l.Dims, codes: l.codes, groups: l.Groups, grams: l.grams(c, wanted), spreads: spreads, all: all, crowded: p.o.Crowded, steady: l.Steady, episodes: p.episodes(c, leaves)}
	return j.run(), tails
}

// takeTurns cuts kinds whose bursts take turns, and their clusters with them, and then the halves.
func (p *Proposal) takeTurns(d *Decision) {
	l := p.local
	for {
		kinds := len(d.KindOf)
		halves := l.turns(p.exec, d.Kind, kinds)
		if len(halves) == 0 {
			return
		}
		part := make(map[int32]int32) // by cluster of a kind that was cut: its slow half
		for _, kind := range halves {
			for cluster, of := range d.KindOf[:kinds] {
				if of == kind {
					part[int32(cluster)] = int32(len(d.KindOf))
					d.KindOf = append(d.KindOf, None)
					d.HalfOf = append(d.HalfOf, d.HalfOf[cluster])
				}
			}
			for cluster, of := range d.KindOf[:kinds] {
				if of == kind {
					d.KindOf[part[int32(cluster)]] = part[kind]
				}
			}
		}
		for i, k := range d.Kind {
			if int(k) < kinds {
				continue
			}
			d.Kind[i] = part[halves[int(k)-kinds]]
			if cluster := d.Cluster[i]; cluster != None && !d.Pool[d.HalfOf[cluster]] { // a tail's bursts have a part of their cluster too
				d.Cluster[i] = part[cluster]
			}
		}
	}
}
