package refine_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/refine"
)

// At every level, what the lineages say is what the tree says: the bursts of each node, and of each of its parents.
func TestLineagesAreTheTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawBursts(t)
		r := run(t, in, drawOptions(t))
		if len(r.Lineage) != len(in.DurationNS) {
			t.Fatalf("lineages of %d bursts, there are %d", len(r.Lineage), len(in.DurationNS))
		}
		for level := range r.Tree.Levels {
			nodes, parents := make(map[int32]int), make(map[string]int)
			for _, l := range r.Lineage {
				if l == 0 {
					continue
				}
				node := nodeAt(&r.Tree, l, level)
				nodes[node]++
				if level > 0 {
					parents[fmt.Sprint(nodeAt(&r.Tree, l, level-1), " in ", node)]++
				}
			}
			for _, n := range r.Tree.Levels[level].Nodes {
				if nodes[n.ID] != n.Bursts {
					t.Fatalf("level %d: node %d has %d bursts by their lineages, %d in the tree", level, n.ID, nodes[n.ID], n.Bursts)
				}
				delete(nodes, n.ID)
				for _, p := range n.Parents {
					if got := parents[fmt.Sprint(p.ID, " in ", n.ID)]; got != p.Bursts {
						t.Fatalf("level %d: node %d has %d bursts of node %d by their lineages, %d in the tree", level, n.ID, got, p.ID, p.Bursts)
					}
				}
			}
			if len(nodes) > 0 {
				t.Fatalf("level %d: no such nodes: %v", level, nodes)
			}
		}
	})
}

func nodeAt(t *refine.Tree, lineage uint32, level int) int32 {
	for t.Lineages[lineage].Level > level {
		lineage = t.Lineages[lineage].From
	}
	return t.Lineages[lineage].Node
}
