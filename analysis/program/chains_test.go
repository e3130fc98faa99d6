package program

import (
	"slices"
	"strings"
	"testing"
)

// A call path that lacks functions that end with a call is what the machine code allows after the call before it; where
// that does not say how often a loop went round, this is said.
func TestChains(t *testing.T) {
	// A loop that calls what a pointer says; then functions, whose calls have the lines of their places.
	main := coded([]int{-1}, []int{0}, map[int][]int32{0: {1, 2}, 1: {0}, 2: {1}}, nil)
	ended := func(next map[int][]int32, sites int) *Code {
		return coded(nil, slices.Repeat([]int{-1}, sites), next, nil)
	}
	at := func(function, site int) Step {
		return Step{Function: function, Offset: uint64(site), File: "a.c", Line: 10*function + site}
	}
	through := func(steps ...Step) []Step { return append([]Step{at(0, 1)}, steps...) }
	first := ended(map[int][]int32{0: {1}, 1: {2}, 2: {0}}, 2) // A B
	direct := through()
	for name, c := range map[string]struct {
		f, g    *Code
		b       [][]Step // what B may be
		unclear bool
		again   bool // what main calls may call itself at its end
		calls   string
		want    string
		why     string
	}{
		"one chain":                                    {f: first, b: [][]Step{through(at(1, 2)), direct}, calls: strings.Repeat("AB", 20), want: "FOR i 20{f{A B}}"},
		"chains that end alike":                        {f: ended(map[int][]int32{0: {1, 2}, 1: {3}, 2: {3}, 3: {0}}, 3), b: [][]Step{through(at(1, 2)), through(at(1, 3))}, calls: strings.Repeat("AB", 20), want: "FOR i 20{f{A B}}", why: "Functions that end with a call are on no call path, and the machine code allows several: MPI_B in f (a.c:12) may be in f (a.c:13)."},
		"a chain for each case":                        {f: ended(map[int][]int32{0: {2}, 1: {3}, 2: {4}, 3: {4}, 4: {0, 1}}, 4), b: [][]Step{through(at(1, 3)), through(at(1, 4))}, calls: strings.Repeat("ABbB", 10), want: "FOR i 20{f{IF i % 2 == 0{A B} ELSE{C B}}}"},
		"the end of a function or a call of its own":   {f: first, b: [][]Step{through(at(1, 2)), direct}, calls: strings.Repeat("ABB", 10), want: "FOR i 20{IF i % 2 == 0{f{A B}} ELSE{B}}"},
		"either, where the code allows both":           {f: ended(map[int][]int32{0: {1, 2}, 1: {2}, 2: {0}}, 2), b: [][]Step{through(at(1, 2)), direct}, calls: "ABBABABBABAAB", want: "FOR 8 or more{IF ?{f{A IF ?{B}}} IF ?{B}}"},
		"the end of one, where nothing speaks for two": {f: ended(map[int][]int32{0: {1, 2}, 1: {2}, 2: {0}}, 2), b: [][]Step{through(at(1, 2)), direct}, calls: strings.Repeat("ABA", 10), want: "FOR i 20{f{A IF i % 2 == 0{B}}}", why: "Where a function that is called through a pointer may end with a call of MPI or without, such a call after it is taken for its end, not for one through the same pointer: MPI_B in f (a.c:12)."},
		"several functions":                            {f: first, g: first, b: [][]Step{through(at(1, 2)), through(at(2, 2)), direct}, calls: strings.Repeat("ABaB", 10), want: "FOR i 20{IF i % 2 == 0{f{A B}} ELSE{g{A B}}}"},
		"the call at the end of one that another ends": {f: first, g: ended(map[int][]int32{0: {1}, 1: {0}}, 1), b: [][]Step{through(at(1, 2), at(2, 1)), direct}, calls: strings.Repeat("AB", 20), want: "FOR i 20{f{A g{B}}}"},
		"chains that are too many":                     {f: first, b: [][]Step{direct}, unclear: true, calls: strings.Repeat("AB", 20), want: "FOR 20 or more{f{A} B}"},
		"one that may call itself at its end":          {f: ended(map[int][]int32{0: {1}, 1: {2}, 2: {0}}, 2), b: [][]Step{through(at(1, 2))}, again: true, calls: strings.Repeat("AB", 20), want: "FOR 20 or fewer{f{A B}}", why: "Functions that call themselves at their end do so without a trace on call paths, as if each time was a call in a.c:1: trips of the loops there may be fewer."},
		"code that is not known":                       {b: [][]Step{direct}, calls: strings.Repeat("AB", 20), want: "FOR 20 or more with calls{f{A} B}"},
	} {
		t.Run(name, func(t *testing.T) {
			in := &Input{Worlds: []int{1}, Functions: []Function{{Name: "main", Code: main}, {Name: "f", Code: c.f}, {Name: "g", Code: c.g}}, Paths: []Path{
				{},
				{MPI: "MPI_A", Whole: true, Steps: through(at(1, 1))},
				{MPI: "MPI_B", Whole: true, Steps: c.b[0], Others: c.b[1:], Unclear: c.unclear},
				{MPI: "MPI_A", Whole: true, Steps: through(at(2, 1))},
				{MPI: "MPI_C", Whole: true, Steps: through(at(1, 2))},
			}}
			for i := range in.Paths[1:] {
				in.Paths[1+i].Steps[0].Again = c.again
			}
			in.Threads = []Thread{{}}
			for _, call := range c.calls {
				in.Threads[0].Calls.Path = append(in.Threads[0].Calls.Path, uint32(1+strings.IndexRune("ABab", call)))
			}
			s, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			p := s.Solve()
			if got := outline(p.Body); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if got := strings.Join(p.Why, " "); got != c.why {
				t.Errorf("%q\nwant %q", got, c.why)
			}
			if p = reread(t, p); !strings.Contains(c.want, "?") {
				follows(t, p, &in.Threads[0])
			}
		})
	}
}

// Whom calls send to is counted by call path: where its calls are in several lines, only what holds for all is said.
func TestPartnersOfChains(t *testing.T) {
	code := coded(nil, []int{-1, -1}, map[int][]int32{0: {1}, 1: {2}, 2: {0}}, nil)
	main := coded(nil, []int{-1, -1}, map[int][]int32{0: {1}, 1: {2}, 2: {0}}, nil)
	step := func(function, site int) Step {
		return Step{Function: function, Offset: uint64(site), File: "a.c", Line: 10*function + site}
	}
	for want, peers := range map[string][]int32{"": {0, 1}, "to 1": {1}} {
		in := &Input{Worlds: []int{4}, Functions: []Function{{Name: "main", Code: main}, {Name: "f", Code: code}, {Name: "g", Code: code}}, Paths: []Path{
			{},
			{MPI: "MPI_A", Whole: true, Steps: []Step{step(0, 1), step(1, 1)}},
			{MPI: "MPI_A", Whole: true, Steps: []Step{step(0, 1), step(2, 1)}},
			{MPI: "MPI_Send", Whole: true, Steps: []Step{step(0, 1), step(1, 2)}, Others: [][]Step{{step(0, 1), step(2, 2)}}},
		}}
		for rank, first := range []uint32{1, 2} {
			x := Thread{Rank: 2 + rank, Calls: Calls{Path: []uint32{first, 3}}}
			for _, p := range peers {
				x.Moved = append(x.Moved, Moved{Path: 3, World: true, Peer: p, Root: -1, Count: 1, Least: 8, Most: 8, Bytes: 8})
			}
			in.Threads = append(in.Threads, x)
		}
		s, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		Walk(s.Solve().Body, func(n *Node, _ []*Node) {
			if n.Function != "MPI_Send" {
				return
			}
			lines++
			got := ""
			for _, p := range n.Peers {
				got += p.Way + " " + p.Text
			}
			if got != want || n.Bytes == nil || n.Bytes.Most != 8 {
				t.Errorf("%q, want %q; bytes %v", got, want, n.Bytes)
			}
		})
		if lines != 2 {
			t.Errorf("%d lines", lines)
		}
	}
}
