package partition

import (
	"errors"

	"moriens/analysis/kinds"
	"moriens/analysis/refine"
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
	// DurationNS is how long a burst lasts, as far as its kinds.Step tells it at least; TimeNS is what it counts for in sums, which are exact.
	DurationNS, TimeNS func(i int) int64
}

// A Decided is what order has decided of the bursts here.
type Decided struct {
	Label   []int32 // the number of the cluster in its group, or LabelNoise
	Kind    []KindOf
	Lineage []uint32
}

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
	made := x.label()
	r.Tree = x.tree(r.Score)
	made.Lineage = x.lineage(r.Tree)
	return made, nil
}
