package program

import (
	"slices"
	"testing"
)

// The rest of a function, which the compiler has made a function of its own, stands in the function: whether its
// beginning was inlined or not. A call of the same function elsewhere in it remains a call.
func TestRestOfFunction(t *testing.T) {
	inlined := []Inlined{{Function: "even", CallFile: "a.c", CallLine: 40}}
	for _, c := range []struct {
		name   string
		call   Step // of the rest
		merged bool
	}{
		{"inlined beginning", Step{Function: 0, Offset: 2, File: "a.c", Line: 14, Scopes: inlined}, true},
		{"another line", Step{Function: 0, Offset: 2, File: "a.c", Line: 17, Scopes: inlined}, false},
		{"in another function", Step{Function: 0, Offset: 2, File: "a.c", Line: 14, Scopes: []Inlined{{Function: "odd", CallFile: "a.c", CallLine: 40}}}, false},
	} {
		in := &Input{Worlds: []int{1}, Functions: []Function{{Name: "main", File: "a.c", Line: 30}, {Name: "even", File: "a.c", Line: 14}}}
		in.Paths = []Path{{},
			{MPI: "MPI_Barrier", Steps: []Step{{Function: 0, Offset: 1, File: "a.c", Line: 15, Scopes: inlined}}, Whole: true},
			{MPI: "MPI_Bcast", Steps: []Step{c.call, {Function: 1, Offset: 9, File: "a.c", Line: 16}}, Whole: true},
		}
		in.Threads = []Thread{{Calls: Calls{Path: []uint32{1, 2}}}}
		s, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.Expand(0), in.Threads[0].Calls.Path) {
			t.Errorf("%s: %v", c.name, s.Expand(0))
		}
		depth := 0
		Walk(s.Solve().Body, func(n *Node, round []*Node) {
			if n.Function == "MPI_Bcast" {
				depth = len(round)
			}
		})
		if want := map[bool]int{true: 1, false: 2}[c.merged]; depth != want {
			t.Errorf("%s: MPI_Bcast lies in %d lines, not in %d", c.name, depth, want)
		}
	}
	// A function of its own that calls its rest.
	in := &Input{Worlds: []int{1}, Functions: []Function{{Name: "main", File: "a.c", Line: 30}, {Name: "even", File: "a.c", Line: 14, Code: straight(nil, []int{-1, -1}, []uint64{5, 6})}, {Name: "even", File: "a.c", Line: 14}}}
	first := Step{Function: 0, Offset: 1, File: "a.c", Line: 40}
	in.Paths = []Path{{},
		{MPI: "MPI_Barrier", Steps: []Step{first, {Function: 1, Offset: 5, File: "a.c", Line: 15}}, Whole: true},
		{MPI: "MPI_Bcast", Steps: []Step{first, {Function: 1, Offset: 6, File: "a.c", Line: 14}, {Function: 2, Offset: 9, File: "a.c", Line: 16}}, Whole: true},
	}
	in.Threads = []Thread{{Calls: Calls{Path: []uint32{1, 2}}}}
	s, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Solve(); len(p.Body) != 1 || len(p.Body[0].Body) != 2 || p.Body[0].Body[1].Function != "MPI_Bcast" {
		Walk(p.Body, func(n *Node, round []*Node) { t.Errorf("%d %s %s", len(round), n.Kind, n.Function) })
	}
}
