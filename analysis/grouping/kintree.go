package grouping

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/refine"
)

// tree lists the clusters of density, and then the kinds that order made of them.
func (x *decided) tree(score float64) *refine.Tree {
	clusters, kindCount := 0, 0
	for cluster, n := range x.bursts {
		if n > 0 {
			clusters++
			if x.root[cluster] == int32(cluster) {
				kindCount++
			}
		}
	}
	t := &refine.Tree{Chosen: make([]int, len(x.Groups)), Lineages: []refine.Lineage{{Node: refine.Absent}}}
	if t.Why = fmt.Sprintf("density proposes %d clusters, order leaves %d kinds", clusters, kindCount); x.Predicted == nil {
		t.Why = fmt.Sprintf("density proposes %d clusters, each a kind; order was not used", clusters)
	}
	own := make([]int32, len(x.KindOf))
	for cluster := range own {
		own[cluster] = int32(cluster) + 1
	}
	t.Levels = []refine.Level{x.level(own, nil)}
	if kindCount < clusters {
		t.Levels = append(t.Levels, x.level(x.kindNodes(), own))
	}
	t.Levels[len(t.Levels)-1].Score = score
	if x.scores != nil && x.scores.Defined() {
		t.Merged = refine.Alternatives(x.scores, t.Levels[len(t.Levels)-1].Nodes)
	}
	return t
}

// kindNodes is, by cluster, the node of its kind.
func (x *decided) kindNodes() []int32 {
	of := make([]int32, len(x.KindOf))
	for cluster, root := range x.root {
		of[cluster] = root + 1
	}
	return of
}

// level is the nodes that clusters are in, which were others before; nil = nothing was.
func (x *decided) level(at, before []int32) refine.Level {
	l := refine.Level{Score: math.NaN()}
	for _, g := range x.Groups {
		l.Eps = append(l.Eps, g.Eps)
	}
	byID := make(map[int32]*refine.Node)
	from := make(map[int32]map[int32]int)
	for cluster, id := range at {
		if x.bursts[cluster] == 0 {
			continue
		}
		n := byID[id]
		if n == nil {
			leaf := &x.Nodes[x.HalfOf[cluster]]
			n = &refine.Node{ID: id, Group: int(x.groupOf(int32(cluster))), Eps: leaf.Eps, MinPts: leaf.MinPts, Score: math.NaN()}
			byID[id], from[id] = n, make(map[int32]int)
		}
		n.Bursts += int(x.bursts[cluster])
		n.TimeNS += x.timeNS[cluster]
		n.Score = x.scoreOf(int32(cluster))
		if before != nil {
			from[id][before[cluster]] += int(x.bursts[cluster])
		}
	}
	if x.noise[0] > 0 {
		n := refine.Node{ID: refine.Noise, Group: -1, Bursts: int(x.noise[0]), TimeNS: x.noise[1], Score: math.NaN()}
		if before != nil {
			n.Parents = []refine.Parent{{ID: refine.Noise, Bursts: n.Bursts}}
		}
		l.Nodes = append(l.Nodes, n)
	}
	for id, n := range byID {
		for parent, bursts := range from[id] {
			n.Parents = append(n.Parents, refine.Parent{ID: parent, Bursts: bursts})
		}
		slices.SortFunc(n.Parents, func(a, b refine.Parent) int { return cmp.Compare(a.ID, b.ID) })
		l.Nodes = append(l.Nodes, *n)
	}
	slices.SortFunc(l.Nodes, func(a, b refine.Node) int { return cmp.Compare(a.ID, b.ID) })
	return l
}

// ways has the lineage of each cluster, and last that of noise.
func (x *decided) ways(t *refine.Tree) []uint32 {
	of := make([]uint32, len(x.KindOf)+1)
	add := func(cluster, level int, node int32) {
		t.Lineages = append(t.Lineages, refine.Lineage{From: of[cluster], Level: level, Node: node})
		of[cluster] = uint32(len(t.Lineages) - 1)
	}
	for cluster, root := range x.root {
		if x.bursts[cluster] > 0 {
			add(cluster, 0, int32(cluster)+1)
			if int(root) != cluster {
				add(cluster, 1, root+1)
			}
		}
	}
	of[len(x.KindOf)] = uint32(len(t.Lineages))
	t.Lineages = append(t.Lineages, refine.Lineage{Node: refine.Noise})
	return of
}
