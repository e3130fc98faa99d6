package efficiency

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/app/question"
	"moriens/conclude/factors"
	"moriens/internal/hint"
	"moriens/trace/rundir"
)

// A planted is what a run directory is to have.
type planted struct {
	ranks    int
	seconds  float64 // of main
	program  string
	counted  bool
	nobody   bool
	parallel float64
	run      string
}

// write makes a run directory with what Ask reads.
func write(t *testing.T, name string, p planted) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	m := map[string]any{"format": rundir.ManifestFormat, "ranks": p.ranks, "complete": true, "worlds": []any{map[string]any{"executable": "/opt/" + p.program}}}
	if p.run != "" {
		m["run"], m["started"] = p.run, "2026-11-27T12:00:00Z"
	}
	if p.program == "" {
		m["worlds"] = []any{map[string]any{"executable": ""}}
	}
	if p.nobody {
		m["ranks"], m["empty"] = 0, "no process called MPI"
	}
	nan := rundir.Number(math.NaN())
	r := rundir.EfficiencyRun{Dir: ".", Ranks: p.ranks, Locations: p.ranks}
	n := rundir.Number(p.ranks)
	r.Seconds, r.Parallel, r.Balance, r.Communication = rundir.Number(p.seconds), rundir.Number(p.parallel), 1, rundir.Number(p.parallel)
	r.MeanComputing, r.MostComputing = r.Seconds*r.Parallel, r.Seconds*r.Parallel
	r.Budget = rundir.EfficiencyBudget{Total: r.Seconds * n, Computing: r.Seconds * n * r.Parallel, MPI: r.Seconds * n * (1 - r.Parallel)}
	r.IPC, r.GHz, r.Instructions = nan, nan, nan
	if p.counted {
		r.IPC, r.GHz, r.Instructions = 1, 2, 1e9
	}
	r.EfficiencyScaling = rundir.EfficiencyScaling{ComputationScaling: nan, IPCScaling: nan, InstructionScaling: nan, FrequencyScaling: nan, Global: nan, Speedup: nan}
	r.Phases = []rundir.EfficiencyPhase{{Name: "solve", EfficiencyFactors: rundir.EfficiencyFactors{Seconds: r.Seconds / 2, Parallel: .5}}}
	r.Stretches = []rundir.EfficiencyStretch{{Within: factors.Run, EfficiencyFactors: rundir.EfficiencyFactors{Seconds: 2 * r.Seconds, Parallel: r.Parallel / 2}}}
	for file, x := range map[string]any{rundir.ManifestFile: m, rundir.EfficiencyFile: &rundir.Efficiency{Format: rundir.EfficiencyFormat, Within: factors.Main, Runs: []rundir.EfficiencyRun{r}}} {
		text, err := json.Marshal(x)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWithin(t *testing.T) {
	dir := write(t, "a", planted{ranks: 2, seconds: 10, program: "ring", parallel: .8})
	for within, want := range map[string]float64{"main": 10, "run": 20, "solve": 5} {
		a, err := Ask(Question{Dirs: []string{dir}, Within: within, Scaling: factors.Auto})
		if err != nil || float64(a.Runs[0].Seconds) != want || a.Within != within || a.Runs[0].Dir != "." {
			t.Errorf("%s: %v, %+v", within, err, a)
		}
		if r := &a.Runs[0]; within == "solve" && (!math.IsNaN(float64(r.BeginSeconds)) || !math.IsNaN(float64(r.EndSeconds)) || r.Clusters == nil || r.Nodes == nil || r.Classes == nil) {
			t.Errorf("of a phase that begins more than once: %+v", r)
		}
	}
}

// The reference is the run with the fewest ranks, or the one that is asked for.
func TestScaling(t *testing.T) {
	var dirs []string
	for _, ranks := range []int{8, 2, 4} {
		dirs = append(dirs, write(t, "r", planted{ranks: ranks, seconds: 16 / float64(ranks), program: "ring", counted: true, parallel: 1 - float64(ranks)/100}))
	}
	a, err := Ask(Question{Dirs: dirs, Within: "main", Scaling: factors.Auto})
	if err != nil {
		t.Fatal(err)
	}
	if a.Scaling != string(factors.Strong) || !slices.Equal(a.Dirs(dirs), []string{dirs[1], dirs[2], dirs[0]}) || a.Runs[2].Speedup != 4 || len(a.Fits) == 0 {
		t.Errorf("%+v", a)
	}
	if at := a.Fits[0].Projected; len(at) != 2 || at[1].Locations != 32 {
		t.Errorf("projected to %+v", at)
	}
	if a, err = Ask(Question{Dirs: dirs, Within: "main", Scaling: factors.Strong, Reference: dirs[0], To: new(100)}); err != nil || a.Runs[0].Dir != dirs[0] || a.Runs[0].Speedup != 1 {
		t.Fatalf("%v, %+v", err, a)
	}
	if at := a.Fits[0].Projected; at[len(at)-1].Locations != 100 {
		t.Errorf("projected to %+v", at)
	}
}

// Questions without an answer are mistakes of use, each with one line and what to do.
func TestMistakes(t *testing.T) {
	ring := write(t, "ring", planted{ranks: 2, seconds: 10, program: "ring", parallel: .8})
	other := write(t, "other", planted{ranks: 4, seconds: 10, program: "lmp", parallel: .8})
	larger := write(t, "larger", planted{ranks: 4, seconds: 10, program: "ring", parallel: .8})
	nobody := write(t, "nobody", planted{program: "ring", nobody: true})
	for what, c := range map[string]struct {
		q    Question
		want string
	}{
		"no directory":     {Question{}, "no run directory"},
		"the same twice":   {Question{Dirs: []string{ring, ring}}, "is given twice"},
		"another spelling": {Question{Dirs: []string{ring, ring + "/"}}, "are the same run directory"},
		"unknown phase":    {Question{Dirs: []string{ring}, Within: "slove"}, `there is no phase "slove"`},
		"programs":         {Question{Dirs: []string{ring, other}, Within: "main", Scaling: factors.Strong}, "is a run of ring"},
		"no counters":      {Question{Dirs: []string{ring, larger}, Within: "main", Scaling: factors.Auto}, "PAPI_TOT_INS"},
		"strange referee":  {Question{Dirs: []string{ring, larger}, Within: "main", Scaling: factors.Strong, Reference: other}, "none of the run directories"},
		"no rank":          {Question{Dirs: []string{nobody}, Within: "main"}, "no rank was recorded"},
		"scaling of one":   {Question{Dirs: []string{ring}, Within: "main", Scaling: factors.Weak}, "--scaling weak takes several runs"},
		"reference of one": {Question{Dirs: []string{ring}, Within: "main", Reference: ring}, "--reference takes several runs"},
		"to of one":        {Question{Dirs: []string{ring}, Within: "main", To: new(64)}, "--to takes runs of at least 3"},
		"to of two":        {Question{Dirs: []string{ring, larger}, Within: "main", Scaling: factors.Strong, To: new(64)}, "--to takes runs of at least 3"},
		"to of a small":    {Question{Dirs: []string{ring, larger}, Within: "main", Scaling: factors.Strong, To: new(3)}, "no larger than the largest run"},
		"floor of scaling": {Question{Dirs: []string{ring}, Within: "main", Floors: Floors{{"ge", .5}}}, "global efficiency of one run is not known"},
	} {
		_, err := Ask(c.q)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || hint.Of(err) == "" {
			t.Errorf("%s: %v, hint %q", what, err, hint.Of(err))
		}
	}
	for _, dir := range []string{t.TempDir(), filepath.Join(ring, "nowhere"), filepath.Join(ring, rundir.ManifestFile)} {
		var mistake question.UsageError
		if _, err := Ask(Question{Dirs: []string{dir}, Within: "main"}); err == nil || errors.As(err, &mistake) || hint.Of(err) == "" {
			t.Errorf("%s, which is no run directory: %v", dir, err)
		}
	}
	once := []string{write(t, "a", planted{ranks: 2, seconds: 1, program: "ring", parallel: 1, run: "x"}), write(t, "copy", planted{ranks: 2, seconds: 1, program: "ring", parallel: 1, run: "x"})}
	if _, err := Ask(Question{Dirs: once, Within: "main", Scaling: factors.Strong}); err == nil || !strings.HasSuffix(err.Error(), "are the same run") {
		t.Errorf("a copy of a run: %v", err)
	}
	unknown := write(t, "unknown", planted{ranks: 4, seconds: 10, parallel: .8}) // of a trace that does not name the program
	if _, err := Ask(Question{Dirs: []string{ring, unknown}, Within: "main", Scaling: factors.Strong}); err != nil {
		t.Errorf("a program that is not known is no other: %v", err)
	}
}

func TestFloors(t *testing.T) {
	var f Floors
	if err := f.UnmarshalText([]byte("pe=.9, LB=50%,communication_efficiency=0.7,.1")); err != nil || !slices.Equal(f, Floors{{"pe", .9}, {"lb", .5}, {"ce", .7}, {"pe", .1}}) {
		t.Fatalf("%v, %v", f, err)
	}
	for bad, want := range map[string]string{
		"": "has no number: for example pe=0.8", "pe": "has no number", "pe=": "has no number", "lb=,pe": `"lb=" has no number: for example lb=0.8 or lb=80%`,
		"pe=2": "2 is not between 0 and 1", "pe=-1": "-1 is not between", "pe=nan": "nan is not between", "80": "80 is not between", "120%": "120% is not between",
		"xx=.5": `there is no factor "xx": give pe (parallel efficiency), lb`, "pe=abc": `"abc" is no number`, "abc": `"abc" is no number`, "pe=.5;lb=.5": "is no number",
	} {
		if err := new(Floors).UnmarshalText([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", bad, err, want)
		}
	}
	a, err := Ask(Question{Dirs: []string{write(t, "a", planted{ranks: 2, seconds: 10, program: "ring", parallel: .8})}, Within: "main", Floors: f})
	if err != nil {
		t.Fatal(err)
	}
	if list := a.Below(f); len(list) != 1 || list[0].Error() != "parallel efficiency is 0.8000, below 0.9" {
		t.Errorf("%v", list)
	}
	if list := a.Below(Floors{{"pe", .8}, {"lb", 1}}); len(list) > 0 {
		t.Error(list)
	}
	a.Runs[0].Parallel = .9999996
	if list := a.Below(Floors{{"pe", 1}}); len(list) != 1 || list[0].Error() != "parallel efficiency is 0.9999996, below 1" {
		t.Error(list)
	}
	a.Runs[0].Parallel = .8
	if list := a.Below(Floors{{"pe", .9}, {"ce", .85}}); len(list) != 2 {
		t.Error(list)
	}
}

// Names of phases stay in one line, and each is there once.
func TestUnknownPhase(t *testing.T) {
	r := rundir.EfficiencyRun{Phases: []rundir.EfficiencyPhase{{Name: "new\nline"}, {Name: "main"}, {Name: "a"}, {Name: "a"}}}
	err := pick(&r, "main", "nope")
	if want := `give one of: "main", "new\nline", "a"`; err == nil || hint.Of(err) != want {
		t.Errorf("%v, hint %s, want %s", err, hint.Of(err), want)
	}
}

// Figures that no run can have are a damaged file.
func TestPlausible(t *testing.T) {
	good := func() *rundir.EfficiencyRun {
		r := &rundir.EfficiencyRun{Ranks: 2, Locations: 2}
		r.Seconds, r.Parallel, r.Balance, r.Communication, r.InNodes, r.BetweenNodes = 2, .5, .5, 1, 1, .5
		r.MostComputing, r.MeanComputing, r.Budget.Total, r.Budget.Computing, r.Budget.MPI = 2, 1, 4, 2, 2
		return r
	}
	nan := rundir.Number(math.NaN())
	if r := good(); !plausible(r) {
		t.Error("a good run is none")
	}
	empty := &rundir.EfficiencyRun{Ranks: 2, Locations: 2}
	empty.Parallel, empty.Balance, empty.Communication, empty.InNodes, empty.BetweenNodes, empty.MostComputing = nan, nan, nan, nan, nan, nan
	if !plausible(empty) {
		t.Error("a run in which no time passes is none")
	}
	for what, change := range map[string]func(r *rundir.EfficiencyRun){
		"no ranks": func(r *rundir.EfficiencyRun) { r.Ranks = 0 }, "no locations": func(r *rundir.EfficiencyRun) { r.Locations = 0 },
		"no time": func(r *rundir.EfficiencyRun) { r.Seconds = nan }, "no mean": func(r *rundir.EfficiencyRun) { r.MeanComputing = nan },
		"long": func(r *rundir.EfficiencyRun) { r.Seconds = 1e18 }, "above 1": func(r *rundir.EfficiencyRun) { r.Balance = 1.01 },
		"negative": func(r *rundir.EfficiencyRun) { r.Budget.MPI = -1 }, "below 0": func(r *rundir.EfficiencyRun) { r.Parallel = -.1 },
	} {
		r := good()
		if change(r); plausible(r) {
			t.Errorf("%s is plausible", what)
		}
	}
}
