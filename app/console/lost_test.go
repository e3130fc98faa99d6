package console

import (
	"math"
	"strings"
	"testing"

	"moriens/trace/rundir"
)

// two are two ranks of a number in two worlds, of which the second has most.
func two() *rundir.EfficiencyRun {
	r := &rundir.EfficiencyRun{Ranks: 2, Locations: 2}
	r.Threads = []rundir.EfficiencyLocation{{}, {ThreadName: rundir.ThreadName{World: 1}}}
	r.Seconds, r.MeanComputing, r.MostComputing, r.Most = 2, 1, 1.5, &rundir.ThreadName{World: 1}
	r.Budget = rundir.EfficiencyBudget{Total: 4, Computing: 2, MPI: 1, Outside: 1}
	r.Clusters = []rundir.EfficiencyCluster{{ID: 3, Share: 1, Seconds: 2, Ranks: 1, Balance: 1, Lost: rundir.Number(math.NaN()), Most: r.Most}}
	return r
}

func lossesOf(r *rundir.EfficiencyRun, within string) string {
	var b strings.Builder
	writeLosses(&b, r, within)
	return b.String()
}

// Ranks of several worlds are named with these, also where the factors of each world are not known; and what is outside
// a phase of the program is said to be so.
func TestLosses(t *testing.T) {
	r := two()
	for within, want := range map[string]string{"run": "before a rank's first record or after its last 1.00 s (25.0 %)", "solve": " · not in the phase 1.00 s (25.0 %)"} {
		text := lossesOf(r, within)
		if !strings.Contains(text, want) || !strings.Contains(text, "most computing: world 1 rank 0, 1.50 s: 1.50 times the mean\n") || !strings.Contains(text, "1 of 2 have it") ||
			strings.Count(text, "world 1 rank 0") != 2 || !strings.Contains(text, "time of all ranks: 4.00 s: ") {
			t.Errorf("within %s:\n%s", within, text)
		}
	}
	r.Threads[1].World, r.Threads[1].Rank, r.Most.World, r.Most.Rank = 0, 1, 0, 1
	if text := lossesOf(r, "main"); strings.Contains(text, "world") || !strings.Contains(text, "most computing: rank 1, ") {
		t.Errorf("of one world:\n%s", text)
	}
}

// Each of several worlds has a row of its own factors.
func TestLossesByWorld(t *testing.T) {
	r := two()
	for world, parallel := range []rundir.Number{.5, .75} {
		x := rundir.EfficiencyWorld{World: world, Ranks: 1, Locations: 1}
		x.Seconds, x.MeanComputing, x.Parallel, x.Balance, x.Communication = 2, 2*parallel, parallel, 1, parallel
		r.Worlds = append(r.Worlds, x)
	}
	text := lossesOf(r, "main")
	for _, want := range []string{"world  ranks  elapsed    lost  parallel efficiency  load balance  communication\n", "    1      1   2.00 s  500 ms               75.0 %       100.0 %         75.0 %\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// Additive rows are losses alone.
func TestAdditive(t *testing.T) {
	e := &rundir.Efficiency{Within: "main", Runs: []rundir.EfficiencyRun{*two()}}
	e.Runs[0].ComputationScaling, e.Runs[0].Global, e.Runs[0].Serialisation = .95, .9, rundir.Number(math.NaN())
	var b strings.Builder
	if err := Efficiency(&b, e, EfficiencyForm{Dirs: []string{"a"}, Additive: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"parallel efficiency       50.0 %  1.00 s\n", "  load balance            25.0 %  500 ms\n", "  communication           25.0 %  500 ms\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "serialisation") || strings.Contains(b.String(), "scaling") {
		t.Errorf("what is no loss:\n%s", b.String())
	}
}
