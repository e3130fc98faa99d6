package console

import (
	"strings"
	"testing"

	"moriens/trace"
	"moriens/trace/rundir"
)

// The table of phases, with names that are hard to print, and a pause.
func TestSummaryOfPhases(t *testing.T) {
	m := &rundir.Manifest{
		Command: []string{"app"}, ComputingSeconds: 2, Ranks: 1,
		Phases: []rundir.Phase{
			{Name: "solve", Count: 2, Threads: 2, Seconds: 3, Computing: 1.5},
			{Name: "\x1b[2Jtwo\nlines\u009b " + strings.Repeat("ö", 40), Count: 1000, Seconds: .5, Computing: .0001},
			{Name: "", Count: 1, Seconds: 1e-6},
		},
		Paused: rundir.Paused{Calls: 1234, Pauses: 1, Seconds: .25},
		Losses: rundir.Losses{RecordsDropped: 3, MarksNameless: 4, MarksInsideCalls: 1, PhaseEndsUnmatched: 6, PhasesUnfinished: 7, PhasesTooDeep: 8},
	}
	c := &rundir.Clusters{Phases: []rundir.PhaseBursts{
		{Outside: true, Bursts: 1, Seconds: 1, Clusters: []rundir.PhaseCluster{{ID: 1, Bursts: 1, Seconds: 1}}},
		{Name: "solve", Bursts: 9, Seconds: 1, Clusters: []rundir.PhaseCluster{
			{ID: 2, Bursts: 4, Seconds: .5}, {ID: -1, Bursts: 1, Seconds: .25}, {ID: -2, Bursts: 1, Seconds: .125}, {ID: 1, Bursts: 3, Seconds: .125},
		}},
	}}
	var b strings.Builder
	if err := Long(&b, &Results{Run: &trace.Run{}, Manifest: m, Clusters: c, Dir: "/tmp/r"}); err != nil {
		t.Fatal(err)
	}
	want := `
phase                                     times     mean  computing  of all  clusters
solve                                         2   1.50 s     1.50 s  75.0 %  2 (50.0 %), noise (25.0 %), filtered (12.5 %), 1 more
\x1b[2Jtwo\nlines\u009b ööööööööööööööö…  1,000   500 us     100 us   0.0 %
""                                            1  1.00 us        0 s   0.0 %

paused by MPI_Pcontrol: 1,234 MPI calls not recorded, 250 ms in 1 pause
losses: 3 MPI calls or marks dropped: ring buffer full; 4 marks without their names: table full; 1 mark set inside an MPI call; 6 ends of phases without a begin; 7 phases without an end; 8 phases in 256 or more others: part of the innermost of the first 256
`
	if !strings.Contains(b.String(), want) {
		t.Errorf("summary:\n%s\nwant in it:\n%s", b.String(), want)
	}
}
