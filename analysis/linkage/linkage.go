// Package linkage clusters the vertices of a sparse graph hierarchically: ranks, joined by how much they cost each
// other.
//
// In come the number of vertices and the edges, each pair once, with a weight above zero in any unit (seconds, bytes):
// the more, the closer. The distance of a pair is one over its weight; a pair without an edge has none. Out come the
// merges in order of height, in one over that unit, numbered as scipy's linkage does. They are as many as there are
// vertices less the components of the graph: what has no edges to the rest is never merged with it.
//
// Single merges by the heaviest edge between two groups: it is the minimum spanning tree of the distances (Gower and
// Ross 1969), by Kruskal's algorithm. Average merges by the weight between two groups divided by the pairs that there
// could be, by chains of nearest neighbours (Müllner 2011). Best, Groups and Height cut the tree into a partition and
// give its modularity (Newman 2004); Cophenetic is how faithful the tree is.
//
// The input is never changed. The same edges give the same merges in whatever order they come.
package linkage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// An Edge joins two vertices, A < B.
type Edge struct {
	A, B   int32
	Weight float64
}

// A Merge makes one group of two. Vertices have their own number; the group that merge i makes has the number of
// vertices + i. Left < Right.
type Merge struct {
	Left, Right int32
	Height      float64 // one over the weight at which they merge
	Size        int32   // vertices of the group
}

// A Tree is the merges of so many vertices, in order of height.
type Tree struct {
	Vertices int
	Merges   []Merge
}

func check(vertices int, edges []Edge) error {
	for i, e := range edges {
		if e.A < 0 || e.A >= e.B || int(e.B) >= vertices {
			return fmt.Errorf("linkage: edge %d joins %d and %d of %d vertices", i, e.A, e.B, vertices)
		}
		if !(e.Weight > 0) || math.IsInf(e.Weight, 0) || math.IsInf(1/e.Weight, 0) {
			return fmt.Errorf("linkage: edge %d has weight %g", i, e.Weight)
		}
	}
	return nil
}

// Single merges groups by the heaviest edge between them; of equal ones that of the lowest vertices comes first. Edges
// that come more than once count as their heaviest.
func Single(vertices int, edges []Edge) (*Tree, error) {
	if err := check(vertices, edges); err != nil {
		return nil, err
	}
	sorted := slices.Clone(edges)
	slices.SortFunc(sorted, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
	})
	g := newGrowth(vertices)
	for _, e := range sorted {
		g.merge(e.A, e.B, 1/e.Weight)
	}
	return &g.tree, nil
}

// A growth is groups on the way to a tree.
type growth struct {
	tree  Tree
	group groups
	name  []int32 // by root of group: its number in the tree
	size  []int32 // likewise
}

func newGrowth(vertices int) *growth {
	g := &growth{tree: Tree{Vertices: vertices}, group: newGroups(vertices), name: make([]int32, vertices), size: make([]int32, vertices)}
	for i := range g.name {
		g.name[i], g.size[i] = int32(i), 1
	}
	return g
}

// merge merges the groups of two vertices, if these are two.
func (g *growth) merge(a, b int32, height float64) {
	a, b = g.group.root(a), g.group.root(b)
	if a == b {
		return
	}
	size := g.size[a] + g.size[b]
	left, right := min(g.name[a], g.name[b]), max(g.name[a], g.name[b])
	root := g.group.join(a, b)
	g.name[root], g.size[root] = int32(g.tree.Vertices+len(g.tree.Merges)), size
	g.tree.Merges = append(g.tree.Merges, Merge{left, right, height, size})
}

// groups are sets of vertices, each known by its root.
type groups []int32 // by vertex: another of its group, itself at the root

func newGroups(vertices int) groups {
	list := make(groups, vertices)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

func (g groups) root(v int32) int32 {
	for g[v] != v {
		g[v] = g[g[v]]
		v = g[v]
	}
	return v
}

// join makes one group of two roots'; the lower is its root.
func (g groups) join(a, b int32) int32 {
	a, b = min(a, b), max(a, b)
	g[b] = a
	return a
}

// Order gives the vertices as a picture of the tree has them, so that no branches cross: of two branches, and of two
// components, that with the lowest vertex comes first.
func (t *Tree) Order() []int32 {
	lowest := t.lowest()
	order := make([]int32, 0, t.Vertices)
	var open []int32
	for _, root := range t.Roots() {
		for open = append(open, root); len(open) > 0; {
			at := open[len(open)-1]
			open = open[:len(open)-1]
			if int(at) < t.Vertices {
				order = append(order, at)
				continue
			}
			m := &t.Merges[int(at)-t.Vertices]
			first, second := m.Left, m.Right
			if lowest[second] < lowest[first] {
				first, second = second, first
			}
			open = append(open, second, first)
		}
	}
	return order
}

// Roots are the groups that are part of no other, one for each component, by their lowest vertices.
func (t *Tree) Roots() []int32 { return t.above(len(t.Merges)) }

// above are the groups that are left after so many merges, by their lowest vertices.
func (t *Tree) above(merges int) []int32 {
	inner := make([]bool, t.Vertices+merges)
	for _, m := range t.Merges[:merges] {
		inner[m.Left], inner[m.Right] = true, true
	}
	lowest := t.lowest()
	var roots []int32
	for i, is := range inner {
		if !is {
			roots = append(roots, int32(i))
		}
	}
	slices.SortFunc(roots, func(a, b int32) int { return cmp.Compare(lowest[a], lowest[b]) })
	return roots
}

// lowest has for each group its lowest vertex.
func (t *Tree) lowest() []int32 {
	list := make([]int32, t.Vertices, t.Vertices+len(t.Merges))
	for i := range list {
		list[i] = int32(i)
	}
	for _, m := range t.Merges {
		list = append(list, min(list[m.Left], list[m.Right]))
	}
	return list
}
