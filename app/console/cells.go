package console

import (
	"fmt"
	"math"
	"strings"

	"moriens/internal/units"
	"moriens/trace/rundir"
)

// writeCells reports, for a run whose bursts were kept on their nodes, how much of it is reported, and how far the
// clusters are those of the bursts themselves.
func writeCells(b *strings.Builder, m *rundir.Manifest, c *rundir.Clusters) {
	x := m.Cells
	if x == nil {
		return
	}
	fmt.Fprintf(b, "cells: %s in full, %s as totals only", units.Counted(x.RanksInFull, "rank"), units.Integer(x.RanksInSum))
	if x.RanksSilent > 0 {
		fmt.Fprintf(b, ", no data from %s", units.Integer(x.RanksSilent))
	}
	fmt.Fprintf(b, "; %s sent %v of micro-cells, which take at most %v on a node\n", units.Counted(x.Agents, "agent"), units.Bytes(x.BytesUp), units.Bytes(x.HeldBytes))
	if c.Cells != nil {
		fmt.Fprintf(b, "certificate: %s\n", certificate(x, c.Cells))
	}
}

// certificate describes the result in words.
func certificate(x *rundir.Cells, c *rundir.CellsClustering) string {
	text := fmt.Sprintf("the clusters equal those of the individual bursts, which were kept on the nodes: micro-cells of side %.3g", float64(c.Side))
	if !x.Exact {
		text = fmt.Sprintf("the clusters may differ from those of the individual bursts by %s in %s of side %.3g, whose exact positions are no longer known",
			units.Counted(x.BurstsInQuestion, "burst"), units.Counted(x.UnitsInQuestion, "micro-cell"), float64(c.Side))
	}
	if c.Bound && !math.IsNaN(float64(c.Wanted)) {
		text += fmt.Sprintf("; Eps %.3g was requested, micro-cells of this side allow %.3g", float64(c.Wanted), float64(c.Floor))
	}
	return text
}
