package partition

import (
	"errors"

	"moriens/analysis/kinds"
	"moriens/analysis/refine"
	"moriens/analysis/workers"
)

// A KindOf is the cluster that stands for a burst's kind: index of the group and place among its clusters. Group < 0 is one of the labels, less by one.
type KindOf struct{ Group, Cluster int32 }

// Proposed is what density proposes, and the bursts that it is about: those here of a team, in the order of Bursts.
type Proposed struct {
	*Options
	Bursts   *kinds.Bursts
	Groups   []*Found // by their number in Bursts
	Proposal *kinds.Proposal
	Basins   []*Found // by Proposal.Basins, with the densities that they were clustered with
	Leaves   []kinds.Leaf
	Nodes    []refine.Node // per leaf; Group is the basin
	LeafOf   []int32       // per burst, or kinds.None
	Scale    []float64     // by dimension, what coordinates were multiplied by; nil = they stayed as they were
	// DurationNS is how long a burst lasts, as far as its kinds.Step tells it at least; TimeNS is what it counts for in sums, which are exact.
	DurationNS, TimeNS func(i int) int64
}

// A Decided is what order has decided of the bursts here.
type Decided struct {
	of   *decided
	ways []uint32 // by cluster, and in the end that of noise
}

// Label is the number of a burst's cluster in its group, or LabelNoise.
func (d *Decided) Label(i int) int32 {
	if cluster := d.of.Cluster[i]; cluster != kinds.None {
		return d.of.at[cluster].Cluster
	}
	return LabelNoise
}

// Kind is a burst's kind.
func (d *Decided) Kind(i int) KindOf {
	if kind := d.of.Kind[i]; kind != kinds.None {
		return d.of.at[d.of.root[kind]]
	}
	return KindOf{Group: LabelNoise - 1}
}

// Lineage is how a burst came to its cluster: an index into the tree's.
func (d *Decided) Lineage(i int) uint32 {
	if cluster := d.of.Cluster[i]; cluster != kinds.None {
		return d.ways[cluster]
	}
	return d.ways[len(d.ways)-1]
}

// Adopt gives the bursts of a result and its clusters the numbers of their kinds, and says how these were found: of are the kinds per burst, ids the numbers of the clusters, by group.
func (d *Decided) Adopt(r *Result, of []KindOf, ids [][]int32) {
	r.Kinds = make([]int32, len(of))
	workers.Chunks(len(of), d.of.workers(), func(_, from, to int) {
		for i, k := range of[from:to] {
			if k.Group < 0 {
				r.Kinds[from+i] = k.Group + 1
			} else {
				r.Kinds[from+i] = ids[k.Group][k.Cluster]
			}
		}
	})
	for i := range r.Clusters {
		k := &r.Clusters[i]
		k.Kind = ids[k.Group][k.Kind]
	}
	d.of.account(r, ids)
}

func (p *Proposed) workers() int { return max(1, p.Workers) }

// Decide has order decide which leaves are kinds, and gives the groups their clusters, which have no figures yet but those of kinship. It is collective.
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
	if err := x.count(); err != nil {
		return nil, err
	}
	x.dissolve()
	x.number()
	if err := x.score(r); err != nil {
		return nil, err
	}
	if err := x.measure(); err != nil {
		return nil, err
	}
	for cluster, root := range x.root {
		if x.bursts[cluster] > 0 {
			x.cluster(int32(cluster)).Kind = x.at[root].Cluster // until clusters have their numbers
		}
	}
	r.Tree = x.tree(r.Score)
	return &Decided{of: x, ways: x.ways(r.Tree)}, nil
}
