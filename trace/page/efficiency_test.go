package page_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/trace/page"
	"moriens/trace/rundir"
	"moriens/trace/tracetest"
)

// measured is an efficiency.json of so many iterations, of which every 50th is worse than the others.
func measured(iterations int) *rundir.Efficiency {
	r := rundir.EfficiencyRun{
		Ranks: 2, Locations: 2, EfficiencyFactors: rundir.EfficiencyFactors{Seconds: 4, Parallel: 0.75, Serialisation: rundir.Number(math.NaN())},
		Clusters: []rundir.EfficiencyCluster{{ID: 1, Lost: rundir.Number(math.NaN())}}, Threads: make([]rundir.EfficiencyLocation, 2), Why: []string{"first"},
		Stretches: []rundir.EfficiencyStretch{{Within: "run"}},
	}
	for k := range iterations {
		x := rundir.EfficiencyIteration{Phase: k / 2000, Iteration: k % 2000, Seconds: 1, Parallel: 0.9}
		if k%50 == 49 {
			x.Parallel = 0.5
		}
		r.Iterations = append(r.Iterations, x)
	}
	return &rundir.Efficiency{Format: rundir.EfficiencyFormat, Within: "main", Runs: []rundir.EfficiencyRun{r}}
}

func text(t *testing.T, e *rundir.Efficiency) string {
	t.Helper()
	b, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A page has what the file says but the times of each thread, whether the run is in memory or in its directory.
func TestEfficiency(t *testing.T) {
	c := content(tracetest.Planted(), nil)
	c.Levels = &rundir.Levels{Efficiency: measured(3)}
	dir, written := write(t, c)
	if c.Manifest.Complete || len(c.Manifest.Incomplete) == 0 {
		t.Fatal("the run is complete")
	}
	want := measured(3)
	want.Runs[0].Threads, want.Runs[0].Bound, want.Runs[0].Why = nil, true, append([]string{"first"}, c.Manifest.Incomplete...)
	for _, s := range []shown{open(t, written), fromDirectory(t, dir, page.LimitsOf(page.View))} {
		if diff := cmp.Diff(text(t, want), text(t, s.Document.Efficiency)); diff != "" {
			t.Error(diff)
		}
	}
	if len(c.Levels.Efficiency.Runs[0].Threads) != 2 {
		t.Error("the page has changed the run's own")
	}
}

// Directories of earlier versions have no such file, which is no problem. One that is damaged is.
func TestEfficiencyThatCannotBeRead(t *testing.T) {
	c := content(tracetest.Planted(), nil)
	problems := func(dir string) string {
		s, err := page.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if s.Efficiency != nil {
			t.Error("there is one")
		}
		return strings.Join(s.Problems, "\n")
	}
	dir, _ := write(t, c)
	if p := problems(dir); strings.Contains(p, rundir.EfficiencyFile) {
		t.Errorf("%s", p)
	}
	c.Levels = &rundir.Levels{Efficiency: measured(3)}
	dir, _ = write(t, c)
	if err := os.WriteFile(filepath.Join(dir, rundir.EfficiencyFile), []byte(`{"format":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := problems(dir); !strings.Contains(p, rundir.EfficiencyFile+": it is cut short") {
		t.Errorf("%s", p)
	}
}
