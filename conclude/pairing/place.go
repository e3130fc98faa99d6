package pairing

import (
	"fmt"
	"math"

	"moriens/analysis/placement"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// place finds whether ranks should lie on other nodes.
func (d *describer) place() {
	if len(d.run.Nodes) < 2 || d.withoutRows() {
		return
	}
	room, present := make([]int32, len(d.run.Nodes)), make([]int32, len(d.known.Ranks))
	for i, r := range d.known.Ranks {
		room[r.Node]++
		present[i] = r.Node
	}
	var edges []placement.Edge
	for _, t := range d.ties.list {
		if bytes := t.bytes + t.moved; bytes > 0 {
			edges = append(edges, placement.Edge{A: t.a, B: t.b, Weight: float64(bytes)})
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
	if most, err := placement.MostSaved(len(present), edges, room, present); err != nil || most < movesAtLeast {
		return
	}
	if !placement.Quick(len(present), len(edges)) {
		return // who asks for the pairs hears of it
	}
	plan, err := placement.Advise(len(present), edges, room, present)
	if err != nil || plan.Between > (1-movesAtLeast)*before {
		return
	}
	saved, worth := d.saved(plan), float64(restNS)*(1-plan.Between/before)
	if !math.IsNaN(float64(saved)) { // it is at most what calls took for it
		worth = min(1e9*float64(saved), float64(restNS))
	}
	if !d.ofRun(worth) {
		return
	}
	factor := unknown
	if plan.Between > 0 {
		factor = number(before / plan.Between)
	}
	f := rundir.PairsFinding{
		Kind: rundir.PairsPlacing, Seconds: saved, Factor: factor, Bytes: int64(before - plan.Between),
		Text: fmt.Sprintf("another order of the ranks cuts bytes between nodes from %v to %v", units.Bytes(int64(before)), units.Bytes(int64(plan.Between))),
	}
	d.find(f)
}

// withoutRows reports whether so many bytes are of pairs without a row of their own that no plan can be trusted.
func (d *describer) withoutRows() bool {
	if d.file.Table.Summed == 0 {
		return false
	}
	bytes := int64(0)
	for _, t := range d.ties.list {
		bytes += t.bytes
	}
	return float64(bytes) < (1-movesAtLeast)*float64(d.file.Totals.Bytes)
}

// saved is what a plan saves of messages by the lines of transfers; null where they are not both known.
func (d *describer) saved(p *placement.Plan) rundir.Number {
	far, near := &d.seen.lines[0], &d.seen.lines[1]
	if !far.Fitted || !near.Fitted {
		return unknown
	}
	ns := 0.
	for _, t := range d.ties.list {
		of := float64(t.messages)*(far.LatencyNS-near.LatencyNS) + float64(t.bytes)*(far.NSPerByte-near.NSPerByte)
		switch after := p.Of[t.a] == p.Of[t.b]; {
		case after && !t.same:
			ns += of
		case !after && t.same:
			ns -= of
		}
	}
	return number(max(0, ns) / 1e9)
}
