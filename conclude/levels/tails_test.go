package levels

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/program"
	"moriens/internal/team"
	"moriens/trace"
)

// A call path has all chains of tail calls by which the functions that are called in it may have come to what it has
// next: those of the function that is called, or through a pointer of those that are called there on other paths.
func TestTails(t *testing.T) {
	at := func(function string, offset uint64) trace.Frame {
		module := "/bin/a"
		if strings.HasPrefix(function, "lib") {
			module = "/lib/b.so"
		}
		return trace.Frame{Module: module, Offset: offset, Function: function, File: "a.c", Line: int(offset)}
	}
	call := func(offset, target uint64, name string) trace.CodeSite {
		return trace.CodeSite{Offset: offset, Loop: -1, Target: target, Name: name}
	}
	tail := func(function string, offset, target uint64, name string) trace.CodeSite {
		place, s := at(function, offset), call(offset, target, name)
		s.Tail, s.Place = true, &place
		return s
	}
	code := func(module string, entry uint64, sites ...trace.CodeSite) trace.CodeFunction {
		return trace.CodeFunction{Module: module, Entry: entry, Sites: sites}
	}
	many := code("/bin/a", 100)
	for k := range maxChains + 1 {
		many.Sites = append(many.Sites, tail("many", uint64(101+k), 0, "MPI_Barrier"))
	}
	run := &trace.Run{Code: []trace.CodeFunction{
		// main calls f, what a pointer says twice, MPI, a function of which there are too many chains, and two that end with
		// calls of each other.
		code("/bin/a", 10, call(11, 20, ""), call(12, 0, ""), call(13, 0, ""), call(14, 0, "MPI_Barrier"), call(15, 100, ""), call(16, 50, ""), call(17, 70, "")),
		code("/bin/a", 70, call(71, 0, "MPI_Init"), tail("MAIN__", 72, 0, "mpi_finalize_")),
		code("/bin/a", 50, call(51, 0, "MPI_Bcast"), tail("even", 52, 60, ""), tail("even", 53, 0, "MPI_Reduce")),
		code("/bin/a", 60, call(61, 0, "MPI_Scan"), tail("odd", 62, 50, ""), tail("odd", 63, 30, "")),
		code("/bin/a", 20, call(21, 0, "MPI_Bcast"), tail("f", 22, 0, "MPI_Barrier"), tail("f", 23, 30, ""), tail("f", 24, 0, "PMPI_Barrier")),
		code("/bin/a", 30, call(31, 0, "MPI_Bcast"), tail("g", 32, 0, "MPI_Barrier")),
		code("/lib/b.so", 40, call(41, 0, "MPI_Bcast"), tail("lib", 42, 0, "MPI_Allreduce")),
		many,
	}}
	paths := []struct {
		mpi    string
		frames []trace.Frame
		want   string // lines of all chains
	}{
		{"MPI_Bcast", []trace.Frame{at("f", 21), at("main", 11)}, "[11 21]"},
		{"MPI_Bcast", []trace.Frame{at("g", 31), at("main", 11)}, "[11 23 31]"},
		{"MPI_Barrier", []trace.Frame{at("main", 11)}, "[11 22] [11 23 32] [11 24]"},
		{"MPI_Reduce", []trace.Frame{at("main", 11)}, "[11]"},
		{"MPI_Bcast", []trace.Frame{at("g", 31), at("main", 12)}, "[12 31]"},
		{"MPI_Barrier", []trace.Frame{at("main", 12)}, "[12 32] [12]"},
		{"MPI_Bcast", []trace.Frame{at("f", 21), at("main", 13)}, "[13 21]"},
		{"MPI_Bcast", []trace.Frame{at("g", 31), at("main", 13)}, "[13 23 31] [13 31]"},
		{"MPI_Bcast", []trace.Frame{at("lib", 41), at("main", 13)}, "[13 41]"},
		{"MPI_Allreduce", []trace.Frame{at("main", 13)}, "[13 42] [13]"},
		{"MPI_Barrier", []trace.Frame{at("main", 14)}, "[14]"},
		{"MPI_Barrier", []trace.Frame{at("main", 15)}, "[15 101] unclear"},
		{"MPI_Bcast", []trace.Frame{at("even", 51), at("main", 16)}, "[16 51] again"},
		{"MPI_Scan", []trace.Frame{at("odd", 61), at("main", 16)}, "[16 52 61] again"},
		{"MPI_Reduce", []trace.Frame{at("main", 16)}, "[16 53] again"},
		{"MPI_Bcast", []trace.Frame{at("g", 31), at("main", 16)}, "[16 52 63 31] again"},
		// The main function of Fortran, which one of C calls.
		{"MPI_Init", []trace.Frame{at("MAIN__", 71), at("main", 17)}, "[71]"},
		{"MPI_Finalize", []trace.Frame{at("main", 17)}, "[72]"},
		{"MPI_Barrier", []trace.Frame{at("g", 31), {Function: trace.Folded}, at("main", 11)}, "[11 31]"},
	}
	for _, c := range paths {
		run.CallPaths = append(run.CallPaths, trace.CallPath{Function: c.mpi, Frames: c.frames})
	}
	in := programInput(run, team.Threads{}, 1)
	for i, c := range paths {
		var got []string
		for _, steps := range slices.Insert(slices.Clone(in.Paths[i].Others), 0, in.Paths[i].Steps) {
			var lines []int
			for _, s := range steps {
				lines = append(lines, s.Line)
			}
			got = append(got, fmt.Sprint(lines))
		}
		if in.Paths[i].Unclear {
			got = append(got, "unclear")
		}
		if slices.ContainsFunc(in.Paths[i].Steps, func(s program.Step) bool { return s.Again }) {
			got = append(got, "again")
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s of %v: %s, want %s", c.mpi, c.frames, text, c.want)
		}
	}
}
