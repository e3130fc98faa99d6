package console

import (
	"math"
	"strings"
	"testing"

	"moriens/trace/rundir"
)

func TestCells(t *testing.T) {
	m := &rundir.Manifest{Cells: &rundir.Cells{RanksInFull: 12, RanksInSum: 9988, Agents: 79, BytesUp: 3 << 20, HeldBytes: 5 << 20, Exact: true}}
	c := &rundir.Clusters{Cells: &rundir.CellsClustering{Side: .025, Floor: .1, Wanted: rundir.Number(math.NaN())}}
	said := func() string {
		var b strings.Builder
		writeCells(&b, m, c)
		return b.String()
	}
	want := `cells: 12 ranks in full, 9,988 as totals only; 79 agents sent 3 MiB of micro-cells, which take at most 5 MiB on a node
certificate: the clusters equal those of the individual bursts, which were kept on the nodes: micro-cells of side 0.025
`
	if got := said(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	m.Cells.RanksSilent, m.Cells.Exact, m.Cells.UnitsInQuestion, m.Cells.BurstsInQuestion = 3, false, 2, 1400
	c.Cells.Bound, c.Cells.Wanted = true, .05
	for _, want := range []string{
		", no data from 3; ", "the clusters may differ from those of the individual bursts by 1,400 bursts in 2 micro-cells of side 0.025",
		"; Eps 0.05 was requested, micro-cells of this side allow 0.1\n",
	} {
		if got := said(); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if m.Cells = nil; said() != "" {
		t.Errorf("of another run: %q", said())
	}
}
