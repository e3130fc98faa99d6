package clustering

import (
	"bytes"
	"math"
	"testing"

	"moriens/analysis/refine"
	"moriens/internal/golden"
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
