package program

import (
	"slices"
	"testing"
)

// straight is the code of a function whose calls follow each other in the order of their addresses.
func straight(loops []Loop, of []int, offsets []uint64) *Code {
	c := &Code{Loops: loops}
	for i, l := range of {
		c.Sites = append(c.Sites, Site{Offset: offsets[i], Loop: l})
	}
	f := &function{}
	f.relate(loops, of, nil)
	for k := range f.row {
		n := f.size[k]
		bits := make([]byte, (n*n+7)/8)
		for a := range of {
			for b := range of {
				i, j := f.row[k][a], f.row[k][b]
				if i >= 0 && j >= 0 && (b > a || f.common(of[a], of[b]) != k-1) {
					bit := int(i)*n + int(j)
					bits[bit/8] |= 1 << (bit % 8)
				}
			}
		}
		c.Follows = append(c.Follows, bits)
	}
	return c
}

// What is walked comes back call by call, with what the machine code says and without it; the tree has the trips.
func TestWalkIsExact(t *testing.T) {
	in := PlantedInput(3, 200, true)
	for _, without := range []bool{false, true} {
		in.WithoutCode = without
		s, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.groups) != 1 || !slices.Equal(s.Expand(0), in.Threads[0].Calls.Path) {
			t.Errorf("without code %v: %d groups, or not what was walked", without, len(s.groups))
		}
		p := s.Solve()
		by := ByCode
		if without {
			by = ByOrder
		}
		if p.Basis != by || p.Certain.Calls != 1 && !without {
			t.Errorf("%s, %+v", p.Basis, p.Certain)
		}
		Walk(p.Body, func(n *Node, _ []*Node) {
			if n.Kind == KindLoop && n.By != by {
				t.Errorf("loop %d is by %s, without code %v", n.ID, n.By, without)
			}
		})
		if without {
			continue
		}
		for r := range 3 {
			k := 0
			if err := p.Evaluate(r, 0, func(n *Node) bool {
				if k == len(in.Threads[r].Calls.Path) || !slices.Contains(n.Paths, int(in.Threads[r].Calls.Path[k])) {
					t.Fatalf("rank %d: call %d is %s", r, k, n.Function)
				}
				k++
				return true
			}); err != nil || k != len(in.Threads[r].Calls.Path) {
				t.Errorf("rank %d: %d calls of %d: %v", r, k, len(in.Threads[r].Calls.Path), err)
			}
		}
	}
}

// Threads that call MPI from several functions that nobody calls have one that stands for what calls these.
func TestSeveralRoots(t *testing.T) {
	in := &Input{Worlds: []int{1}, Functions: []Function{{Name: "main"}, {Name: "atexit"}}}
	in.Paths = []Path{{}, {MPI: "MPI_Init", Steps: []Step{{Function: 0, Line: 3}}, Whole: true}, {MPI: "MPI_Finalize", Steps: []Step{{Function: 1, Line: 9}}, Whole: true}, {MPI: "MPI_Barrier"}}
	in.Threads = []Thread{{Calls: Calls{Path: []uint32{1, 3, 2}}}}
	s, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Expand(0), in.Threads[0].Calls.Path) {
		t.Errorf("%v", s.Expand(0))
	}
	p := s.Solve()
	if len(p.Body) != 2 || p.Body[0].Function != "main" || p.Body[1].Function != "atexit" || len(p.Body[0].Body) != 2 {
		t.Errorf("%+v", p.Body)
	}
}

// A path whose caller is not known stands in the main function behind the call after which it was made: in two places,
// if it was made in two.
func TestUnknownCallers(t *testing.T) {
	in := &Input{Worlds: []int{1}, Functions: []Function{{Name: "main"}, {Name: "halo"}}}
	in.Paths = []Path{
		{}, {MPI: "MPI_Init", Steps: []Step{{Function: 0, Line: 3}}, Whole: true}, {MPI: "MPI_Barrier", Steps: []Step{{Function: 0, Line: 7}}, Whole: true},
		{MPI: "MPI_Send", Steps: []Step{{Function: 1, Line: 20}}},
	}
	calls := []uint32{1, 3}
	for range 6 {
		calls = append(calls, 2, 3)
	}
	in.Threads = []Thread{{Calls: Calls{Path: calls}}}
	s, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Expand(0), calls) {
		t.Errorf("%v", s.Expand(0))
	}
	p := s.Solve()
	if len(p.Body) != 3 || p.Body[0].Function != "MPI_Init" || p.Body[1].Function != "halo" || p.Body[2].Kind != KindLoop || p.Body[2].Trips.Expression != "6" {
		t.Fatalf("%+v", p.Body)
	}
	inner := p.Body[2].Body
	if len(inner) != 2 || inner[0].Function != "MPI_Barrier" || inner[1].Function != "halo" || !slices.Equal(inner[1].Body[0].Paths, []int{3}) || inner[1].Body[0].Count != 6 {
		t.Errorf("%+v", inner)
	}
}

// A program from a file that calls itself for ever is an error.
func TestEvaluateEnds(t *testing.T) {
	for name, body := range map[string][]*Node{
		"recursion": {{ID: 1, Kind: KindCall, Function: "f", Recursive: true, Body: []*Node{{ID: 2, Kind: KindRecursion, Function: "f"}}}},
		"no call":   {{ID: 1, Kind: KindRecursion, Function: "f"}},
		"variable":  {{ID: 1, Kind: KindIf, When: &When{Kind: WhenAt, Variable: "q"}}},
	} {
		p := &Program{Body: body}
		if err := p.Evaluate(0, 0, func(*Node) bool { return true }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
