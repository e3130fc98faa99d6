package clustering

import (
	"bytes"
	"math"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/refine"
	"moriens/internal/golden"
	"moriens/trace/rundir"
)

func TestWriteDOT(t *testing.T) {
	nan := math.NaN()
	tree := Tree{Tree: &refine.Tree{
		Chosen: []int{1, 1}, Why: `step 2 of 3 is the "first"`,
		Levels: []refine.Level{
			{Eps: []float64{.01, 0}, Score: .5, Nodes: []refine.Node{
				{ID: refine.Noise, Group: -1, Bursts: 4, TimeNS: 10, Score: .2},
				{ID: 1, Bursts: 100, TimeNS: 700, Score: 1, Frozen: true},
				{ID: 2, Bursts: 30, TimeNS: 290, Score: .4},
			}},
			{Eps: []float64{.02, .04}, Score: .9, Nodes: []refine.Node{
				{ID: 1, Bursts: 100, TimeNS: 700, Score: 1, Frozen: true, Parents: []refine.Parent{{ID: 1, Bursts: 100}}},
				{ID: 2, Bursts: 31, TimeNS: 295, Score: .8, Parents: []refine.Parent{{ID: refine.Noise, Bursts: 1}, {ID: 2, Bursts: 30}}},
				{ID: 3, Bursts: 3, TimeNS: 5, Score: nan, Parents: []refine.Parent{{ID: refine.Noise, Bursts: 3}}},
			}},
			{Eps: []float64{.03, 0}, Score: nan, Nodes: []refine.Node{
				{ID: 1, Bursts: 134, Score: nan, Parents: []refine.Parent{{ID: 1, Bursts: 100}, {ID: 2, Bursts: 31}, {ID: 3, Bursts: 3}}},
			}},
		},
	}, Clusters: map[int32]int32{1: 1, 2: 2, 3: 3}}
	var b bytes.Buffer
	if err := tree.WriteDOT(&b); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "tree.dot", b.Bytes())
}

// Where clusters were found by kinds the graph has the basins, what the evaluation joined, in which round, and why what
// is apart is apart.
func TestWriteDOTOfKinds(t *testing.T) {
	nan := math.NaN()
	node := func(id int32, bursts int, parents ...int32) refine.Node {
		n := refine.Node{ID: id, Eps: .02, MinPts: 4, Bursts: bursts, TimeNS: int64(bursts), Score: nan}
		for _, p := range parents {
			n.Parents = append(n.Parents, refine.Parent{ID: p, Bursts: bursts / len(parents)})
		}
		return n
	}
	tree := Tree{
		Tree: &refine.Tree{
			Chosen: []int{0}, Why: "density proposes 3 clusters, order leaves 2 kinds",
			Levels: []refine.Level{
				{Eps: []float64{.02}, Score: nan, Nodes: []refine.Node{node(1, 100), node(2, 60), node(3, 60)}},
				{Eps: []float64{.02}, Score: .9, Nodes: []refine.Node{node(1, 100, 1), node(2, 120, 2, 3)}},
			},
		},
		Clusters: map[int32]int32{1: 1, 2: 3, 3: 2},
		Kinds:    []ClusterKind{{1, "separate from 3: predicted to 93 %"}, {3, "variant of 3: predicted to 12 %"}, {3, "separate from 1: both are large and narrow, 35 % apart; predicted to 10 %"}},
		Basins: []rundir.Basin{
			{Stratum: 1, Bursts: 101, Eps: .0565, Valley: .21, Clusters: []int32{1}},
			{Stratum: 1, Bursts: 61, Eps: .0565, Valley: .33, Clusters: []int32{3}},
			{Stratum: 2, Bursts: 64, Valley: rundir.Number(nan), Clusters: []int32{2}},
		},
		Joins: []grouping.Join{
			{Round: 1, From: 0, To: 1, Bursts: 4, Why: "variant of 1: predicted to 0 %"},
			{Round: 2, From: 2, To: 3, Bursts: 60, Foretold: .12, Why: "variant of 3: predicted to 12 %"},
		},
	}
	var b bytes.Buffer
	if err := tree.WriteDOT(&b); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "kinds.dot", b.Bytes())
}
