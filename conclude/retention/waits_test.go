package retention

import (
	"context"
	"testing"

	"moriens/internal/stage"
	"moriens/trace"
	"moriens/trace/rundir"
)

// Where clocks of hosts do not agree, waits are given up: then they are nowhere, and neither is a critical path.
func TestWaitsGivenUp(t *testing.T) {
	for _, moved := range []int64{0, 1 << 40} {
		run := plant(4, 200, func(rank, _ int, ns int64) int64 { return ns * int64(1+rank) })
		run.Nodes = append(run.Nodes, trace.Node{Name: "beta"})
		run.Threads[2].Node, run.Threads[3].Node = 1, 1
		m := &rundir.Manifest{Clocks: []rundir.Clock{{Host: run.NodeName(0)}, {Host: run.NodeName(1), Clock: 1, UncertaintyNS: 100}}, Order: rundir.Order{TotalNS: moved}}
		c := &rundir.Content{Run: run, Manifest: m, Clusters: new(rundir.Clusters)}
		if err := Reduce(context.Background(), stage.New(0), c, Options{Budget: DefaultBudget, Windows: 2, Outliers: -1, Workers: 2}, nil); err != nil {
			t.Fatal(err)
		}
		given := moved > 0
		w := c.Levels.Waits
		if (w.WholeRun == nil) != given || w.Windows != nil || (len(w.Why) == 1) != given || (c.Levels.WaitsRows == nil) != given {
			t.Errorf("moved by %d ns: %+v", moved, w)
		}
		for _, run := range []*trace.Run{c.Run, c.Kept} {
			waits, critical := 0, 0
			for i := range run.Threads {
				waits += len(run.Threads[i].Waits.Call)
				critical += len(run.Threads[i].Critical)
			}
			if (waits == 0) != given || (critical == 0) != given {
				t.Errorf("moved by %d ns: %d waits, and %d parts of the critical path", moved, waits, critical)
			}
		}
	}
}
