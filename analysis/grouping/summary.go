package grouping

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"moriens/analysis/kinds"
)

// A Basin is bursts of a group round one peak of density, of which clusters were made.
type Basin struct {
	Group    int     // index into Result.Groups
	Stratum  int     // of its group, from 1: bursts that their surroundings set apart
	Bursts   int     // of which some may be noise
	Eps      float64 // at which it was separated from the others of its stratum; 0 if it is the only one
	Valley   float64 // the density between it and the next over that of its peak, 0–1; 0 where they do not meet, NaN for the only one
	Clusters []int32 // IDs, ascending
	// From and To are where it lies in each dimension: the quantity itself, of a duration nanoseconds after division by
	// how much longer its thread takes for everything.
	From, To []float64
}

// A Join made one kind of two clusters.
type Join struct {
	Round    int   // from 1
	From, To int32 // IDs; To stood for both from then on. From is 0 where so few bursts are noise to density by now
	Bursts   int   // of From
	Foretold float64
	Why      string
}

// summarize reports the outcome of basins and leaves, by the clusters' numbers.
func (x *decided) summarize(r *Result, ids [][]int32) {
	id := func(cluster int32) int32 {
		if x.bursts[cluster] == 0 {
			cluster = x.root[cluster]
		}
		if x.bursts[cluster] == 0 {
			return 0
		}
		at := x.at[cluster]
		return ids[at.group][at.cluster]
	}
	for cluster, n := range x.bursts {
		if n > 0 {
			c := int32(cluster)
			k := &r.Clusters[id(c)-1]
			why := x.reason(c)
			k.By, k.Other = why.By, x.otherOf(c, &why, id)
			k.Why = why.Text(number(id(x.root[c])), number(k.Other))
		}
	}
	for i := range x.Joins {
		r.Joins = append(r.Joins, x.joins(&x.Joins[i], id)...)
	}
	r.Basins = x.describeBasins(id)
}

// otherOf is the number of the cluster that a reason of one speaks of, that of its kind where the two are apart; 0 = it
// speaks of none.
func (x *decided) otherOf(cluster int32, why *kinds.Reason, id func(int32) int32) int32 {
	switch {
	case why.Other == kinds.None:
		return 0
	case why.By == kinds.ByChance:
		return id(x.half(why.Other, x.KindOf[cluster]))
	}
	return id(x.root[why.Other])
}

// half is the part of a leaf that is of a kind; the leaf itself where none is.
func (x *decided) half(leaf, kind int32) int32 {
	for cluster, of := range x.HalfOf {
		if of == leaf && x.KindOf[cluster] == kind {
			return int32(cluster)
		}
	}
	return leaf
}

// reason is why a cluster is a kind, or a variant. The cluster with most bursts of a kind stands for it, whichever leaf
// the evaluation let stand.
func (x *decided) reason(cluster int32) kinds.Reason {
	leaf := x.HalfOf[cluster]
	stood := x.Of[leaf]
	root := x.root[cluster]
	switch {
	case x.Elsewhere != nil && x.Elsewhere[cluster]:
		return kinds.Reason{By: kinds.ByPlace, Other: root}
	case cluster == root:
		if other := x.otherHalf(cluster); other != kinds.None {
			return kinds.Reason{By: kinds.ByTurns, Other: other}
		}
		why := x.Why[stood]
		if why.Other != kinds.None && x.root[why.Other] == root { // that is no kind of its own by now
			why = kinds.Reason{By: kinds.ByNothing, Other: kinds.None}
		}
		if why.By == kinds.ByNothing && x.hasOthers(cluster) {
			why.By = kinds.BySurroundings
		}
		return why
	case leaf == stood: // it stood for the larger one
		why := x.Why[x.HalfOf[root]]
		why.Other, why.Pool = root, false
		return why
	}
	return x.Why[leaf]
}

// otherHalf is the cluster that takes turns with one that stands for its kind.
func (x *decided) otherHalf(cluster int32) int32 {
	for other, of := range x.HalfOf {
		if of == x.HalfOf[cluster] && x.KindOf[other] != x.KindOf[cluster] && x.bursts[other] > 0 {
			return int32(other)
		}
	}
	return kinds.None
}

// hasOthers reports whether the group of a cluster has one of another kind.
func (x *decided) hasOthers(cluster int32) bool {
	group := x.at[cluster].group
	return slices.ContainsFunc(x.Groups[group].Clusters, func(k Cluster) bool { return x.root[k.Node-1] != x.root[cluster] })
}

// joins is what a join of leaves comes to: a leaf that was cut into turns has clusters of several kinds.
func (x *decided) joins(j *kinds.Join, id func(int32) int32) (list []Join) {
	for cluster, leaf := range x.HalfOf {
		if leaf != j.From {
			continue
		}
		from, to := int32(cluster), x.half(j.To, x.KindOf[cluster])
		join := Join{Round: j.Round + 1, To: id(to), Bursts: int(x.leafBursts[cluster]), Foretold: j.Foretold}
		if x.bursts[from] > 0 {
			join.From = id(from)
		}
		if join.Bursts > 0 && join.From != join.To {
			join.Why = j.Text(number(id(x.root[from])), number(join.To))
			list = append(list, join)
		}
	}
	return list
}

// describeBasins gives the basins the clusters that are of them.
func (x *decided) describeBasins(id func(int32) int32) []Basin {
	list := make([]Basin, len(x.basins))
	strata := make(map[int32]int) // by group
	for i := range x.basins {
		b := &x.basins[i]
		if i == 0 || b.Stratum != x.basins[i-1].Stratum {
			strata[b.Group]++
		}
		d := &list[i]
		*d = Basin{Group: int(b.Group), Stratum: strata[b.Group], Bursts: int(b.Bursts), Eps: b.Eps, Valley: b.Valley}
		if b.Alone {
			d.Valley = math.NaN()
		}
		for dim := range b.From {
			d.From = append(d.From, x.quantity(dim, b.From[dim]))
			d.To = append(d.To, x.quantity(dim, b.To[dim]))
		}
	}
	for cluster, n := range x.bursts {
		if n > 0 {
			d := &list[x.Nodes[x.HalfOf[cluster]].Group]
			d.Clusters = append(d.Clusters, id(int32(cluster)))
		}
	}
	for i := range list {
		slices.Sort(list[i].Clusters)
	}
	slices.SortStableFunc(list, func(a, b Basin) int { return cmp.Compare(a.Group, b.Group) })
	return list
}

// quantity is what a cell's border stands for.
func (x *decided) quantity(dim int, cell int32) float64 {
	v := float64(cell) * x.Bursts.Side
	if x.Scale != nil {
		v /= x.Scale[dim]
	}
	return x.Dims[dim].Scale.Quantity(v)
}

func number(id int32) string { return strconv.Itoa(int(id)) }
