package pairing

import (
	"testing"

	"moriens/analysis/line"
	"moriens/analysis/placement"
	"moriens/conclude/blame"
	"moriens/trace/rundir"
)

// What a plan saves is of messages: lines say nothing of collectives.
func TestSaved(t *testing.T) {
	d := &describer{ties: ties{list: []tie{{a: 0, b: 1, messages: 10, bytes: 1000, moved: 1 << 40}, {a: 1, b: 2, same: true, messages: 2, bytes: 300}}}}
	d.seen.lines = [2]line.Line{{Fitted: true, LatencyNS: 3000, NSPerByte: 4}, {Fitted: true, LatencyNS: 1000, NSPerByte: 1}}
	if got, want := d.saved(&placement.Plan{Of: []int32{0, 0, 1}}), rundir.Number((8*2000+700*3)/1e9); got != want {
		t.Errorf("%v s, want %v", got, want)
	}
}

// A torus whose ranks lie on nodes at random: the advice is as good as a cut by hand, and counts what it says.
func TestShuffledTorus(t *testing.T) {
	r := random(t)
	m := newMachine(64, 8)
	r.Shuffle(len(m.node), func(i, k int) { m.node[i], m.node[k] = m.node[k], m.node[i] })
	halo(m, 8, 8, 5, r, nothing)
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsPlacing, nil, "another order of the ranks cuts bytes between nodes from ")
	if len(p.File.Findings) == 0 {
		return
	}
	var edges []placement.Edge
	present, room := make([]int32, 64), make([]int32, 8)
	for rank := range 64 {
		present[rank] = int32(m.node[rank])
		room[m.node[rank]]++
		for _, peer := range around(rank, 8, 8) {
			if peer > rank {
				edges = append(edges, placement.Edge{A: int32(rank), B: int32(peer), Weight: 2 * 5 * haloBytes})
			}
		}
	}
	plan, err := placement.Advise(64, edges, room, present)
	if err != nil {
		t.Fatal(err)
	}
	before, after := placement.Between(edges, present), placement.Between(edges, plan.Of)
	if f := p.File.Findings[0]; f.Bytes != int64(before-after) {
		t.Errorf("%+v saves %g bytes", f, before-after)
	}
	if blocks := 64. * 12 / 8 * 2 * 5 * haloBytes; after > 1.1*blocks { // blocks of 2 × 4 ranks have 12 edges to others
		t.Errorf("%g bytes between nodes, in blocks %g", after, blocks)
	}
}
