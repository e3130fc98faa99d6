package program

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// coded is the code of a function, by what comes next: calls have the numbers from 0, headers those behind them, and
// the entry and the end the last one. Calls are in the loops that of says.
func coded(parents, of []int, next, skip map[int][]int32) *Code {
	c := &Code{}
	for _, p := range parents {
		c.Loops = append(c.Loops, Loop{Parent: p, File: "a.c", Line: 1})
	}
	for i, l := range of {
		c.Sites = append(c.Sites, Site{Offset: uint64(i + 1), Loop: l})
	}
	for k := range c.Outside() + 1 {
		c.Next, c.Skip = append(c.Next, next[int(k)]), append(c.Skip, skip[int(k)])
	}
	within := func(node int32, loop int) bool {
		at := -1
		switch {
		case node == c.Outside():
			return loop < 0
		case int(node) >= len(of):
			at = int(node) - len(of)
		default:
			at = of[node]
		}
		for at > loop {
			at = parents[at]
		}
		return at == loop
	}
	for loop := -1; loop < len(parents); loop++ {
		var rows []int32
		for k := range of {
			if within(int32(k), loop) {
				rows = append(rows, int32(k))
			}
		}
		bits := make([]byte, (len(rows)*len(rows)+7)/8)
		for i, a := range rows {
			seen := make(map[int32]bool)
			for open := []int32{a}; len(open) > 0; {
				at := open[len(open)-1]
				open = open[:len(open)-1]
				for _, to := range slices.Concat(c.Next[at], c.Skip[at]) {
					if !seen[to] && to != c.Outside() && within(to, loop) && (loop < 0 || to != c.Header(loop)) {
						seen[to] = true
						open = append(open, to)
					}
				}
			}
			for k, b := range rows {
				if bit := i*len(rows) + k; seen[b] {
					bits[bit/8] |= 1 << (bit % 8)
				}
			}
		}
		c.Follows = append(c.Follows, bits)
	}
	return c
}

// outline is a program in one line.
func outline(list []*Node) string {
	var words []string
	for _, n := range list {
		switch n.Kind {
		case KindLoop:
			text := "FOR " + n.Trips.Expression
			if n.Variable != "" {
				text = "FOR " + n.Variable + " " + n.Trips.Expression
			}
			for _, x := range []struct {
				is   bool
				text string
			}{{n.Trips.AtLeast, " or more"}, {n.Trips.AtMost, " or fewer"}, {n.Trips.Likely, " likely"}, {n.Trips.WithCalls, " with calls"}, {n.StandsFor > 1, fmt.Sprintf(" (%d)", n.StandsFor)}} {
				if x.is {
					text += x.text
				}
			}
			words = append(words, text+"{"+outline(n.Body)+"}")
		case KindIf:
			what := strings.Join(slices.DeleteFunc([]string{n.RanksText, n.WhenText}, func(s string) bool { return s == "" }), " and ")
			if n.When != nil && n.When.Kind == WhenUnknown {
				what = "?"
			}
			if what = "IF " + what; what == "IF " {
				what = "ELSE"
			}
			words = append(words, what+"{"+outline(n.Body)+"}")
		case KindCall:
			words = append(words, n.Function+"{"+outline(n.Body)+"}")
		case KindMPI:
			words = append(words, strings.TrimPrefix(n.Function, "MPI_"))
		}
	}
	return strings.Join(words, " ")
}

// Where the calls show how loops go round, that is found; where they do not, it is said.
func TestWays(t *testing.T) {
	// A loop of a loop of A, with B at times.
	nested := func(again []int32) *Code {
		return coded([]int{-1, 0}, []int{1, 0}, map[int][]int32{0: {1, 2, 3, 4}, 1: {2, 4}, 2: {3}, 3: {0}, 4: {2}}, map[int][]int32{2: again})
	}
	for name, c := range map[string]struct {
		code  *Code
		calls []string // of each rank
		want  string
	}{
		// FOR { FOR { A, left in the middle, B } C at times }
		"a loop that is left in the middle": {
			coded([]int{-1, 0}, []int{1, 1, 0}, map[int][]int32{0: {1, 2, 3, 5}, 1: {4}, 2: {3, 5}, 3: {4}, 4: {0}, 5: {3}}, nil),
			[]string{strings.Repeat("ABABA"+"ABA"+"AC", 4)},
			"FOR i 12{FOR j 3,2,1 in turn{A IF j is not the last{B}} IF i % 3 == 2{C}}",
		},
		"an inner loop that may belong to two trips":  {nested(nil), []string{"AAABAAAAABAA"}, "FOR 3 or more{FOR 2..5 or fewer{A} IF ?{B}}"},
		"inner loops that are alike are likely":       {nested(nil), []string{strings.Repeat("AAAAB", 6)}, "FOR i 6 likely{FOR j 4 likely{A} B}"},
		"a loop that nothing else is in":              {coded([]int{-1, 0}, []int{1}, map[int][]int32{0: {1, 2, 3}, 1: {2}, 2: {0}, 3: {1}}, nil), []string{"AAAAAA"}, "FOR i 6 (2){A}"},
		"trips that other ranks count":                {nested(nil), []string{"AAAAAA", "BBB", "BBB"}, "FOR 1 on rank 0, else 3 or more{IF rank == 0{FOR 6 or fewer{A}} ELSE{B}}"},
		"a second loop that can make no trip":         {coded([]int{-1, 0, 0}, []int{1, 2}, map[int][]int32{0: {3, 4}, 1: {2, 4, 5}, 2: {3}, 3: {0}, 4: {1}, 5: {2}}, map[int][]int32{0: {2, 5}}), []string{"AAAABAAAAAAAABAAAAB"}, "FOR 3 or more{FOR 4..8 or fewer{A} FOR 1{B}}"},
		"no trip without calls between":               {coded([]int{-1, 0}, []int{1, 0}, map[int][]int32{0: {1, 3}, 1: {2, 4}, 2: {3}, 3: {0}, 4: {2}}, nil), []string{"AAABAAAAABAAB"}, "FOR i 3{FOR j 2..5{A} B}"},
		"trips without calls":                         {coded([]int{-1}, []int{0}, map[int][]int32{0: {1, 2}, 1: {0, 1, 2}, 2: {1}}, nil), []string{"AAAA"}, "FOR i 4 with calls{A}"},
		"two calls that may be of two trips":          {coded([]int{-1}, []int{0, 0}, map[int][]int32{0: {1, 2, 3}, 1: {2, 3}, 2: {0, 1, 2, 3}, 3: {2}}, nil), []string{"ABAAB"}, "FOR 3 or more with calls{A IF ?{B}}"},
		"ranks that differ in what they do in a loop": {coded([]int{-1}, []int{0, 0}, map[int][]int32{0: {1, 2, 3}, 1: {2, 3}, 2: {0, 1, 2, 3}, 3: {2}}, nil), []string{"BBBBB", "ABABABABAB", "AAAAA"}, "FOR i 5 with calls{IF rank != 0{A} IF rank != size-1{B}}"},
		"calls at regular trips speak for them":       {coded([]int{-1}, []int{0, 0}, map[int][]int32{0: {1, 2, 3}, 1: {2, 3}, 2: {0, 1, 2, 3}, 3: {2}}, nil), []string{strings.Repeat("ABAA", 5)}, "FOR i 15 with calls{A IF i % 3 == 0{B}}"},
	} {
		t.Run(name, func(t *testing.T) {
			in := &Input{Worlds: []int{len(c.calls)}, Functions: []Function{{Name: "main", File: "a.c", Code: c.code}}, Paths: []Path{{}}}
			for i := range c.code.Sites {
				in.Paths = append(in.Paths, Path{MPI: "MPI_" + string(rune('A'+i)), Whole: true, Steps: []Step{{Offset: uint64(i + 1), File: "a.c", Line: i + 2}}})
			}
			for rank, calls := range c.calls {
				x := Thread{Rank: rank}
				for _, call := range calls {
					x.Calls.Path = append(x.Calls.Path, uint32(call-'A'+1))
				}
				in.Threads = append(in.Threads, x)
			}
			s, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(s.Solve().Body); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// A function that is called in each trip and makes its calls in a loop may have been called more often than it seems.
func TestWaysThroughFunctions(t *testing.T) {
	main := coded([]int{-1}, []int{0, 0}, map[int][]int32{0: {1, 2, 3}, 1: {2, 3}, 2: {0}, 3: {2}}, nil)
	inner := coded([]int{-1}, []int{0}, map[int][]int32{0: {1, 2}, 1: {0}, 2: {1}}, nil)
	in := &Input{Worlds: []int{1}, Functions: []Function{{Name: "main", File: "a.c", Code: main}, {Name: "f", File: "a.c", Code: inner}}, Paths: []Path{
		{},
		{MPI: "MPI_A", Whole: true, Steps: []Step{{Offset: 1, File: "a.c", Line: 2}, {Function: 1, Offset: 1, File: "a.c", Line: 20}}},
		{MPI: "MPI_B", Whole: true, Steps: []Step{{Offset: 2, File: "a.c", Line: 3}}},
	}}
	in.Threads = []Thread{{Calls: Calls{Path: []uint32{1, 1, 1, 1, 2, 1, 1, 1, 1, 2}}}}
	for want, always := range map[string]bool{"FOR i 2 likely{f{FOR j 4 likely{A}} B}": false, "FOR i 2{f{FOR j 4{A}} B}": true} {
		if always { // B is called in each trip
			main.Next[0] = []int32{1}
		}
		s, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := outline(s.Solve().Body); got != want && always == (len(main.Next[0]) == 1) {
			t.Errorf("%s\nwant %s", got, want)
		}
		main.Next[0] = []int32{1, 2, 3}
	}
}

// Where the machine code of what is called is known, a shorter call path from the same place is another trip, not the
// end of the call by a jump.
func TestWaysOfShorterPaths(t *testing.T) {
	main := coded([]int{-1}, []int{0}, map[int][]int32{0: {1, 2}, 1: {0}, 2: {1}}, nil)
	in := &Input{Worlds: []int{1}, Functions: []Function{{Name: "main", File: "a.c", Code: main}, {Name: "f", File: "a.c", Code: coded(nil, []int{-1}, map[int][]int32{0: {1}, 1: {0}}, nil)}}, Paths: []Path{
		{},
		{MPI: "MPI_A", Whole: true, Steps: []Step{{Offset: 1, File: "a.c", Line: 2}, {Function: 1, Offset: 1, File: "a.c", Line: 20}}},
		{MPI: "MPI_B", Whole: true, Steps: []Step{{Offset: 1, File: "a.c", Line: 2}}},
	}}
	in.Threads = []Thread{{Calls: Calls{Path: []uint32{1, 2, 1, 2, 1, 2, 1, 2}}}}
	s, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Solve().Body[0]; got.Kind != KindLoop || got.Trips.Total != 8 {
		t.Errorf("%s", outline(s.Solve().Body))
	}
}

// Machine code that does not allow the calls that were made is not used for any of them.
func TestCodeThatContradicts(t *testing.T) {
	in := &Input{
		Worlds: []int{1}, Functions: []Function{{Name: "main", File: "a.c", Code: coded([]int{}, []int{-1, -1}, map[int][]int32{0: {1}, 1: {2}, 2: {0}}, nil)}}, Paths: []Path{{}},
		Threads: []Thread{{Calls: Calls{Path: []uint32{2, 1, 1, 2, 2, 1}}}},
	}
	for i, mpi := range []string{"MPI_A", "MPI_B"} {
		in.Paths = append(in.Paths, Path{MPI: mpi, Whole: true, Steps: []Step{{Offset: uint64(i + 1), File: "a.c", Line: i + 2}}})
	}
	s, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	p := s.Solve()
	if p.Basis != ByOrder || len(p.Why) == 0 || !strings.HasPrefix(p.Why[0], "The machine code of main does not allow the calls that it made: ") {
		t.Errorf("by %s: %q", p.Basis, p.Why)
	}
}

// A sequence may be cut anywhere: also in the first trip of a loop for whose trips nothing speaks.
func TestCutInLoopsThatNothingSpeaksFor(t *testing.T) {
	// FOR { A at times, B at times, IF … { FOR { C } D } }
	code := coded([]int{-1, 0}, []int{0, 0, 1, 0}, map[int][]int32{0: {1, 4, 5, 6}, 1: {4, 5, 6}, 2: {3, 5}, 3: {4, 6}, 4: {0, 1, 4, 5, 6}, 5: {2}, 6: {4}}, nil)
	whole := strings.Repeat("ABCCCD", 4)
	for n := 1; n <= len(whole); n++ {
		in := &Input{Worlds: []int{1}, Functions: []Function{{Name: "main", File: "a.c", Code: code}}, Paths: []Path{{}}, Threads: []Thread{{Cut: n < len(whole)}}}
		for i := range code.Sites {
			in.Paths = append(in.Paths, Path{MPI: "MPI_" + string(rune('A'+i)), Whole: true, Steps: []Step{{Offset: uint64(i + 1), File: "a.c", Line: i + 2}}})
		}
		for _, call := range whole[:n] {
			in.Threads[0].Calls.Path = append(in.Threads[0].Calls.Path, uint32(call-'A'+1))
		}
		s, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Solve().Check(); err != nil {
			t.Errorf("%s: %v", whole[:n], err)
		}
	}
}
