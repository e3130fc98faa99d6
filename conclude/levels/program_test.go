package levels

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/program"
	"moriens/analysis/program/programtest"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// The files of a program are read as what was written; one that is too large is folded, and its calls are all counted.
func TestDescribeProgram(t *testing.T) {
	s, err := DescribeProgram(programtest.Nest())
	if err != nil {
		t.Fatal(err)
	}
	if p, err := program.Read(s.JSON); err != nil || p.Ranks != 4 || !strings.Contains(s.Text, "program  # 4 ranks") || strings.Contains(s.Text, "900 ns") {
		t.Errorf("%v\n%s", err, s.Text)
	}
	large := programtest.Odd()
	id, calls := 0, int64(0)
	large.Body = nil
	for f := range 40 {
		id++
		call := &program.Node{ID: id, Kind: program.KindCall, Function: fmt.Sprintf("function%d", f)}
		large.Body = append(large.Body, call)
		for k := range 400 {
			id++
			n := &program.Node{ID: id, Kind: program.KindMPI, Function: "MPI_Send", File: "a.c", Line: k, Count: int64(k), MPINS: int64(k * (f + 1) * 1000)}
			call.Body = append(call.Body, n)
			calls += n.Count
		}
	}
	if s, err = DescribeProgram(large); err != nil {
		t.Fatal(err)
	}
	p, err := program.Read(s.JSON)
	if err != nil || len(s.JSON) > rundir.ProgramBytes || len(s.JSON) < rundir.ProgramBytes/2 {
		t.Fatalf("%d bytes: %v", len(s.JSON), err)
	}
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind == program.KindMPI || n.Kind == program.KindOther {
			calls -= n.Count
		}
	})
	if calls != 0 || !strings.Contains(s.Text, "function39()") {
		t.Errorf("%d calls more in the program than in its file", calls)
	}
}

// Frames that stand for calls of a recursion are no function; a path that begins inside of it has the calls that lead
// to it on others.
func TestFoldedPaths(t *testing.T) {
	frame := func(function string, offset uint64) trace.Frame {
		return trace.Frame{Module: "/bin/a", Offset: offset, Function: function, File: "a.c", Line: int(offset)}
	}
	leaf, again, main, start, folded := frame("down", 12), frame("down", 13), frame("main", 14), frame("_start", 1), trace.Frame{Function: trace.Folded}
	run := &trace.Run{CallPaths: []trace.CallPath{
		{}, {Function: "MPI_Barrier", Frames: []trace.Frame{leaf, again, main, start}}, {Function: "MPI_Barrier", Frames: []trace.Frame{leaf, again, folded, again, main, start}},
		{Function: "MPI_Barrier", Frames: []trace.Frame{leaf, again, folded, again}},
	}}
	in := programInput(run, team.Threads{}, 1)
	if len(in.Functions) != 2 {
		t.Errorf("%+v", in.Functions)
	}
	for i, lines := range [][]int{1: {14, 13, 12}, 2: {14, 13, 13, 12}, 3: {14, 13, 13, 12}} {
		if i == 0 {
			continue
		}
		p := &in.Paths[i]
		var got []int
		for _, s := range p.Steps {
			got = append(got, s.Line)
		}
		recurs := ""
		if p.Recursion > 0 {
			recurs = in.Functions[p.Recursion-1].Name
		}
		if !slices.Equal(got, lines) || !p.Whole || recurs != []string{1: "", 2: "down", 3: "down"}[i] {
			t.Errorf("path %d: %v, whole %v, recursion of %q", i, got, p.Whole, recurs)
		}
	}
}
