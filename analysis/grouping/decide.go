package grouping

import (
	"errors"
	"slices"

	"moriens/analysis/kinds"
	"moriens/analysis/refine"
	"moriens/analysis/workers"
)

// A place is where a cluster is: index of the group and place among its clusters.
type place struct{ group, cluster int32 }

// Proposed is what density proposes, and the bursts that it is about: those here of a team, in the order of Bursts.
type Proposed struct {
	*Options
	Bursts   *kinds.Bursts
	Groups   []*Clustered // by their number in Bursts
	Proposal *kinds.Proposal
	Basins   []*Clustered // by Proposal.Basins, with the densities that they were clustered with
	Leaves   []kinds.Leaf
	Nodes    []refine.Node // per leaf; Group is the basin
	LeafOf   []int32       // per burst, or kinds.None
	Scale    []float64     // by dimension: the factor of its coordinates; nil = they are not scaled
	// DurationNS is how long a burst lasts, as far as its kinds.Step resolves it at least; TimeNS are what bursts count
	// for in sums, which are exact. It is asked for once, when order has decided: until then there is less room.
	DurationNS func(i int) int64
	TimeNS     func() []int64

	timeNS []int64
}

// A Decided is what order has decided of the bursts here.
type Decided struct {
	of   *decided
	ways []uint32 // by cluster, and in the end that of noise
}

// Label writes the clusters of bursts into a result, as numbers in their groups, their kinds, as clusters of the
// decision, and their lineages. rows are the bursts to label, nil is all. Call it once.
func (d *Decided) Label(r *Result, rows []int32) {
	x, noise := d.of, d.ways[len(d.ways)-1]
	own := x.Kind
	x.Kind = nil
	if r.Kinds = own; rows != nil {
		r.Kinds = slices.Clone(r.Labels)
	}
	r.Lineage = make([]uint32, len(r.Labels))
	workers.Chunks(len(own), x.workers(), func(_, from, to int) {
		for i := from; i < to; i++ {
			row, cluster, kind := i, x.Cluster[i], own[i]
			if rows != nil {
				row = int(rows[i])
			}
			r.Labels[row], r.Kinds[row], r.Lineage[row] = LabelNoise, LabelNoise, noise
			if cluster != kinds.None {
				r.Labels[row], r.Lineage[row] = x.at[cluster].cluster, d.ways[cluster]
			}
			if kind != kinds.None {
				r.Kinds[row] = x.root[kind]
			}
		}
	})
}

// Adopt gives the bursts of a result and its clusters the numbers of their kinds, and says how these were found: ids
// are the numbers of the clusters, by group.
func (d *Decided) Adopt(r *Result, ids [][]int32) {
	workers.Chunks(len(r.Kinds), d.of.workers(), func(_, from, to int) {
		for i, cluster := range r.Kinds[from:to] {
			if cluster >= 0 {
				at := d.of.at[cluster]
				r.Kinds[from+i] = ids[at.group][at.cluster]
			}
		}
	})
	for i := range r.Clusters {
		k := &r.Clusters[i]
		k.Kind = ids[k.Group][k.Kind]
	}
	d.of.summarize(r, ids)
}

func (p *Proposed) workers() int { return max(1, p.Workers) }

// Decide has order decide which leaves are kinds, and gives the groups their clusters, which have no figures yet but
// those of kinship. It is collective.
func (p *Proposed) Decide(r *Result) (*Decided, error) {
	d, err := p.Proposal.Decide(p.Leaves, p.LeafOf)
	if errors.Is(err, kinds.ErrHalted) {
		d, err = kinds.Undecided(len(p.Leaves), p.LeafOf), nil
		r.Stopped, r.Unscored = true, true
	}
	if err != nil {
		return nil, err
	}
	r.Speed = p.Proposal.Speed
	x := &decided{Proposed: p, Decision: d, basins: p.Proposal.Basins}
	p.Proposal, p.LeafOf = nil, nil // memory
	sweep(len(x.Kind))
	p.timeNS = p.TimeNS()
	if err := x.count(); err != nil {
		return nil, err
	}
	x.dissolve()
	x.number()
	m, err := x.score(r)
	if err != nil {
		return nil, err
	}
	x.describe(&m)
	for cluster, root := range x.root {
		if x.bursts[cluster] > 0 {
			x.cluster(int32(cluster)).Kind = x.at[root].cluster // until clusters have their numbers
		}
	}
	p.timeNS = nil // memory
	r.Tree = x.tree(r.Score)
	return &Decided{of: x, ways: x.ways(r.Tree)}, nil
}
