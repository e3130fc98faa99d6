package structure

import (
	"slices"
	"testing"

	"moriens/analysis/program"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// Of a program that was folded the lines that remain are compared, and the sum of the others.
func TestVerifyFolded(t *testing.T) {
	s := &rundir.Structure{
		Format: rundir.StructureFormat, Paths: []string{"MPI_Init@a.c:1", "MPI_Send@a.c:2", "MPI_Recv@a.c:3", "MPI_Finalize@a.c:4"},
		Symbols: []rundir.StructureSymbol{{Before: 0, After: 1}, {Before: 1, After: 2}, {Before: 2, After: 1}, {Before: 2, After: 3}},
		Bodies: []rundir.StructureBody{{Items: []rundir.StructureItem{
			{StructureCount: rundir.StructureCount{Symbol: 0, Times: 1}}, {StructureCount: rundir.StructureCount{Symbol: 1, Times: 1}}, {StructureCount: rundir.StructureCount{Symbol: 2, Times: 1}},
			{StructureCount: rundir.StructureCount{Symbol: 1, Times: 1}}, {StructureCount: rundir.StructureCount{Symbol: 3, Times: 1}},
		}}},
		Sequences: []rundir.StructureSequence{{Bursts: 5}},
	}
	paths := &rundir.CallPathTable{}
	var rows []parquet.ProfileRow
	for i, name := range s.Paths {
		paths.Paths = append(paths.Paths, rundir.NumberedPath{Name: name, Function: name[:len(name)-6]})
		n := []int64{1, 2, 2, 1}[i]
		rows = append(rows, parquet.ProfileRow{Kind: parquet.ProfileMPI, CallPath: name, Count: n, Records: n})
	}
	for name, c := range map[string]struct {
		sends  int
		folded program.Node
		thread string
		lines  string
	}{
		"equal":               {2, program.Node{Lines: 2, Count: 3, Paths: []int{2, 3}}, "", ""},
		"equal, without list": {2, program.Node{Lines: 2, Count: 3}, "", ""},
		"a call less":         {1, program.Node{Lines: 2, Count: 3, Paths: []int{2, 3}}, "MPI_Send@a.c:2 was called 2 times, in the program 1 times", ""},
		"a call more":         {3, program.Node{Lines: 2, Count: 3}, "MPI_Send@a.c:2 was called 2 times, in the program 3 times", ""},
		"another sum":         {2, program.Node{Lines: 2, Count: 2, Paths: []int{2, 3}}, "", "MPI_Finalize@a.c:4 was called 3 times, line 5 of the text says 2"},
		"another sum of all":  {2, program.Node{Lines: 2, Count: 4}, "", "MPI was called 6 times, in all lines of the text 7 times"},
	} {
		call := func(id, i int, n int64) *program.Node {
			return &program.Node{ID: id, Kind: program.KindMPI, Function: paths.Paths[i].Function, Paths: []int{i}, Count: n}
		}
		p := &program.Program{Ranks: 1, Body: []*program.Node{call(1, 0, 1)}}
		for k := range c.sends {
			p.Body = append(p.Body, call(2+k, 1, 2/int64(c.sends)))
		}
		c.folded.ID, c.folded.Kind = 5, program.KindOther
		p.Body = append(p.Body, &c.folded)
		v := newVerifier(p, s, paths)
		v.profiled, v.sums = new(profiled), true
		v.profiled.add(slices.Clone(rows))
		differs, err := v.thread(rundir.StructureThread{}, 0)
		if err != nil || differs != c.thread {
			t.Errorf("%s: %q, %v", name, differs, err)
		}
		if c.thread != "" {
			continue
		}
		if differs := v.lines(v.profiled); differs != c.lines {
			t.Errorf("%s: %q, want %q", name, differs, c.lines)
		}
		if want := "the program is folded to fit into its file: the number of each call was compared, of 2 lines that it sums up the number of their calls in all"; v.made.Why != want {
			t.Errorf("%s: %q", name, v.made.Why)
		}
	}
}
