package pairing

import (
	"fmt"

	"moriens/analysis/placement"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// place finds whether ranks should lie on other nodes.
func (d *describer) place() {
	if len(d.run.Nodes) < 2 || len(d.run.Worlds) > 1 {
		return
	}
	room, present := make([]int32, len(d.run.Nodes)), make([]int32, len(d.known.Ranks))
	for i, r := range d.known.Ranks {
		room[r.Node]++
		present[i] = r.Node
	}
	var edges []placement.Edge
	for _, t := range d.ties.list {
		if t.bytesAB > 0 {
			edges = append(edges, placement.Edge{A: t.a, B: t.b, Weight: float64(t.bytesAB)})
		}
	}
	restNS := int64(0)
	for _, t := range d.ties.list {
		if !t.same {
			restNS += max(0, t.blockedNS-t.lateNS)
		}
	}
	before := placement.Between(edges, present)
	if before == 0 || !d.ofRun(float64(restNS)) {
		return
	}
	plan, err := placement.Advise(len(present), edges, room, present)
	if err != nil || plan.Between > (1-movesAtLeast)*before {
		return
	}
	f := rundir.PairsFinding{
		Kind: rundir.PairsPlacing, Seconds: d.saved(plan), Factor: number(before / max(plan.Between, 1)), Bytes: int64(before - plan.Between),
		Text: fmt.Sprintf("another order of the ranks cuts bytes between nodes from %v to %v", units.Bytes(int64(before)), units.Bytes(int64(plan.Between))),
	}
	d.find(f)
}

// saved is what a plan saves by the lines of transfers; null where they are not both known.
func (d *describer) saved(p *placement.Plan) rundir.Number {
	far, near := &d.seen.lines[0], &d.seen.lines[1]
	if !far.Fitted || !near.Fitted {
		return unknown
	}
	ns := 0.
	for _, t := range d.ties.list {
		of := float64(t.messagesAB)*(far.LatencyNS-near.LatencyNS) + float64(t.bytesAB)*(far.NSPerByte-near.NSPerByte)
		switch after := p.Of[t.a] == p.Of[t.b]; {
		case after && !t.same:
			ns += of
		case !after && t.same:
			ns -= of
		}
	}
	return number(max(0, ns) / 1e9)
}
