package retention

import (
	"context"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/waits"
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

// A spoiler gives the detail of a run in which collectives have a communicator that there is not.
type spoiler struct{}

func (spoiler) Fetch(context.Context, [][]trace.Span) []string { return nil }
func (spoiler) Lacking([][]trace.Span) (int64, []string)       { return 0, nil }
func (spoiler) Add(run *trace.Run) *trace.Run {
	with := *run
	with.Threads = slices.Clone(run.Threads)
	for i := range with.Threads {
		c := &with.Threads[i].Collectives
		c.Comm = slices.Repeat([]int32{1}, len(c.Comm))
	}
	return &with
}

// Where the waits of windows cannot be found, windows are kept without them, and the manifest says so.
func TestWaitsOfWindowsFail(t *testing.T) {
	for _, detail := range []Detail{nil, spoiler{}} {
		run := plant(4, 200, func(rank, _ int, ns int64) int64 { return ns * int64(1+rank) })
		run.Traffic = new(trace.Traffic) // messages of windows alone are known
		c := &rundir.Content{Run: run, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters)}
		if err := Reduce(context.Background(), stage.New(0), c, Options{Budget: DefaultBudget, Windows: 2, Outliers: -1, Workers: 2}, detail); err != nil {
			t.Fatal(err)
		}
		m, fails := c.Manifest, detail != nil
		says := func(list []string) bool {
			return slices.ContainsFunc(list, func(text string) bool {
				return strings.HasPrefix(text, "waits.json has no waits of windows: waits: waits of windows: ") && strings.Contains(text, "collective 0 is of")
			})
		}
		if len(m.Kept.Windows) < 2 || c.Kept == nil || len(c.Kept.Windows) != len(m.Kept.Windows) || m.Bursts == 0 {
			t.Errorf("%d windows in the manifest", len(m.Kept.Windows))
		}
		if w := c.Levels.Waits; w.WholeRun == nil || (w.Windows == nil) != fails || says(m.Reduction.Missing) != fails || says(m.Reduction.GivenUp) != fails {
			t.Errorf("spoilt %v: waits %+v; missing %q, given up %q", fails, w, m.Reduction.Missing, m.Reduction.GivenUp)
		}
	}
}

// Of a trace whose ranks send, and which has no messages, collectives alone are known; lines that could not be read are
// said.
func TestWaitsOfLackingTraces(t *testing.T) {
	for _, c := range []struct {
		trace, function string
		skipped         int
		basis, why      string
	}{
		{"a.prv", "MPI_Isend", 0, rundir.WaitsCollectives, rundir.WaitsWithoutMessages},
		{"a.prv", "MPI_Isend", 2, rundir.WaitsCollectives, "malformed lines of the trace skipped: 2; calls and messages may be missing, and with them waits\n" + rundir.WaitsWithoutMessages},
		{"a.prv", "MPI_Irecv", 0, rundir.WaitsFull, ""},
		{"", "MPI_Isend", 0, rundir.WaitsFull, ""}, // what is measured is known: all of it went to MPI_PROC_NULL
	} {
		run := plant(4, 200, func(rank, _ int, ns int64) int64 { return ns * int64(1+rank) })
		run.Messages = nil
		for i := range run.CallPaths {
			if f := &run.CallPaths[i].Function; waits.Sends(*f) {
				*f = "MPI_Irecv"
			}
		}
		run.CallPaths = append(run.CallPaths, trace.CallPath{Function: c.function})
		content := &rundir.Content{Run: run, Manifest: &rundir.Manifest{Trace: c.trace, Losses: rundir.Losses{LinesSkipped: c.skipped}}, Clusters: new(rundir.Clusters)}
		if err := Reduce(context.Background(), stage.New(0), content, Options{Budget: DefaultBudget, Windows: 2, Outliers: -1, Workers: 2}, nil); err != nil {
			t.Fatal(err)
		}
		w := content.Levels.Waits
		if w.WholeRun == nil || w.WholeRun.Basis != c.basis || strings.Join(w.Why, "\n") != c.why || w.Windows != nil {
			t.Errorf("%+v: basis %q, why %q, windows %+v", c, w.WholeRun.Basis, w.Why, w.Windows)
		}
	}
}
