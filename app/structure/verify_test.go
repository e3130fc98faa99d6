package structure

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/program"
	"moriens/trace/parquet"
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

// What lines say of MPI calls, their function and number, is compared with call paths and with the profile.
func TestVerifyLines(t *testing.T) {
	path := func(function, name string) rundir.NumberedPath {
		return rundir.NumberedPath{Function: function, Name: name}
	}
	paths := &rundir.CallPathTable{Paths: []rundir.NumberedPath{
		path("", "?"), path("MPI_Send", "MPI_Send@a.c:1<a.c:7"), path("MPI_Send", "MPI_Send@a.c:1<a.c:8"), path("MPI_Test", "MPI_Test@a.c:2"),
	}}
	row := func(thread int32, path string, count, records int64, paths int32) parquet.ProfileRow {
		return parquet.ProfileRow{Thread: thread, CallPath: path, Count: count, Records: records, Paths: paths}
	}
	byPath := []parquet.ProfileRow{
		row(0, "MPI_Send@a.c:1<a.c:7", 4, 4, 0), row(1, "MPI_Send@a.c:1<a.c:7", 2, 2, 0), row(0, "MPI_Send@a.c:1<a.c:8", 5, 5, 0), row(0, "MPI_Test@a.c:2", 90, 3, 0), row(1, "?", 7, 7, 0),
	}
	byPlace := []parquet.ProfileRow{row(0, "MPI_Send@a.c:1", 9, 9, 2), row(1, "MPI_Send@a.c:1<a.c:7", 2, 2, 0), row(0, "MPI_Test@a.c:2", 90, 3, 0)}
	line := func(id int, function string, count int64, paths ...int) *program.Node {
		return &program.Node{ID: id, Kind: program.KindMPI, Function: function, Count: count, Paths: paths}
	}
	for _, c := range []struct {
		lines         []*program.Node
		path, ofPlace string
	}{
		{[]*program.Node{line(1, "MPI_Send", 6, 1), line(2, "MPI_Send", 5, 2), line(3, "MPI_Test", 90, 3)}, "", ""},
		{[]*program.Node{line(1, "MPI_Send", 5, 1), line(2, "MPI_Send", 6, 2), line(3, "MPI_Test", 90, 3)}, "MPI_Send@a.c:1<a.c:7 was called 6 times, line 1 of the text says 5", ""},
		{[]*program.Node{line(1, "MPI_Send", 7, 1), line(2, "MPI_Send", 1, 1, 2), line(4, "MPI_Send", 3, 2), line(5, "MPI_Test", 90, 3)}, "", ""},
		{[]*program.Node{line(1, "MPI_Send", 7, 1), line(4, "MPI_Send", 3, 2), line(5, "MPI_Send", 2, 1, 2)}, "MPI_Send@a.c:1<a.c:7 was called 11 times, lines 4, 1, 5 of the text say 12 in all", "MPI_Send@a.c:1 was called 11 times, lines 1, 4, 5 of the text say 12 in all"},
		{[]*program.Node{line(1, "MPI_Send", 11, 1, 2)}, "MPI_Test@a.c:2 was called 90 times, and is in no line of the text", "MPI_Test@a.c:2 was called 90 times, and is in no line of the text"},
		{[]*program.Node{line(3, "MPI_Test", 3, 3)}, "MPI_Test@a.c:2 was called 90 times, line 3 of the text says 3", "MPI_Test@a.c:2 was called 90 times, line 3 of the text says 3"},
		{[]*program.Node{line(3, "MPI_Wait", 90, 3)}, "line 3 of the text is MPI_Wait, its calls are of MPI_Test (MPI_Test@a.c:2)", "line 3 of the text is MPI_Wait, its calls are of MPI_Test (MPI_Test@a.c:2)"},
		{[]*program.Node{line(3, "MPI_Test", 90, 4)}, "line 3 of the text has call path 4, which is not in callpaths.json", "line 3 of the text has call path 4, which is not in callpaths.json"},
	} {
		for _, rows := range [][]parquet.ProfileRow{byPath, byPlace} {
			v := newVerifier(&program.Program{Body: c.lines}, &rundir.Structure{}, paths)
			p := &profiled{places: rows[0].Paths > 0}
			p.add(rows)
			want := c.path
			if p.places {
				want = c.ofPlace
			}
			if got := cmp.Or(v.names(), v.lines(p)); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}

// Of threads with gaps the number of each call is compared: what follows in the file did not follow in the run.
func TestVerifyGaps(t *testing.T) {
	s := &rundir.Structure{
		Format: rundir.StructureFormat, Paths: []string{"MPI_Send@a.c:1", "MPI_Recv@a.c:2", "MPI_Test@a.c:3"},
		Symbols:   []rundir.StructureSymbol{{Before: 0, After: 1}, {Before: 2, After: 0}},
		Bodies:    []rundir.StructureBody{{Items: []rundir.StructureItem{{StructureCount: rundir.StructureCount{Symbol: 0, Times: 1}}, {StructureCount: rundir.StructureCount{Symbol: 1, Times: 1}}}}},
		Sequences: []rundir.StructureSequence{{Bursts: 2}},
	}
	paths := &rundir.CallPathTable{}
	var rows []parquet.ProfileRow
	for _, name := range s.Paths {
		function, _, _ := strings.Cut(name, "@")
		paths.Paths = append(paths.Paths, rundir.NumberedPath{Function: function, Name: name})
		rows = append(rows, parquet.ProfileRow{Rank: 1, Thread: 2, CallPath: name, Count: 2, Records: 2})
	}
	for _, c := range []struct {
		sends, tests int
		want         string
	}{
		{2, 2, ""}, {2, 1, ""},
		{1, 2, "MPI_Send@a.c:1 was called 2 times, in the program 1 time"},
		{3, 2, "MPI_Send@a.c:1 was called 2 times, in the program 3 times"},
		{2, 3, "MPI_Test@a.c:3 was called 2 times, in the program 3 times"},
		{2, 0, "MPI_Test@a.c:3 was called 2 times, and is in no line of the text"},
	} {
		p := &program.Program{Ranks: 2}
		for i, n := range []int{c.sends, 2, c.tests} {
			for range n {
				p.Body = append(p.Body, &program.Node{Kind: program.KindMPI, Function: paths.Paths[i].Function, Paths: []int{i}})
			}
		}
		v := newVerifier(p, s, paths)
		v.profiled, v.gappy = new(profiled), true
		v.profiled.add(rows)
		got, err := v.thread(rundir.StructureThread{ThreadName: rundir.ThreadName{Rank: 1, Thread: 2}}, 1)
		if err != nil || got != c.want || v.made.Calls != 6 {
			t.Errorf("%+v: %q, %v, %d calls", c, got, err, v.made.Calls)
		}
	}
}

// Where windows of a trace touch, what a burst begins with is not known by itself: it is what the one before it ended
// with.
func TestVerifyTouchingWindows(t *testing.T) {
	s := &rundir.Structure{
		Format: rundir.StructureFormat, Paths: []string{"?", "MPI_Init@a.c:1", "MPI_Recv@a.c:2", "MPI_Send@a.c:3", "MPI_Finalize@a.c:4"},
		Symbols: []rundir.StructureSymbol{{Before: 1, After: 2}, {Before: 0, After: 3}, {Before: 0, After: 3}, {Before: 3, After: 4}},
		Bodies: []rundir.StructureBody{{Items: []rundir.StructureItem{
			{StructureCount: rundir.StructureCount{Symbol: 0, Times: 1}}, {StructureCount: rundir.StructureCount{Symbol: 1, Times: 2}}, {StructureCount: rundir.StructureCount{Symbol: 3, Times: 1}},
		}}},
		Sequences: []rundir.StructureSequence{{Bursts: 4}},
	}
	paths := &rundir.CallPathTable{}
	for _, name := range s.Paths {
		paths.Paths = append(paths.Paths, rundir.NumberedPath{Name: name})
	}
	for sends, want := range map[int]string{2: "", 1: "call 4 is MPI_Send@a.c:3", 3: "call 5 is MPI_Finalize@a.c:4"} {
		p := &program.Program{}
		for _, n := range slices.Concat([]int{1, 2}, slices.Repeat([]int{3}, sends), []int{4}) {
			p.Body = append(p.Body, &program.Node{Kind: program.KindMPI, Paths: []int{n}})
		}
		differs, err := newVerifier(p, s, paths).thread(rundir.StructureThread{}, 0)
		if err != nil || !strings.HasPrefix(differs, want) || want == "" && differs != "" {
			t.Errorf("%d: %q, %v", sends, differs, err)
		}
	}
}

// The calls before the first line without a rule are counted once.
func TestVerifyCountsOnce(t *testing.T) {
	s := &rundir.Structure{
		Format: rundir.StructureFormat, Paths: []string{"MPI_Init@a.c:1", "MPI_Send@a.c:2", "MPI_Finalize@a.c:3"},
		Symbols:   []rundir.StructureSymbol{{Before: 0, After: 1}, {Before: 1, After: 2}},
		Bodies:    []rundir.StructureBody{{Items: []rundir.StructureItem{{StructureCount: rundir.StructureCount{Symbol: 0, Times: 1}}, {StructureCount: rundir.StructureCount{Symbol: 1, Times: 1}}}}},
		Sequences: []rundir.StructureSequence{{Bursts: 2}},
	}
	paths := &rundir.CallPathTable{}
	call := func(i int, each ...program.RankSum) *program.Node {
		return &program.Node{Kind: program.KindMPI, Function: "MPI_Send", Paths: []int{i}, Each: each}
	}
	for _, name := range s.Paths {
		paths.Paths = append(paths.Paths, rundir.NumberedPath{Name: name})
	}
	p := &program.Program{Body: []*program.Node{
		call(0), {Kind: program.KindIf, When: &program.When{Kind: program.WhenUnknown}, Body: []*program.Node{call(1, program.RankSum{Ranks: []int{0}, Count: 1})}}, call(2),
	}}
	v := newVerifier(p, s, paths)
	if differs, err := v.thread(rundir.StructureThread{}, 0); err != nil || differs != "" || v.made.Calls != 3 || v.made.Sequences != 0 {
		t.Errorf("%q, %v, %+v", differs, err, v.made)
	}
}

// A thread that ended in the middle has not made all calls of the program, but none more often.
func TestVerifyCutByNumber(t *testing.T) {
	s := &rundir.Structure{
		Format: rundir.StructureFormat, Paths: []string{"MPI_Init@a.c:1", "MPI_Send@a.c:2", "MPI_Finalize@a.c:3"},
		Symbols: []rundir.StructureSymbol{{Before: 0, After: 1}, {Before: 1, After: 1}, {Before: 1, After: 2}},
		Bodies: []rundir.StructureBody{
			{Items: []rundir.StructureItem{{StructureCount: rundir.StructureCount{Symbol: 0, Times: 1}}, {StructureLoop: rundir.StructureLoop{Mixed: []rundir.StructureCount{{Symbol: 1, Times: 4}}}}}},
			{Items: []rundir.StructureItem{{StructureCount: rundir.StructureCount{Symbol: 0, Times: 1}}, {StructureLoop: rundir.StructureLoop{Mixed: []rundir.StructureCount{{Symbol: 2, Times: 1}, {Symbol: 1, Times: 4}}}}}},
		},
		Sequences: []rundir.StructureSequence{{Body: 0, Bursts: 5, Mixed: 4}, {Body: 1, Bursts: 6, Mixed: 5}},
	}
	paths := &rundir.CallPathTable{}
	for _, name := range s.Paths {
		paths.Paths = append(paths.Paths, rundir.NumberedPath{Name: name})
	}
	for _, c := range []struct {
		sequence int32
		sends    int
		equal    bool
	}{{0, 5, true}, {0, 9, true}, {0, 4, false}, {1, 5, true}, {1, 9, false}} {
		p := &program.Program{Body: []*program.Node{{Kind: program.KindMPI, Function: "MPI_Init", Paths: []int{0}}}}
		for range c.sends {
			p.Body = append(p.Body, &program.Node{Kind: program.KindMPI, Function: "MPI_Send", Paths: []int{1}})
		}
		p.Body = append(p.Body, &program.Node{Kind: program.KindMPI, Function: "MPI_Finalize", Paths: []int{2}})
		v := newVerifier(p, s, paths)
		differs, err := v.thread(rundir.StructureThread{Sequence: c.sequence}, 0)
		if err != nil || (differs == "") != c.equal || v.made.Cut != 1-int(c.sequence) {
			t.Errorf("%+v: %q, %v, %+v", c, differs, err, v.made)
		}
	}
}
