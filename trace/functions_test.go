package trace

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A function that has the name of phases of the program is one phase with them.
func TestFunctionPhaseHasTheNameOfAMark(t *testing.T) {
	run := &Run{MarkNames: []string{"?", "step", "x_solve"}, CallPaths: []CallPath{{}, through("x_solve", "main"), through("main")}}
	th := Thread{EndNS: 50, Phases: []Phase{{Name: 2, BeginNS: 5, EndNS: 30}}}
	th.Calls.Path, th.Calls.EnterNS, th.Calls.ExitNS = []uint32{1, 1, 2}, []int64{10, 15, 40}, []int64{12, 20, 45}
	run.Threads = []Thread{th}
	run.AddFunctionPhases([]string{"absent", "x_solve", "x_solve"})
	want := []Phase{{Name: 2, BeginNS: 5, EndNS: 30}, {Name: 2, Depth: 1, BeginNS: 10, EndNS: 20}}
	if d := cmp.Diff(want, run.Threads[0].Phases); d != "" {
		t.Error(d)
	}
	if !slices.Equal(run.MarkNames, []string{"?", "step", "x_solve", "absent"}) {
		t.Errorf("names %q", run.MarkNames)
	}
}

// Functions make phases no deeper than all may lie; those that would be deeper are counted.
func TestFunctionPhasesTooDeep(t *testing.T) {
	run := &Run{MarkNames: []string{"?", "mark"}, CallPaths: []CallPath{{}, through("f", "g", "f", "g")}}
	th := Thread{EndNS: 1000}
	for depth := range int32(MostPhaseDepth - 2) {
		th.Phases = append(th.Phases, Phase{Name: 1, Depth: depth, BeginNS: 10, EndNS: 900})
	}
	th.Phases = append(th.Phases, Phase{Name: 1, Depth: MostPhaseDepth - 2, BeginNS: 30, EndNS: 40}, Phase{Name: 1, Depth: MostPhaseDepth - 2, BeginNS: 800, EndNS: 850})
	th.Calls.Path, th.Calls.EnterNS, th.Calls.ExitNS = []uint32{1, 1}, []int64{20, 60}, []int64{25, 70}
	run.Threads = []Thread{th}
	found := run.AddFunctionPhases([]string{"f", "g"})
	if d := cmp.Diff([]FunctionPhases{{"f", 1, 1, 0, 2}, {"g", 1, 1, 0, 1}}, found); d != "" {
		t.Error(d)
	}
	got := run.Threads[0].Phases[MostPhaseDepth-2:]
	want := []Phase{
		{Name: 3, Depth: MostPhaseDepth - 2, BeginNS: 20, EndNS: 70}, {Name: 2, Depth: MostPhaseDepth - 1, BeginNS: 20, EndNS: 70},
		{Name: 1, Depth: MostPhaseDepth - 2, BeginNS: 800, EndNS: 850},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// through makes a call path of functions, innermost first; each is called from the place of its name.
func through(functions ...string) CallPath {
	p := CallPath{Function: "MPI_Send"}
	for _, f := range functions {
		p.Frames = append(p.Frames, Frame{Module: "app", Offset: uint64(len(f)) + 1, Function: f})
	}
	return p
}

// A function's phase is from its first call to its last; other activations, from elsewhere or after a call outside of
// it, are phases of their own, and marks that do not nest divide it.
func TestFunctionPhases(t *testing.T) {
	run := &Run{MarkNames: []string{"?", "step"}, CallPaths: []CallPath{
		{}, through("main"), through("x_solve_", "main"), through("solver::y_solve", "x_solve_", "main"), through("x_solve_", "other", "main"),
	}}
	call := func(t *Thread, path uint32, enter, exit int64) {
		t.Calls.Path, t.Calls.EnterNS, t.Calls.ExitNS = append(t.Calls.Path, path), append(t.Calls.EnterNS, enter), append(t.Calls.ExitNS, exit)
	}
	var th Thread
	call(&th, 1, 0, 5)
	call(&th, 2, 10, 12)
	call(&th, 3, 15, 18)
	call(&th, 3, 20, 22)
	call(&th, 2, 25, 30)
	call(&th, 4, 31, 33)
	call(&th, 1, 40, 50)
	call(&th, 2, 60, 70)
	th.EndNS = 70
	th.Phases = []Phase{{Name: 1, BeginNS: 8, EndNS: 40}, {Name: 1, BeginNS: 55, EndNS: 65}}
	run.Threads = []Thread{th}
	found := run.AddFunctionPhases([]string{"x_solve", "y_solve", "absent"})
	want := []Phase{
		{Name: 1, BeginNS: 8, EndNS: 40},
		{Name: 2, Depth: 1, BeginNS: 10, EndNS: 30},
		{Name: 3, Depth: 2, BeginNS: 15, EndNS: 22},
		{Name: 2, Depth: 1, BeginNS: 31, EndNS: 33},
		{Name: 1, BeginNS: 55, EndNS: 65},
		{Name: 2, Depth: 1, BeginNS: 60, EndNS: 65},
		{Name: 2, BeginNS: 65, EndNS: 70},
	}
	if d := cmp.Diff(want, run.Threads[0].Phases); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]FunctionPhases{{"x_solve", 3, 4, 2, 0}, {"y_solve", 1, 1, 0, 0}, {"absent", 0, 0, 0, 0}}, found); d != "" {
		t.Error(d)
	}
	if !slices.Equal(run.MarkNames, []string{"?", "step", "x_solve", "y_solve", "absent"}) {
		t.Errorf("names %q", run.MarkNames)
	}
}

// Whatever marks and functions there are, all phases nest, marks are as they were, and each moment is in the functions
// in which it was.
func TestFunctionsNest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var th Thread
		now := int64(0)
		for range rapid.IntRange(0, 12).Draw(t, "calls") {
			now += int64(rapid.IntRange(0, 4).Draw(t, "gap"))
			th.Calls.Path = append(th.Calls.Path, uint32(rapid.IntRange(0, 3).Draw(t, "path")))
			th.Calls.EnterNS = append(th.Calls.EnterNS, now)
			now += int64(rapid.IntRange(0, 4).Draw(t, "time"))
			th.Calls.ExitNS = append(th.Calls.ExitNS, now)
		}
		th.EndNS = now
		var nest func(depth int32, from, to int64)
		nest = func(depth int32, from, to int64) {
			for range rapid.IntRange(0, 2).Draw(t, "marks") {
				begin := rapid.Int64Range(from, to).Draw(t, "begin")
				end := rapid.Int64Range(begin, to).Draw(t, "end")
				th.Phases = append(th.Phases, Phase{Name: 0, Depth: depth, BeginNS: begin, EndNS: end})
				if depth < 2 {
					nest(depth+1, begin, end)
				}
				from = end
			}
		}
		nest(0, 0, now)
		run := &Run{MarkNames: []string{"mark"}, Threads: []Thread{th}, CallPaths: []CallPath{{}, through("a", "main"), through("b", "a", "main"), through("b", "main")}}
		activations := run.activations([]string{"a", "b"}, make([]FunctionPhases, 2))
		spans := th.functionSpans(activations)
		run.AddFunctionPhases([]string{"a", "b"})
		got := run.Threads[0].Phases
		var marks []Phase
		for _, p := range got {
			if p.Name == 0 {
				marks = append(marks, p)
			}
		}
		if len(marks) != len(th.Phases) {
			t.Fatalf("marks %+v, want %+v", marks, th.Phases)
		}
		for i := range marks {
			if marks[i].BeginNS != th.Phases[i].BeginNS || marks[i].EndNS != th.Phases[i].EndNS {
				t.Fatalf("marks %+v, want %+v", marks, th.Phases)
			}
		}
		properly(t, got)
		for ns := range now {
			var has, want [2]int
			for _, p := range got {
				if p.Name > 0 && p.BeginNS <= ns && ns < p.EndNS {
					has[p.Name-1]++
				}
			}
			for _, s := range spans {
				if s.beginNS <= ns && ns < s.endNS {
					want[s.function]++
				}
			}
			if has != want {
				t.Fatalf("at %d ns in %v, want %v: %+v", ns, has, want, got)
			}
		}
	})
}

// properly checks that phases nest as their depths say.
func properly(t *rapid.T, list []Phase) {
	var open []Phase
	for _, p := range list {
		if int(p.Depth) > len(open) {
			t.Fatalf("%+v in %d others", p, len(open))
		}
		open = open[:p.Depth]
		if n := len(open); n > 0 && (p.BeginNS < open[n-1].BeginNS || p.EndNS > open[n-1].EndNS) {
			t.Fatalf("%+v is not inside %+v", p, open[n-1])
		}
		open = append(open, p)
	}
	for i := range list { // those of one depth follow each other
		for _, q := range list[i+1:] {
			if q.Depth <= list[i].Depth {
				if q.BeginNS < list[i].EndNS {
					t.Fatalf("%+v begins in %+v", q, list[i])
				}
				break
			}
		}
	}
}

func TestIsNamed(t *testing.T) {
	for _, c := range []struct {
		function, name string
		want           bool
	}{
		{"x_solve", "x_solve", true}, {"x_solve_", "x_solve", true}, {"__bc_MOD_x_solve", "x_solve", true}, {"bc_mp_x_solve_", "x_solve", true},
		{"NS::Solver<int>::step", "step", true}, {"NS::Solver<int>::step", "Solver<int>::step", true}, {"NS::Solver<int>::step", "NS::Solver<int>::step", true},
		{"my_x_solve", "x_solve", false}, {"x_solve2", "x_solve", false}, {"", "", false}, {"step", "NS::step", false},
	} {
		if got := isNamed(c.function, c.name); got != c.want {
			t.Errorf("%s by %s: %v", c.function, c.name, got)
		}
	}
}
