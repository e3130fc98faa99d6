package trace

import (
	"slices"
	"testing"
)

func TestPlace(t *testing.T) {
	for _, tt := range []struct {
		frame        Frame
		place, brief string
	}{
		{Frame{}, "", ""},
		{Frame{Offset: 0x10}, "", ""},
		{Frame{Module: "app", Offset: 0x10}, "app+0x10", "app+0x10"},
		{Frame{Module: "app", Function: "solve"}, "solve", "solve"},
		{Frame{Function: "Solver.step", File: "/home/jac.py", Line: 7}, "jac.py:7", "jac.py:7"},
		{Frame{Module: "app", Function: "solve", File: "/src/solve.c", Line: 7}, "solve.c:7", "solve.c:7"},
		{Frame{Function: "LAMMPS_NS::CommBrick::forward_comm"}, "LAMMPS_NS::CommBrick::forward_comm", "CommBrick::forward_comm"},
		{Frame{Function: "a::List<std::pair<int, b::C> >::sort"}, "a::List<std::pair<int, b::C> >::sort", "List<…>::sort"},
		{Frame{Function: "a::b::C::operator<<"}, "a::b::C::operator<<", "a::b::C::operator<<"},
	} {
		if got := tt.frame.Place(); got != tt.place {
			t.Errorf("%+v: place %q", tt.frame, got)
		}
		if got := tt.frame.Brief(); got != tt.brief {
			t.Errorf("%+v: brief %q", tt.frame, got)
		}
	}
}

// Frames of a trace that others wrote have no offset, and none is shown.
func TestNamesWithoutOffsets(t *testing.T) {
	for _, f := range []Frame{{}, {Function: "solve"}, {File: "solve.c", Line: 7}, {Module: "app"}} {
		if f.Located() || f.Precise("solve") != "solve" {
			t.Errorf("%+v: located %v, %q", f, f.Located(), f.Precise("solve"))
		}
	}
	for _, f := range []Frame{{Module: "app", Offset: 0x10}, {Offset: 0x10}} {
		if !f.Located() {
			t.Errorf("%+v has no offset", f)
		}
	}
	solve, main := Frame{Function: "solve"}, Frame{Function: "main", File: "main.f90", Line: 3}
	run := &Run{CallPaths: []CallPath{
		{},
		{Function: "MPI_Send", Frames: []Frame{solve, main}},
		{Function: "MPI_Send", Frames: []Frame{solve, {}, main}},
		{Function: "MPI_Send", Frames: []Frame{solve}},
		{Function: "MPI_Wait", Frames: []Frame{main}},
		{Function: "MPI_Wait", Frames: []Frame{{Function: "other", File: "main.f90", Line: 3}}},
	}}
	want := []string{"?", "MPI_Send@solve<main.f90:3", "MPI_Send@solve<?", "MPI_Send@solve", "MPI_Wait@main.f90:3#2", "MPI_Wait@main.f90:3#3"}
	if got := run.Names(); !slices.Equal(got, want) {
		t.Errorf("names\n%q, want\n%q", got, want)
	}
}

func TestNames(t *testing.T) {
	at := func(offset uint64, function string) Frame {
		return Frame{Module: "app", BuildID: "01", Offset: offset, Function: function}
	}
	line := at(0x50, "solve")
	line.File, line.Line = "solve.c", 7
	other := at(0x60, "main")
	other.BuildID = "02"
	run := &Run{CallPaths: []CallPath{
		{},
		{Function: "MPI_Init"},
		{Function: "MPI_Send", Frames: []Frame{at(0x10, "solve"), at(0x90, "main")}},
		{Function: "MPI_Send", Frames: []Frame{at(0x20, "solve"), at(0x90, "main")}},
		{Function: "MPI_Recv", Frames: []Frame{at(0x10, "solve"), at(0x90, "main")}},
		{Function: "MPI_Wait", Frames: []Frame{at(0x30, "solve"), at(0x90, "main")}},
		{Function: "MPI_Wait", Frames: []Frame{at(0x30, "solve"), at(0xa0, "main")}},
		{Function: "MPI_Wait", Frames: []Frame{line}},
		{Function: "MPI_Test", Frames: []Frame{at(0x60, "main")}},
		{Function: "MPI_Test", Frames: []Frame{other}},
		{Function: "MPI_Bcast", Frames: []Frame{at(0x40, "")}},
		{Function: "MPI_Scan", Frames: []Frame{{Function: "f", File: "/a/jac.py", Line: 7}, {Function: "main", File: "/a/jac.py", Line: 9}}},
		{Function: "MPI_Scan", Frames: []Frame{{Function: "f", File: "/b/jac.py", Line: 7}, {Function: "main", File: "/b/jac.py", Line: 12}}},
	}}
	want := []string{
		"?", "MPI_Init", "MPI_Send@solve(+0x10)", "MPI_Send@solve(+0x20)", "MPI_Recv@solve",
		"MPI_Wait@solve<main(+0x90)", "MPI_Wait@solve<main(+0xa0)", "MPI_Wait@solve.c:7",
		"MPI_Test@main(+0x60)#7", "MPI_Test@main(+0x60)#8", "MPI_Bcast@app+0x40",
		"MPI_Scan@/a/jac.py:7", "MPI_Scan@/b/jac.py:7",
	}
	if got := run.Names(); !slices.Equal(got, want) {
		t.Errorf("names\n%q, want\n%q", got, want)
	}
	// Names from a file are kept if the file has all of them.
	fromFile := slices.Clone(want)
	fromFile[7] = "MPI_Wait@solve.c:7 as an earlier version has it"
	run.PathNames = slices.Clone(fromFile)
	if got := run.Names(); !slices.Equal(got, fromFile) {
		t.Errorf("names\n%q, want\n%q", got, fromFile)
	}
	run.Names()[0] = "changed"
	if run.PathNames[0] != "?" {
		t.Error("Names hands out its own list")
	}
	run.CallPaths = append(run.CallPaths, CallPath{Function: "MPI_Finalize"})
	if got := run.Names(); !slices.Equal(got, append(want, "MPI_Finalize")) {
		t.Errorf("names of one call path more %q", got)
	}
}

// Frames that differ in anything are not the same, and an address is known or not.
func TestFrames(t *testing.T) {
	inlined := []Scope{{Function: "main", File: "main.c", Line: 3, FirstFile: "main.c", FirstLine: 1}}
	f := Frame{"app", "01", 0x10, "solve", "solve.c", 7, "solve.h", 5, inlined}
	same := f
	same.Inlined = slices.Clone(inlined)
	if !f.Same(&same) || !f.Located() || (&Frame{Function: "solve", File: "solve.c", Line: 7}).Located() {
		t.Errorf("%+v: Same %t, Located %t", f, f.Same(&same), f.Located())
	}
	for i, change := range []func(*Frame){
		func(f *Frame) { f.Module = "" }, func(f *Frame) { f.BuildID = "" }, func(f *Frame) { f.Offset++ }, func(f *Frame) { f.Function = "" },
		func(f *Frame) { f.File = "" }, func(f *Frame) { f.Line++ }, func(f *Frame) { f.FirstFile = "" }, func(f *Frame) { f.FirstLine++ },
		func(f *Frame) { f.Inlined = nil }, func(f *Frame) { f.Inlined[0].Line++ },
	} {
		other := f
		other.Inlined = slices.Clone(inlined)
		if change(&other); f.Same(&other) {
			t.Errorf("change %d is not seen", i)
		}
	}
}
