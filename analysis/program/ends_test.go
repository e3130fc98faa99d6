package program

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// A rank whose calls end in a loop has no number of trips where others have left it; its line and the head say so.
func TestRanksThatEnd(t *testing.T) {
	for name, c := range map[string]struct {
		trips      [4]int
		ends       [4]bool
		expression string
		note, why  string
	}{
		"all left it":                 {[4]int{40, 40, 40, 40}, [4]bool{}, "40", "", ""},
		"one died":                    {[4]int{40, 40, 40, 14}, [4]bool{3: true}, "40", "calls of rank 3 end in it", "Calls of rank 3 end before MPI_Finalize: rules are of what they did until then."},
		"two died":                    {[4]int{5, 40, 40, 14}, [4]bool{true, false, false, true}, "40", "calls of ranks 0, 3 end in it", "Calls of ranks 0, 3 end before MPI_Finalize: rules are of what they did until then."},
		"all died":                    {[4]int{21, 21, 21, 20}, [4]bool{true, true, true, true}, "20 on rank 3, else 21", "calls of all ranks end in it", "Calls of all ranks end before MPI_Finalize: rules are of what they did until then."},
		"one is short":                {[4]int{10, 10, 15, 10}, [4]bool{}, "15 on rank 2, else 10", "", ""},
		"half":                        {[4]int{4, 4, 9, 9}, [4]bool{}, "9 if rank >= 2, else 4", "", ""},
		"one died, others differ":     {[4]int{9, 5, 5, 6}, [4]bool{1: true, 2: true}, "5..9 by rank", "calls of ranks 1..2 end in it", "Calls of ranks 1..2 end before MPI_Finalize: rules are of what they did until then."},
		"one died, others by formula": {[4]int{1, 2, 2, 4}, [4]bool{2: true}, "rank+1", "calls of rank 2 end in it", "Calls of rank 2 end before MPI_Finalize: rules are of what they did until then."},
		"three":                       {[4]int{4, 4, 9, 8}, [4]bool{}, "4..9 by rank", "", ""},
	} {
		in := calling([]int{4}, Function{Name: "main", Code: straight([]Loop{{Parent: -1}}, []int{-1, 0, 0, -1}, []uint64{1, 2, 3, 4})})
		start, a, b, end := in.call(0, 1, "MPI_Init"), in.call(0, 2, "MPI_Barrier"), in.call(0, 3, "MPI_Allreduce"), in.call(0, 4, "MPI_Finalize")
		for rank := range 4 {
			calls := []uint32{start}
			for k := range c.trips[rank] {
				calls = append(calls, a)
				if !c.ends[rank] || k < c.trips[rank]-1 { // it ends in the middle of a trip
					calls = append(calls, b)
				}
			}
			if !c.ends[rank] {
				calls = append(calls, end)
			}
			in.Threads = append(in.Threads, Thread{Rank: rank, Calls: Calls{Path: calls}, Cut: c.ends[rank]})
		}
		s, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		p := reread(t, s.Solve())
		if got := strings.Join(p.Why, "; "); got != c.why {
			t.Errorf("%s: %q, want %q", name, got, c.why)
		}
		for i := range in.Threads {
			follows(t, p, &in.Threads[i])
		}
		n := p.Body[1]
		if n.Kind != KindLoop || n.Trips.Expression != c.expression || n.Note != c.note {
			t.Errorf("%s: %s, %q, want %s, %q", name, n.Trips.Expression, n.Note, c.expression, c.note)
		}
		Walk(n.Body, func(x *Node, _ []*Node) {
			if x.Kind == KindIf {
				t.Errorf("%s: a condition: %+v", name, x)
			}
		})
	}
}

// What a rank did not get to breaks no rule: neither of what all others do, nor of what some of them do, nor by trip.
func TestConditionsThatRanksDoNotReach(t *testing.T) {
	for _, c := range []struct {
		last      [4]int // calls of each rank; 0: all
		condition map[string]string
		note      string
	}{
		{[4]int{}, map[string]string{"MPI_Send": "rank % 2 == 1", "MPI_Bcast": "i % 3 == 2", "MPI_Recv": "rank == 0", "MPI_Scan": "i == 9"}, ""},
		{[4]int{3: 15}, map[string]string{"MPI_Send": "rank % 2 == 1", "MPI_Bcast": "i % 3 == 2", "MPI_Recv": "rank == 0", "MPI_Scan": "i == 9"}, "calls of rank 3 end before it"},
		{[4]int{3: 16}, map[string]string{"MPI_Send": "rank % 2 == 1", "MPI_Bcast": "i % 3 == 2", "MPI_Recv": "rank == 0", "MPI_Scan": "i == 9"}, "calls of rank 3 end before it"},
		{[4]int{3: 17}, map[string]string{"MPI_Send": "rank % 2 == 1", "MPI_Bcast": "i % 3 == 2", "MPI_Recv": "rank == 0", "MPI_Scan": "i == 9"}, "calls of rank 3 end before it"},
		{[4]int{1: 4, 3: 17}, map[string]string{"MPI_Send": "rank % 2 == 1", "MPI_Bcast": "i % 3 == 2", "MPI_Recv": "rank == 0", "MPI_Scan": "i == 9"}, "calls of ranks 1, 3 end before it"},
		{[4]int{0: 3}, map[string]string{"MPI_Send": "rank % 2 == 1", "MPI_Bcast": "i % 3 == 2", "MPI_Scan": "i == 9"}, ""},
		{[4]int{1: 24}, map[string]string{"MPI_Send": "rank % 2 == 1", "MPI_Bcast": "i % 3 == 2", "MPI_Recv": "rank == 0", "MPI_Scan": "i == 9"}, "calls of rank 1 end before it"},
	} {
		in := calling([]int{4}, Function{Name: "main", Code: straight([]Loop{{Parent: -1}}, []int{-1, 0, 0, 0, 0, -1, -1, -1}, []uint64{1, 2, 3, 4, 5, 6, 7, 8})})
		start, all, odd, third, last := in.call(0, 1, "MPI_Init"), in.call(0, 2, "MPI_Barrier"), in.call(0, 3, "MPI_Send"), in.call(0, 4, "MPI_Bcast"), in.call(0, 5, "MPI_Scan")
		behind, first, end := in.call(0, 6, "MPI_Allreduce"), in.call(0, 7, "MPI_Recv"), in.call(0, 8, "MPI_Finalize")
		for rank := range 4 {
			calls := []uint32{start}
			for i := range 10 {
				calls = append(calls, all)
				if rank%2 == 1 {
					calls = append(calls, odd)
				}
				if i%3 == 2 {
					calls = append(calls, third)
				}
				if i == 9 {
					calls = append(calls, last)
				}
			}
			calls = append(calls, behind)
			if rank == 0 {
				calls = append(calls, first)
			}
			calls = append(calls, end)
			n := c.last[rank]
			if n > 0 {
				calls = calls[:n]
			}
			in.Threads = append(in.Threads, Thread{Rank: rank, Calls: Calls{Path: calls}, Cut: n > 0})
		}
		s, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		p := reread(t, s.Solve())
		for i := range in.Threads {
			follows(t, p, &in.Threads[i])
		}
		conditions := make(map[string]string)
		Walk(p.Body, func(n *Node, round []*Node) {
			if n.Kind != KindMPI || len(round) == 0 || round[len(round)-1].Kind != KindIf {
				return
			}
			x := round[len(round)-1]
			conditions[n.Function] = x.RanksText + x.WhenText
			if want := c.note; n.Function == "MPI_Recv" && x.Note != want {
				t.Errorf("%v: %q, want %q", c.last, x.Note, want)
			}
		})
		if !maps.Equal(conditions, c.condition) {
			t.Errorf("%v: %v, want %v", c.last, conditions, c.condition)
		}
	}
}

// Communicators of a line are named by their ranks.
func TestCommunicators(t *testing.T) {
	row := func(first, n, by int) (list []int) {
		for k := range n {
			list = append(list, first+k*by)
		}
		return list
	}
	part := func(group []int) movedSum {
		return movedSum{Moved: Moved{Comm: "some", Group: group}}
	}
	for want, list := range map[string][]movedSum{
		"":                      {{}, {}},
		"MPI_COMM_SELF":         {{Moved: Moved{Comm: "MPI_COMM_SELF"}}, {Moved: Moved{Comm: "MPI_COMM_SELF"}}},
		"several":               {{}, part(row(0, 3, 1))},
		"ranks 0..2":            {part(row(0, 3, 1)), part(row(0, 3, 1))},
		"ranks 0, 3":            {part(row(0, 2, 3))},
		"groups 0..2, 3..5":     {part(row(3, 3, 1)), part(row(0, 3, 1)), part(row(3, 3, 1))},
		"groups 0 3, 1 4, 2 5":  {part(row(1, 2, 3)), part(row(0, 2, 3)), part(row(2, 2, 3))},
		"groups 0..6:2, 1..7:2": {part(row(1, 4, 2)), part(row(0, 4, 2))},
		"groups 0..3, 4..7, 8..11, 12..15, … 6 in all": {
			part(row(0, 4, 1)), part(row(4, 4, 1)), part(row(8, 4, 1)), part(row(12, 4, 1)), part(row(16, 4, 1)), part(row(20, 4, 1)),
		},
		"some": {part([]int{0, 3, 4, 9, 11, 20}), part([]int{1, 2})},
	} {
		if got := communicator(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Where call paths end before the main function, the head says of how many calls, and what helps.
func TestPathsWithoutCallers(t *testing.T) {
	for _, measured := range []bool{true, false} {
		in := calling([]int{2}, Function{Name: "main"}, Function{Name: "halo"})
		start, send, end := in.call(0, 1, "MPI_Init"), in.call(1, 11, "MPI_Send"), in.call(0, 3, "MPI_Finalize")
		in.Paths[send].Whole = false
		for i := range in.Paths {
			for k := range in.Paths[i].Steps {
				if !measured {
					in.Paths[i].Steps[k].Offset = 0
				}
			}
		}
		for rank := range 2 {
			in.Threads = append(in.Threads, Thread{Rank: rank, Calls: Calls{Path: []uint32{start, send, send, end}}})
		}
		s, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		p := reread(t, s.Solve())
		want := "Of 50.0 % of the MPI calls (4) it is not known what calls the outermost function of their call paths (1 frame at most): these stand behind the calls that were made before them, and loops round them are a guess."
		if measured {
			want += " Longer call paths show it: moriens run --callpath N."
		}
		if !slices.Equal(p.Why, []string{want}) {
			t.Errorf("%q, want %q", p.Why, want)
		}
	}
}
