package linkage

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// A Partition is the groups of a cut through a tree.
type Partition struct {
	Groups     [][]int32 // vertices, ascending; by their lowest
	Of         []int32   // by vertex: its group
	Modularity float64   // by the weights
	// Topology is the modularity of the same groups if all edges weighed the same: what they owe to who has edges to whom
	// at all.
	Topology float64
}

// Best cuts where modularity is largest, of equal cuts the one with the most groups. Merges of one height are not
// parted. Vertices without edges are groups of their own. The edges must be those of the tree.
func (t *Tree) Best(edges []Edge) Partition {
	between := t.between(edges)
	best, at := between.modularity(0).weights, 0
	for i := range t.Merges {
		if i+1 < len(t.Merges) && t.Merges[i+1].Height == t.Merges[i].Height {
			continue
		}
		if q := between.modularity(i + 1).weights; q > best+same {
			best, at = q, i+1
		}
	}
	return t.partition(between, at)
}

// Groups cuts into so many groups, or as many as there are components if these are more. Merges of one height may be
// parted.
func (t *Tree) Groups(groups int, edges []Edge) Partition {
	return t.partition(t.between(edges), min(max(t.Vertices-groups, 0), len(t.Merges)))
}

// Height cuts at a height: what merges at it or below is one group.
func (t *Tree) Height(height float64, edges []Edge) Partition {
	merges, _ := slices.BinarySearchFunc(t.Merges, height, func(m Merge, h float64) int {
		if m.Height <= h {
			return -1
		}
		return 1
	})
	return t.partition(t.between(edges), merges)
}

func (t *Tree) partition(b *between, merges int) Partition {
	q := b.modularity(merges)
	p := Partition{Of: make([]int32, t.Vertices), Modularity: settled(q.weights), Topology: settled(q.edges)}
	group := newGroups(t.Vertices)
	lowest := t.lowest()
	for _, m := range t.Merges[:merges] {
		group.join(group.root(lowest[m.Left]), group.root(lowest[m.Right]))
	}
	for v := range int32(t.Vertices) {
		root := group.root(v) // its lowest vertex, so that it has its group by now
		if root == v {
			p.Of[v] = int32(len(p.Groups))
			p.Groups = append(p.Groups, nil)
		}
		g := p.Of[root]
		p.Of[v] = g
		p.Groups[g] = append(p.Groups[g], v)
	}
	return p
}

// A measure is of edges by their weights, and of how many they are.
type measure struct{ weights, edges float64 }

// between is what a tree's merges make of the edges: the modularity after each.
type between struct{ after []measure }

func (b *between) modularity(merges int) measure { return b.after[merges] }

// between goes through the tree from below. Modularity is Σ over groups of (weight within ÷ all weight − (Σ degrees ÷
// 2 · all weight)²): a merge adds the weight between its two groups ÷ all, and takes off twice the product of theirs.
func (t *Tree) between(edges []Edge) *between {
	var all measure
	degree := make([]measure, t.Vertices, t.Vertices+len(t.Merges))
	for _, e := range edges {
		all.weights += e.Weight
		all.edges++
		for _, v := range [2]int32{e.A, e.B} {
			degree[v].weights += e.Weight
			degree[v].edges++
		}
	}
	q := measure{}
	if all.edges == 0 {
		return &between{[]measure{q}}
	}
	for v := range degree {
		q.weights -= square(degree[v].weights / (2 * all.weights))
		q.edges -= square(degree[v].edges / (2 * all.edges))
	}
	joined := make([]measure, len(t.Merges))
	t.joins(edges, func(merge int, e Edge) {
		joined[merge].weights += e.Weight
		joined[merge].edges++
	})
	b := &between{after: append(make([]measure, 0, len(t.Merges)+1), q)}
	for i, m := range t.Merges {
		l, r := degree[m.Left], degree[m.Right]
		q.weights += joined[i].weights/all.weights - l.weights*r.weights/(2*square(all.weights))
		q.edges += joined[i].edges/all.edges - l.edges*r.edges/(2*square(all.edges))
		degree = append(degree, measure{l.weights + r.weights, l.edges + r.edges})
		b.after = append(b.after, q)
	}
	return b
}

// settled is 0 where rounding of sums of parts of 1 has left next to nothing of it.
func settled(modularity float64) float64 {
	if math.Abs(modularity) < 1e-12 {
		return 0
	}
	return modularity
}

func square(x float64) float64 { return x * x }

// joins calls visit once for each edge, with the merge at which its vertices come into one group, in the order of the
// edges.
func (t *Tree) joins(edges []Edge, visit func(merge int, e Edge)) {
	f := t.forest()
	for _, e := range edges {
		visit(f.meet(e.A, e.B), e)
	}
}

// A forest knows where two groups meet. Long paths, as in a chain of merges, are left by jumps: every group has a jump
// to one further up, so that a way up takes steps as the logarithm of its length (Myers 1983).
type forest struct {
	vertices     int
	parent, jump []int32
	depth        []int32
}

func (t *Tree) forest() *forest {
	n := t.Vertices + len(t.Merges)
	f := &forest{vertices: t.Vertices, parent: make([]int32, n), jump: make([]int32, n), depth: make([]int32, n)}
	for i := range f.parent {
		f.parent[i] = -1
	}
	for i, m := range t.Merges {
		f.parent[m.Left], f.parent[m.Right] = int32(t.Vertices+i), int32(t.Vertices+i)
	}
	for i := n - 1; i >= 0; i-- { // parents have higher numbers
		p := f.parent[i]
		if p < 0 {
			f.jump[i] = int32(i)
			continue
		}
		f.depth[i] = f.depth[p] + 1
		if far := f.jump[p]; f.depth[p]-f.depth[far] == f.depth[far]-f.depth[f.jump[far]] {
			f.jump[i] = f.jump[far]
		} else {
			f.jump[i] = p
		}
	}
	return f
}

// meet gives the merge at which two vertices of one component meet.
func (f *forest) meet(a, b int32) int {
	if f.depth[a] < f.depth[b] {
		a, b = b, a
	}
	for f.depth[a] > f.depth[b] {
		if f.depth[f.jump[a]] >= f.depth[b] {
			a = f.jump[a]
		} else {
			a = f.parent[a]
		}
	}
	for a != b {
		if f.jump[a] != f.jump[b] {
			a, b = f.jump[a], f.jump[b]
		} else {
			a, b = f.parent[a], f.parent[b]
		}
	}
	return int(a) - f.vertices
}

// Cophenetic is the correlation between the distances of the pairs that have an edge and the heights at which these
// merge, -1 to 1: how faithful the tree is. NaN: one of the two is the same for all.
func (t *Tree) Cophenetic(edges []Edge) float64 {
	if len(edges) == 0 {
		return math.NaN()
	}
	distance, height := make([]float64, 0, len(edges)), make([]float64, 0, len(edges))
	t.joins(edges, func(merge int, e Edge) {
		distance, height = append(distance, 1/e.Weight), append(height, t.Merges[merge].Height)
	})
	return stat.Correlation(distance, height, nil)
}
