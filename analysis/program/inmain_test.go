package program

import (
	"fmt"
	"slices"
	"testing"
)

// A main function is never in a loop: what takes turns with it, as functions that were inlined into it do in a trace,
// is called by it. What comes before or behind it, and has addresses, is a function before or behind it.
func TestOutermostFunction(t *testing.T) {
	const main, solve, halo, setup, worker = 0, 1, 2, 3, 4
	for name, c := range map[string]struct {
		offsets  bool
		mainName string
		setup    bool // before all others
		turns    bool
		want     string
	}{
		"inlined":                     {false, "main", false, true, "MPI_Init FOR halo solve MPI_Finalize"},
		"inlined, of another name":    {false, "prog", false, true, "MPI_Init FOR halo solve MPI_Finalize"},
		"inlined, setup too":          {false, "main", true, true, "setup FOR halo solve MPI_Finalize"},
		"on a stack of its own":       {true, "main", false, true, "MPI_Init FOR halo solve MPI_Finalize"},
		"a constructor and addresses": {true, "main", true, false, "setup main halo MPI_Finalize"},
	} {
		in := calling([]int{2}, Function{Name: c.mainName}, Function{Name: "solve"}, Function{Name: "halo"}, Function{Name: "setup"}, Function{Name: "worker"})
		start, end := in.call(main, 1, "MPI_Init"), in.call(main, 30, "MPI_Finalize")
		if c.setup {
			start = in.call(setup, 90, "MPI_Init")
		}
		reduce, threaded := in.call(solve, 50, "MPI_Allreduce"), in.call(worker, 70, "MPI_Barrier")
		in.Paths = append(in.Paths, Path{MPI: "MPI_Sendrecv", Whole: true, Steps: []Step{{Function: main, Offset: 12, File: "a.c", Line: 12}, {Function: halo, Offset: 60, File: "a.c", Line: 60}}})
		exchange := uint32(len(in.Paths) - 1)
		for i := range in.Paths {
			for k := range in.Paths[i].Steps {
				if !c.offsets {
					in.Paths[i].Steps[k].Offset = 0
				}
			}
		}
		for rank := range 2 {
			calls := []uint32{start}
			for trip := range 9 {
				calls = append(calls, exchange)
				for k := 0; c.turns && k <= trip%2; k++ {
					calls = append(calls, reduce)
				}
			}
			in.Threads = append(in.Threads, Thread{Rank: rank, Calls: Calls{Path: append(calls, end)}})
			if c.turns {
				in.Threads = append(in.Threads, Thread{Rank: rank, Thread: 1, Calls: Calls{Path: []uint32{threaded, threaded}}})
			}
		}
		s, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		p := reread(t, s.Solve())
		got := ""
		var roots []string
		for _, n := range p.Body {
			roots = append(roots, fmt.Sprint(n.Function, n.Threads))
		}
		list := p.Body
		if c.turns {
			list = list[:1]
		}
		Walk(list, func(n *Node, round []*Node) {
			looped := slices.ContainsFunc(round, func(x *Node) bool { return x.Kind == KindLoop })
			switch {
			case n.Kind == KindCall && n.Threads != nil: // in which threads began
			case n.Kind == KindLoop && !looped && n.Trips.Most > 1:
				if n.Trips.Most != 9 {
					t.Errorf("%s: %d trips", name, n.Trips.Most)
				}
				if c.turns {
					got += "FOR "
				}
			case n.Kind == KindCall:
				got += n.Function + " "
				if n.Function == c.mainName && looped {
					t.Errorf("%s: the main function is in a loop", name)
				}
			case n.Function == "MPI_Finalize":
				got += n.Function
			case n.Function == "MPI_Init" && !c.setup:
				got += n.Function + " "
			}
		})
		if got != c.want || c.turns && (len(roots) != 2 || roots[1] != "worker[1]") {
			t.Errorf("%s: %s, want %s; roots %q", name, got, c.want, roots)
		}
		for i := range in.Threads {
			follows(t, p, &in.Threads[i])
		}
	}
}
