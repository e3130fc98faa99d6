package report

import (
	"math"
	"slices"
	"testing"

	"moriens/app/pairing"
	"moriens/trace/rundir"
)

// TestPairsOf has each list of a result in its column.
func TestPairsOf(t *testing.T) {
	unknown := rundir.Number(math.NaN())
	r := &pairing.Result{
		Exact: true, By: pairing.Blocked, Linkage: pairing.Single, Totals: &rundir.PairsTotals{Messages: 7},
		Ranks: []pairing.Rank{{Rank: 0, Node: "b"}, {Rank: 1, Node: "a"}, {World: 1, Rank: 0, Node: "b"}},
		Pairs: []pairing.Pair{
			{A: 0, B: 1, Messages: 3, Bytes: 300, Blocked: 2, LateSender: unknown, LateSenderError: unknown, LateReceiver: unknown},
			{A: 1, B: 2, Messages: 4, Bytes: 400, Blocked: 1, LateSender: 0.5, Sizes: []rundir.PairsSize{{FromBytes: 64, ToBytes: 127, Messages: 4, Bytes: 400, Blocked: 1}}},
		},
		Merges: []pairing.Merge{{Left: 0, Right: 1, Height: 0.5, Size: 2}, {Left: 2, Right: 3, Height: 1, Size: 3}}, Order: []int{2, 0, 1},
		Groups:    []pairing.Group{{Ranks: []int{0, 1}, Blocked: 2}},
		Findings:  []pairing.Finding{{PairsFinding: rundir.PairsFinding{Kind: rundir.PairsHeavyPair, Text: "it is heavy"}, Advice: "look at it"}},
		Placement: &pairing.Placement{InternodeBytes: 700, Advised: 400, Saved: 0.1, Nodes: []pairing.PlacementNode{{Name: "b", Ranks: []int{0, 1}}, {Name: "c", Ranks: []int{2}}}},
	}
	p := pairsOf(r)
	for name, lists := range map[string][2][]int32{
		"nodes": {p.Ranks.Node, {0, 1, 0}}, "groups": {p.Ranks.Group, {0, 0, -1}}, "advised": {p.Ranks.Advised, {0, 0, 2}}, "worlds": {p.Ranks.World, {0, 0, 1}},
		"a": {p.Each.A, {0, 1}}, "b": {p.Each.B, {1, 2}}, "pairs of sizes": {p.BySize.Pair, {1}}, "left": {p.Merges.Left, {0, 2}}, "right": {p.Merges.Right, {1, 3}}, "order": {p.Order, {2, 0, 1}},
	} {
		if !slices.Equal(lists[0], lists[1]) {
			t.Errorf("%s: %v, not %v", name, lists[0], lists[1])
		}
	}
	if !slices.Equal(p.Nodes, []string{"b", "a", "c"}) || p.Groups[0].Blocked != 2 || p.Placement.Advised != 400 || p.Totals.Messages != 7 {
		t.Errorf("%+v", p)
	}
	if f := p.Findings; len(f) != 1 || f[0].Text != "it is heavy" || f[0].Advice != "look at it" {
		t.Errorf("findings %+v", f)
	}
	if late := p.Each.LateSender; !math.IsNaN(late[0]) || late[1] != 0.5 || !math.IsNaN(p.Each.LateReceiver[0]) {
		t.Errorf("late senders: %v", late)
	}
}
