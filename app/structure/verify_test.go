package structure

import (
	"strings"
	"testing"

	"moriens/analysis/program"
	"moriens/trace/rundir"
)

// Of bursts whose order is not known the number of each call is compared: tests in a row are one, and the last call is
// not that of the burst that happens to stand last.
func TestVerifyWithoutOrder(t *testing.T) {
	// Init, 3 times (Test, Test, Reduce, Send), Finalize: what is behind the first burst is mixed, and its last one stands
	// first.
	const init, test, reduce, send, finalize = 0, 1, 2, 3, 4
	s := &rundir.Structure{
		Format: rundir.StructureFormat, Paths: []string{"MPI_Init@a.c:1", "MPI_Test@a.c:2", "MPI_Reduce@a.c:3", "MPI_Send@a.c:4", "MPI_Finalize@a.c:5"},
		Symbols: []rundir.StructureSymbol{
			{Before: init, After: test}, {Before: test, After: test}, {Before: test, After: reduce}, {Before: reduce, After: send}, {Before: send, After: test}, {Before: send, After: finalize},
		},
		Bodies: []rundir.StructureBody{{Items: []rundir.StructureItem{
			{StructureCount: rundir.StructureCount{Symbol: 0, Times: 1}},
			{StructureLoop: rundir.StructureLoop{Mixed: []rundir.StructureCount{{Symbol: 5, Times: 1}, {Symbol: 1, Times: 3}, {Symbol: 4, Times: 2}, {Symbol: 3, Times: 3}, {Symbol: 2, Times: 3}}}},
		}}},
		Sequences: []rundir.StructureSequence{{Bursts: 13, Mixed: 12}},
		Threads:   []rundir.StructureThread{{}},
	}
	calls := func(i int, function string, count int64) *program.Node {
		return &program.Node{Kind: program.KindMPI, Function: function, Paths: []int{i}, Each: []program.RankSum{{Ranks: []int{0}, Count: count}}}
	}
	for want, p := range map[string]*program.Program{
		"": {Body: []*program.Node{calls(0, "MPI_Init", 1), calls(1, "MPI_Test", 3), calls(2, "MPI_Reduce", 3), calls(3, "MPI_Send", 3), calls(4, "MPI_Finalize", 1)}},
		"MPI_Reduce@a.c:3 was called 3 times, in the program 4 times": {Body: []*program.Node{calls(0, "MPI_Init", 1), calls(1, "MPI_Test", 3), calls(2, "MPI_Reduce", 4), calls(3, "MPI_Send", 3), calls(4, "MPI_Finalize", 1)}},
		"MPI_Finalize@a.c:5 was called 1 times, in the program 0":     {Body: []*program.Node{calls(0, "MPI_Init", 1), calls(1, "MPI_Test", 3), calls(2, "MPI_Reduce", 3), calls(3, "MPI_Send", 3)}},
	} {
		paths := &rundir.CallPathTable{}
		for _, name := range s.Paths {
			paths.Paths = append(paths.Paths, rundir.NumberedPath{Name: name})
		}
		v := newVerifier(p, s, paths)
		differs, err := v.thread(s.Threads[0], 0)
		if err != nil || !strings.Contains(differs, want) || (want == "") != (differs == "") {
			t.Errorf("%q, %v, want %q", differs, err, want)
		}
		if v.made.Calls != 11 {
			t.Errorf("%d calls, want 11", v.made.Calls)
		}
	}
}

// A thread that ends where it began has one call more than bursts from there, wherever that is.
func TestVerifyARound(t *testing.T) {
	s := &rundir.Structure{
		Format: rundir.StructureFormat, Paths: []string{"MPI_Send@a.c:1", "MPI_Recv@a.c:2"},
		Symbols: []rundir.StructureSymbol{{Before: 0, After: 1}, {Before: 1, After: 0}},
		Bodies: []rundir.StructureBody{
			{Items: []rundir.StructureItem{{StructureLoop: rundir.StructureLoop{Mixed: []rundir.StructureCount{{Symbol: 0, Times: 3}, {Symbol: 1, Times: 3}}}}}},
			{Items: []rundir.StructureItem{{StructureCount: rundir.StructureCount{Symbol: 1, Times: 1}}, {StructureLoop: rundir.StructureLoop{Mixed: []rundir.StructureCount{{Symbol: 0, Times: 3}, {Symbol: 1, Times: 2}}}}}},
		},
		Sequences: []rundir.StructureSequence{{Body: 0, Bursts: 6, Mixed: 6}, {Body: 1, Bursts: 6, Mixed: 5}},
	}
	for _, c := range []struct {
		sequence   int32
		send, recv int64
		equal      bool
	}{{0, 4, 3, true}, {0, 3, 4, true}, {0, 4, 4, false}, {0, 3, 3, false}, {1, 3, 4, true}, {1, 4, 3, false}} {
		p := &program.Program{Body: []*program.Node{
			{Kind: program.KindMPI, Function: "MPI_Send", Paths: []int{0}, Each: []program.RankSum{{Ranks: []int{0}, Threads: []int{2}, Count: c.send}}},
			{Kind: program.KindMPI, Function: "MPI_Recv", Paths: []int{1}, Each: []program.RankSum{{Ranks: []int{0}, Threads: []int{2}, Count: c.recv}}},
		}}
		paths := &rundir.CallPathTable{Paths: []rundir.NumberedPath{{Name: s.Paths[0]}, {Name: s.Paths[1]}}}
		differs, err := newVerifier(p, s, paths).thread(rundir.StructureThread{ThreadName: rundir.ThreadName{Thread: 2}, Sequence: c.sequence}, 0)
		if err != nil || (differs == "") != c.equal {
			t.Errorf("%+v: %q, %v", c, differs, err)
		}
	}
}
