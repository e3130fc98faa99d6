package program

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// reread is a program as it is read after it was written: what is made is never refused.
func reread(t *testing.T, p *Program) *Program {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	back, err := Read(b.Bytes())
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.Bytes())
	}
	if differs := back.Texts(); differs != "" {
		t.Fatalf("%s in\n%s", differs, b.Bytes())
	}
	return back
}

// follows checks that a program makes the calls of a thread, and those of one that was cut first of all.
func follows(t *testing.T, p *Program, x *Thread) {
	t.Helper()
	k := 0
	err := p.Evaluate(x.Rank, x.Thread, func(n *Node) bool {
		if k == len(x.Calls.Path) {
			if !x.Cut {
				t.Errorf("rank %d thread %d: %s after its last call", x.Rank, x.Thread, n.Function)
			}
			return false
		}
		if !slices.Contains(n.Paths, int(x.Calls.Path[k])) {
			t.Errorf("rank %d thread %d: call %d is %d, the program has %s of %v", x.Rank, x.Thread, k, x.Calls.Path[k], n.Function, n.Paths)
			return false
		}
		k++
		return true
	})
	if err != nil || k != len(x.Calls.Path) {
		t.Errorf("rank %d thread %d: %d calls of %d: %v", x.Rank, x.Thread, k, len(x.Calls.Path), err)
	}
}

// calling is an input of functions whose calls follow each other in the order of their lines, which are their return
// addresses too; each path is one call from the function in which the thread began.
func calling(worlds []int, functions ...Function) *Input {
	return &Input{Worlds: worlds, Functions: functions, Paths: []Path{{}}}
}

func (in *Input) call(function, line int, mpi string) uint32 {
	in.Paths = append(in.Paths, Path{MPI: mpi, Whole: true, Steps: []Step{{Function: function, Offset: uint64(line), File: "a.c", Line: line}}})
	return uint32(len(in.Paths) - 1)
}

// A call that was made only where sequences were cut has a condition, which is read again.
func TestCallThatEndsTheRun(t *testing.T) {
	in := calling([]int{4}, Function{Name: "main", Code: straight([]Loop{{Parent: -1}}, []int{-1, 0, 0, 0}, []uint64{1, 2, 3, 4})})
	start, barrier, abort, reduce := in.call(0, 1, "MPI_Init"), in.call(0, 2, "MPI_Barrier"), in.call(0, 3, "MPI_Abort"), in.call(0, 4, "MPI_Allreduce")
	for rank := range 4 {
		calls := []uint32{start}
		for range 60 {
			calls = append(calls, barrier, reduce)
		}
		calls = append(calls, barrier)
		if rank == 2 {
			calls = append(calls, abort)
		}
		in.Threads = append(in.Threads, Thread{Rank: rank, Calls: Calls{Path: calls}, Cut: true})
	}
	s, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	p := reread(t, s.Solve())
	found := false
	Walk(p.Body, func(n *Node, round []*Node) {
		if n.Kind != KindMPI || n.Function != "MPI_Abort" {
			return
		}
		found = true
		c := round[len(round)-1]
		if c.Kind != KindIf || !slices.Equal(c.Ranks, []int{2}) || c.When == nil || c.When.Kind != WhenAt || c.When.Trip != 60 || c.Happened != 1 {
			t.Errorf("%+v, when %+v", c, c.When)
		}
	})
	if !found {
		t.Error("no MPI_Abort")
	}
	for i := range in.Threads {
		follows(t, p, &in.Threads[i])
	}
}

// What threads of a rank do differently is said by thread, and counted by thread where there is no rule.
func TestThreadsThatDiffer(t *testing.T) {
	in := calling([]int{2}, Function{Name: "main"}, Function{Name: "work", Code: straight([]Loop{{Parent: -1}}, []int{0, 0, 0, 0}, []uint64{11, 12, 13, 14})})
	first, last := in.call(0, 1, "MPI_Init_thread"), in.call(0, 2, "MPI_Finalize")
	all, odd, even, some := in.call(1, 11, "MPI_Barrier"), in.call(1, 12, "MPI_Send"), in.call(1, 13, "MPI_Recv"), in.call(1, 14, "MPI_Bcast")
	plant := func(without bool) {
		in.Threads = nil
		for rank := range 2 {
			in.Threads = append(in.Threads, Thread{Rank: rank, Calls: Calls{Path: []uint32{first, last}}})
			for thread := 1; thread <= 6; thread++ {
				var calls []uint32
				for k := range 20 {
					calls = append(calls, all)
					if thread%2 == 1 {
						calls = append(calls, odd)
					} else if k%3 == 0 {
						calls = append(calls, even)
					}
					if !without && (thread*7+rank*3+k*k)%5 == 1 {
						calls = append(calls, some)
					}
				}
				in.Threads = append(in.Threads, Thread{Rank: rank, Thread: thread, Calls: Calls{Path: calls}})
			}
		}
	}
	for _, without := range []bool{true, false} {
		plant(without)
		s, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		p := reread(t, s.Solve())
		texts := ""
		Walk(p.Body, func(n *Node, _ []*Node) {
			if n.Kind == KindIf && n.Threads != nil {
				texts += fmt.Sprintf("%s %v %s; ", n.RanksText, n.Threads, n.WhenText)
			}
		})
		if want := "thread % 2 == 1 [1 3 5] ; thread % 2 == 0 [2 4 6] i % 3 == 0; "; texts != want {
			t.Errorf("%q, want %q", texts, want)
		}
		for i := range in.Threads {
			x := &in.Threads[i]
			if without {
				follows(t, p, x)
			}
			want := map[uint32]int64{}
			for _, c := range x.Calls.Path {
				want[c]++
			}
			counts, err := p.Counts(x.Rank, x.Thread)
			if err != nil {
				t.Fatal(err)
			}
			for n, count := range counts {
				if want[uint32(n.Paths[0])] != count {
					t.Errorf("rank %d thread %d: %s %d times, want %d", x.Rank, x.Thread, n.Function, count, want[uint32(n.Paths[0])])
				}
				delete(want, uint32(n.Paths[0]))
			}
			if len(want) > 0 {
				t.Errorf("rank %d thread %d: not counted: %v", x.Rank, x.Thread, want)
			}
		}
		// A view of one rank keeps conditions by thread: they hold for some of its threads.
		kept := 0
		Walk(p.Select(View{Ranks: []int{1}}).Body, func(n *Node, _ []*Node) {
			if n.Kind == KindIf && n.Threads != nil && n.RanksText != "" {
				kept++
			}
		})
		if kept != 2 {
			t.Errorf("%d conditions by thread on rank 1", kept)
		}
	}
}

// Copies of a call have the partners and bytes of all of them.
func TestPartnersOfUnrolledLoops(t *testing.T) {
	code := straight(nil, []int{-1, -1, -1}, []uint64{5, 6, 7})
	for i := range code.Sites {
		code.Sites[i].Column = 9
	}
	in := calling([]int{4}, Function{Name: "main", Code: code})
	var calls []uint32
	for i := range 3 {
		n := in.call(0, 5+i, "MPI_Recv")
		in.Paths[n].Steps[0].Line = 5
		calls = append(calls, n)
	}
	x := Thread{Rank: 3, Calls: Calls{Path: calls}}
	for i, c := range calls {
		x.Moved = append(x.Moved, Moved{Path: c, From: true, World: true, Peer: int32(i), Root: -1, Count: 1, Least: int64(8 << i), Most: int64(8 << i), Bytes: int64(8 << i)})
	}
	in.Threads = []Thread{x}
	s, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	p := reread(t, s.Solve())
	if len(p.Body) != 1 || p.Body[0].Kind != KindLoop || p.Body[0].Unrolled != 3 {
		t.Fatalf("%+v", p.Body)
	}
	n := p.Body[0].Body[0]
	if len(n.Peers) != 1 || n.Peers[0].Text != "each of 0..2" || n.Bytes == nil || n.Bytes.Least != 8 || n.Bytes.Most != 32 || n.Bytes.Mean != 56./3 {
		t.Errorf("%+v, %+v", n.Peers, n.Bytes)
	}
}

// A recursion of which call paths have lost calls is by the order of lines at most, and nothing round it; each call is
// counted, and the depth that is known is said once.
func TestDeepRecursion(t *testing.T) {
	in := calling([]int{2}, Function{Name: "main", Code: straight([]Loop{{Parent: -1}}, []int{-1, 0, -1}, []uint64{1, 2, 3})},
		Function{Name: "down", Code: straight(nil, []int{-1, -1, -1}, []uint64{11, 12, 13})})
	start, end := in.call(0, 1, "MPI_Init"), in.call(0, 3, "MPI_Finalize")
	const kept = 4
	at := func(depth int) (down, up uint32) {
		steps := []Step{{Function: 0, Offset: 2, File: "a.c", Line: 2}}
		for range min(depth, kept) {
			steps = append(steps, Step{Function: 1, Offset: 12, File: "a.c", Line: 12})
		}
		recursion := 0
		if depth > kept {
			recursion = 2
		}
		for _, line := range []int{11, 13} {
			mpi := map[int]string{11: "MPI_Barrier", 13: "MPI_Bcast"}[line]
			in.Paths = append(in.Paths, Path{MPI: mpi, Whole: true, Recursion: recursion, Steps: append(slices.Clone(steps), Step{Function: 1, Offset: uint64(line), File: "a.c", Line: line})})
		}
		return uint32(len(in.Paths) - 2), uint32(len(in.Paths) - 1)
	}
	var downs, ups []uint32
	for depth := range kept + 2 {
		d, u := at(depth)
		downs, ups = append(downs, d), append(ups, u)
	}
	for rank := range 2 {
		calls := []uint32{start}
		for range 3 {
			for depth := range 40 {
				calls = append(calls, downs[min(depth, kept+1)])
			}
			for depth := 39; depth >= 0; depth-- {
				if depth%10 == 0 {
					calls = append(calls, ups[min(depth, kept+1)])
				}
			}
		}
		in.Threads = append(in.Threads, Thread{Rank: rank, Calls: Calls{Path: append(calls, end)}})
	}
	s, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	p := reread(t, s.Solve())
	if want := []string{"Call paths do not have all calls of down that were open where these were more than 5: at which depth a call was made, and how often it called itself, is not known there, and its loops are those of the order of lines."}; !slices.Equal(p.Why, want) {
		t.Errorf("%q", p.Why)
	}
	if len(p.Body) != 3 {
		t.Fatalf("%+v", p.Body)
	}
	Walk(p.Body, func(n *Node, round []*Node) {
		if n.By == ByOrder && !slices.ContainsFunc(round, func(x *Node) bool { return x.Recursive }) {
			t.Errorf("line %d of the main function is by order", n.ID)
		}
	})
	for i := range in.Threads {
		x := &in.Threads[i]
		counts, err := p.Counts(x.Rank, x.Thread)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]int64)
		for n, count := range counts {
			got[n.Function] += count
		}
		if got["MPI_Barrier"] != 120 || got["MPI_Bcast"] != 12 || got["MPI_Init"] != 1 || got["MPI_Finalize"] != 1 {
			t.Errorf("%v", got)
		}
	}
}

// Conditions and partners of several worlds name worlds, and ranks as they are in these.
func TestWorlds(t *testing.T) {
	in := calling([]int{2, 3}, Function{Name: "main"})
	all, parents, children, one, both := in.call(0, 1, "MPI_Init"), in.call(0, 2, "MPI_Comm_spawn"), in.call(0, 3, "MPI_Send"), in.call(0, 4, "MPI_Bcast"), in.call(0, 5, "MPI_Reduce")
	for world, size := range in.Worlds {
		for rank := range size {
			x := Thread{World: world, Rank: rank}
			x.Calls.Path = []uint32{all}
			if world == 0 {
				x.Calls.Path = append(x.Calls.Path, parents)
			} else {
				x.Calls.Path = append(x.Calls.Path, children)
				x.Moved = []Moved{{Path: children, World: true, Peer: int32((rank + 1) % size), Root: -1, Count: 1, Least: 8, Most: 8, Bytes: 8}}
			}
			if world == 1 && rank == 2 {
				x.Calls.Path = append(x.Calls.Path, one)
			}
			if rank == 0 {
				x.Calls.Path = append(x.Calls.Path, both)
			}
			in.Threads = append(in.Threads, x)
		}
	}
	s, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	p := reread(t, s.Solve())
	if want := []string{"There are 2 worlds: world 0 with the ranks 0..1, world 1 with the ranks 0..2."}; !slices.Equal(p.Why, want) {
		t.Errorf("%q", p.Why)
	}
	texts := make(map[string]string)
	Walk(p.Body, func(n *Node, round []*Node) {
		if n.Kind == KindMPI && len(round) > 0 {
			texts[n.Function] = round[len(round)-1].RanksText
			if n.Function == "MPI_Send" && (len(n.Peers) != 1 || n.Peers[0].Text != "(rank+1) mod size") {
				t.Errorf("%+v", n.Peers)
			}
		}
	})
	if texts["MPI_Comm_spawn"] != "world 0" || texts["MPI_Bcast"] != "world 1 and rank == size-1" || texts["MPI_Reduce"] != "rank in 0:0, 1:0" || texts["MPI_Init"] != "" {
		t.Errorf("%q", texts)
	}
	if s := texts["MPI_Send"]; s != "world 1" && s != "" { // "" is an ELSE
		t.Errorf("%q", s)
	}
	for i := range in.Threads {
		x := in.Threads[i]
		x.Rank += []int{0, 2}[x.World]
		follows(t, p, &x)
	}
}

// Several partners that differ in bits, and partners of which no form holds, in both ways.
func TestManyPartners(t *testing.T) {
	for name, c := range map[string]struct {
		peers          [4][]int32
		to, from, kind string
	}{
		"hypercube": {[4][]int32{{1, 2}, {0, 3}, {3, 0}, {2, 1}}, "each of rank^1, rank^2", "each of rank^1, rank^2", peerEach},
		"none":      {[4][]int32{{1, 2}, {0}, {0, 3}, {2}}, "0→1 2; 1→0; 2→0 3; 3→2", "0←1 2; 1←0; 2←0 3; 3←2", peerTable},
	} {
		in := calling([]int{4}, Function{Name: "main"})
		call := in.call(0, 5, "MPI_Sendrecv")
		for rank, list := range c.peers {
			x := Thread{Rank: rank, Calls: Calls{Path: []uint32{call}}}
			for _, p := range list {
				for _, from := range []bool{false, true} {
					x.Moved = append(x.Moved, Moved{Path: call, From: from, World: true, Peer: p, Root: -1, Count: 1, Least: 8, Most: 8, Bytes: 8})
				}
			}
			in.Threads = append(in.Threads, x)
		}
		s, err := Build(in)
		if err != nil {
			t.Fatal(err)
		}
		peers := reread(t, s.Solve()).Body[0].Peers
		if len(peers) != 2 || peers[0] != (Peer{wayTo, c.kind, c.to}) || peers[1] != (Peer{wayFrom, c.kind, c.from}) {
			t.Errorf("%s: %+v", name, peers)
		}
	}
}

// Behind a call of itself a function goes on in the execution that it was in.
func TestEvaluateAfterRecursion(t *testing.T) {
	call := &Node{Kind: KindCall, Function: "f", Recursive: true}
	call.Body = []*Node{
		{Kind: KindIf, When: &When{Kind: WhenEvery, Variable: numberOfExecutions, Period: 2}, Body: []*Node{{Kind: KindRecursion, Function: "f"}}},
		{Kind: KindIf, When: &When{Kind: WhenEvery, Variable: numberOfExecutions, Period: 2, Offset: 1}, Body: []*Node{{Kind: KindMPI, Function: "MPI_A"}}},
	}
	loop := &Node{Kind: KindLoop, Variable: "i", Trips: &Trips{Kind: TripsConstant, Most: 3}, Body: []*Node{call}}
	calls := 0
	if err := (&Program{Body: []*Node{loop}}).Evaluate(0, 0, func(*Node) bool { calls++; return true }); err != nil || calls != 3 {
		t.Errorf("%d calls: %v", calls, err)
	}
}
