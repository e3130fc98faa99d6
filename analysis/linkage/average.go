package linkage

import (
	"cmp"
	"slices"
)

// Average merges the two groups with the largest weight between them, divided by the pairs that there could be; pairs
// without an edge have weight 0. Averages within 10⁻¹² of each other count as equal, and of equal ones the choice
// depends on the vertices' numbers alone. Edges that come more than once are added up.
//
// A chain goes from a group to its nearest, and on to that one's nearest, until two are each other's: these merge. For
// averages no other group can be nearer afterwards than one of the two was, so all of the chain before them holds, and
// the merges are those that the largest weights give one after the other.
func Average(vertices int, edges []Edge) (*Tree, error) {
	if err := check(vertices, edges); err != nil {
		return nil, err
	}
	c := newChains(vertices, edges)
	for v := range int32(vertices) {
		c.from(v)
	}
	return c.tree(), nil
}

// A side is an edge as one of its ends has it.
type side struct {
	to     int32 // a vertex of the group at the other end
	weight float64
}

// A chain's merge: of the groups of two vertices.
type union struct {
	a, b   int32
	weight float64 // average
}

// chains are groups on the way to a tree.
type chains struct {
	group  groups
	size   []float64 // by root
	rows   [][]side  // by root: its edges, several of them to one group perhaps
	chain  []int32   // roots, each the nearest of the one before
	nearer []float64 // by place in the chain: the average weight by which it is
	unions []union
	at     []int32 // scratch, by root: its place in the row that is read, where that says so
}

func newChains(vertices int, edges []Edge) *chains {
	c := &chains{group: newGroups(vertices), size: make([]float64, vertices), rows: make([][]side, vertices), at: make([]int32, vertices)}
	for i := range c.size {
		c.size[i] = 1
	}
	sorted := slices.Clone(edges) // sums are rounded alike whatever the order
	slices.SortFunc(sorted, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B), cmp.Compare(a.Weight, b.Weight))
	})
	degree := make([]int32, vertices)
	for _, e := range sorted {
		degree[e.A]++
		degree[e.B]++
	}
	room := make([]side, 2*len(sorted))
	for v, n := range degree {
		c.rows[v], room = room[:0:n], room[n:]
	}
	for _, e := range sorted {
		c.rows[e.A] = append(c.rows[e.A], side{e.B, e.Weight})
		c.rows[e.B] = append(c.rows[e.B], side{e.A, e.Weight})
	}
	return c
}

// same is by how much two averages must differ to be different: they are sums in whatever order.
const same = 1e-12

// from merges what a chain from the vertex leads to, until it leads nowhere.
func (c *chains) from(vertex int32) {
	root := c.group.root(vertex)
	c.chain, c.nearer = append(c.chain[:0], root), append(c.nearer[:0], 0)
	for len(c.chain) > 0 {
		top := len(c.chain) - 1
		nearest, weight := c.nearest(c.chain[top])
		switch {
		case top > 0 && weight <= c.nearer[top]*(1+same): // the one before is as near
			c.unite(c.chain[top-1], c.chain[top], c.nearer[top])
			c.chain, c.nearer = c.chain[:top-1], c.nearer[:top-1]
			if top == 1 {
				c.chain, c.nearer = append(c.chain, c.group.root(vertex)), append(c.nearer, 0)
			}
		case nearest < 0:
			return
		default:
			c.chain, c.nearer = append(c.chain, nearest), append(c.nearer, weight)
		}
	}
}

// nearest gives the group with the largest average weight to this one, of about equal ones the first of the row; -1:
// there is none. The row has each group once then.
func (c *chains) nearest(root int32) (nearest int32, weight float64) {
	row := c.rows[root]
	kept := row[:0]
	for _, s := range row {
		to := c.group.root(s.to)
		if to == root {
			continue
		}
		if at := c.at[to]; int(at) < len(kept) && kept[at].to == to {
			kept[at].weight += s.weight
			continue
		}
		c.at[to] = int32(len(kept))
		kept = append(kept, side{to, s.weight})
	}
	c.rows[root] = kept
	nearest = -1
	for _, s := range kept {
		average := s.weight / (c.size[root] * c.size[s.to])
		if average > weight*(1+same) {
			nearest, weight = s.to, average
		}
	}
	return nearest, weight
}

func (c *chains) unite(a, b int32, weight float64) {
	c.unions = append(c.unions, union{a, b, weight})
	size, long, short := c.size[a]+c.size[b], c.rows[a], c.rows[b]
	if len(long) < len(short) {
		long, short = short, long
	}
	c.rows[a], c.rows[b] = nil, nil
	root := c.group.join(a, b)
	c.rows[root], c.size[root] = append(long, short...), size
}

// tree puts the merges in order of height. None is lower than those that made its groups, however sums are rounded.
func (c *chains) tree() *Tree {
	highest := make([]float64, len(c.size)) // by root
	heights := make([]float64, len(c.unions))
	group := newGroups(len(c.size))
	order := make([]int, len(c.unions))
	for i, u := range c.unions {
		a, b := group.root(u.a), group.root(u.b)
		heights[i] = max(1/u.weight, highest[a], highest[b])
		highest[group.join(a, b)] = heights[i]
		order[i] = i
	}
	// A merge was found after those that it needs, which are not higher: these remain before it.
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(heights[i], heights[k]) })
	g := newGrowth(len(c.size))
	for _, i := range order {
		g.merge(c.unions[i].a, c.unions[i].b, heights[i])
	}
	return &g.tree
}
