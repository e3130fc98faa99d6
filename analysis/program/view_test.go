package program_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/program"
	"moriens/analysis/program/programtest"
	"moriens/analysis/program/text"
)

// codes are the lines of a program without its figures.
func codes(p *program.Program) []string {
	var list []string
	for _, l := range text.Lines(p) {
		list = append(list, l.Code)
	}
	return list
}

func sums(p *program.Program) (share float64, ns, calls int64) {
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		share += n.Share
		ns += n.ComputeNS + n.MPINS
		if n.Kind == program.KindMPI || n.Kind == program.KindOther {
			calls += n.Count
		}
	})
	return share, ns, calls
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// What is folded, or not shown, is summed up: however little of a program there is, its sums are the same.
func TestSumsAreKept(t *testing.T) {
	for name, p := range programtest.All() {
		share, ns, calls := sums(p)
		same := func(what string, q *program.Program) {
			t.Helper()
			if s, n, c := sums(q); !near(s, share) || n != ns || c != calls {
				t.Errorf("%s, %s: %g, %d ns, %d calls; want %g, %d, %d", name, what, s, n, c, share, ns, calls)
			}
			if err := q.Check(); err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		whole := len(written(t, p))
		last := 0
		for bytes := 500; bytes <= whole; bytes += 250 {
			q, err := program.Fold(p, bytes)
			if err != nil {
				t.Fatal(err)
			}
			n := len(written(t, q))
			if n > bytes && len(q.Body) > 1 {
				t.Errorf("%s: %d bytes, want %d at most", name, n, bytes)
			}
			if n < last {
				t.Errorf("%s: %d bytes where there is room for %d, %d where there is less", name, n, bytes, last)
			}
			last = n
			same(fmt.Sprintf("folded to %d", bytes), q)
		}
		for _, above := range []float64{0, .001, .05, .9, 1} {
			same(fmt.Sprintf("above %g", above), p.Above(above))
		}
		for _, v := range []program.View{
			{}, {All: true}, {MinShare: .5}, {MinShare: 2}, {Depth: 1}, {Depth: 3, All: true}, {Closed: map[int]bool{6: true, 11: true}}, {Depth: 1, Open: map[int]bool{6: true}},
		} {
			same(fmt.Sprintf("%+v", v), p.Select(v))
		}
		if q, err := program.Fold(p, whole); err != nil || q != p {
			t.Errorf("%s: folded, though there is room: %v", name, err)
		}
	}
}

// What some ranks do: conditions that hold for all of them, or for none, are gone.
func TestRanks(t *testing.T) {
	for _, c := range []struct {
		of        *program.Program
		ranks     []int
		has, lack []string
	}{
		{programtest.TwoConnections(), []int{1}, []string{"ConnSend()", "MPI_Send(to 0)"}, []string{"IF rank != 0", "ELSE", "ConnRecv()", "compute"}},
		{programtest.TwoConnections(), []int{0}, []string{"ConnRecv()", "MPI_Send(to 1)"}, []string{"IF rank != 0", "ELSE", "ConnSend()"}},
		{programtest.TwoConnections(), []int{0, 1}, []string{"IF rank != 0", "ELSE", "ConnSend()", "ConnRecv()"}, nil},
		{programtest.Nest(), []int{0}, []string{"IF i % 10 == 0", "MPI_Recv(from each of 1..3)"}, []string{"IF rank == 0", "MPI_Send(to 0)", "IF rank % 2 == 1", "MPI_Barrier(on MPI_COMM_SELF)"}},
		{programtest.Nest(), []int{1, 3}, []string{"IF i % 10 == 0", "MPI_Send(to 0)", "MPI_Barrier(on MPI_COMM_SELF)"}, []string{"IF rank == 0", "IF rank % 2 == 1", "MPI_Recv(from each of 1..3)"}},
		{programtest.Nest(), []int{1, 2}, []string{"IF rank % 2 == 1", "IF depth == 3", "ELSE"}, []string{"IF rank == 0"}},
		{programtest.Odd(), []int{0, 1}, []string{"MPI_Send(to 7)", "IF i == last", "ELSE"}, []string{"IF rank < 2", "MPI_Send(to size-1-rank)", "MPI_Recv()"}},
		{programtest.Odd(), []int{0, 3}, []string{"IF rank < 2", "ELSE", "MPI_Recv()"}, []string{"ELSE IF rank % 2 == 0", "MPI_Send(to size-1-rank)"}},
		{programtest.Odd(), []int{2, 3}, []string{"IF rank % 2 == 0", "ELSE"}, []string{"IF rank < 2", "MPI_Send(to 7)"}},
		{programtest.Odd(), []int{5}, []string{"MPI_Recv()"}, []string{"IF rank < 2", "MPI_Send(to 7)", "MPI_Send(to size-1-rank)"}},
	} {
		q := c.of.Select(program.View{Ranks: c.ranks, All: true})
		if err := q.Check(); err != nil {
			t.Error(err)
		}
		got := codes(q)
		for _, want := range c.has {
			if !slices.Contains(got, want) {
				t.Errorf("ranks %v: no %q in\n%s", c.ranks, want, strings.Join(got, "\n"))
			}
		}
		for _, not := range c.lack {
			if slices.Contains(got, not) {
				t.Errorf("ranks %v: %q in\n%s", c.ranks, not, strings.Join(got, "\n"))
			}
		}
	}
}

// The calls of one function, in each of its contexts; conditions on loops that are not shown say so.
func TestFunction(t *testing.T) {
	got := codes(programtest.Nest().Select(program.View{Function: "halo", All: true}))
	if len(got) != 12 || got[0] != "halo()" || got[6] != "halo()  # called by solve" {
		t.Errorf("%q", got)
	}
	got = codes(programtest.Odd().Select(program.View{Function: "checkpoint"}))
	if want := []string{"checkpoint()  # caller unknown", "MPI_File_write_all()"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := programtest.Nest().Select(program.View{Function: "hal"}).Body; len(got) != 0 {
		t.Errorf("%d lines of no function", len(got))
	}
	if got, want := programtest.Nest().Functions(), []string{"dot", "halo", "report", "solve", "tree"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	p := programtest.Nest()
	loop := p.Body[4]
	p.Body = []*program.Node{{ID: 1, Kind: program.KindCall, Function: "step", Body: []*program.Node{loop.Body[3]}}}
	if got := codes(p.Select(program.View{})); !slices.Contains(got, "IF i' % 10 == 0") {
		t.Errorf("%q", got)
	}
}

// A loop of one trip is left out; one on whose trips something depends is kept.
func TestLoopsOfOneTrip(t *testing.T) {
	p := programtest.Odd()
	if got := codes(p.Select(program.View{})); !slices.Contains(got, "IF i == 2") || slices.Contains(got, "FOR 1..1") {
		t.Errorf("%q", got)
	}
	if got := codes(p.Select(program.View{All: true})); !slices.Contains(got, "FOR 1..1") {
		t.Errorf("%q", got)
	}
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		switch {
		case n.When != nil && n.When.Kind == program.WhenAt:
			n.When.Variable = "j"
		case n.Kind == program.KindLoop && n.Trips.Most == 1:
			n.Variable = "j"
		}
	})
	if got := codes(p.Select(program.View{})); !slices.Contains(got, "IF j == 2") || !slices.Contains(got, "FOR j = 1..1") {
		t.Errorf("%q", got)
	}
}

// What lies deeper than a view shows is one line, unless it was opened.
func TestDepth(t *testing.T) {
	p := programtest.TwoConnections()
	for want, v := range map[string]program.View{
		"MPI_Init()|FOR i = 1..10  # … 23 lines|MPI_Finalize()":                                                       {Depth: 1},
		"MPI_Init()|FOR i = 1..10|FOR j = 1..2  # … 10 lines|FOR j = 1..5  # … 10 lines|MPI_Barrier()|MPI_Finalize()": {Depth: 2, All: true},
		"MPI_Init()|FOR i = 1..10|FOR j = 1..2  # … 9 lines|FOR j = 1..5  # … 9 lines|MPI_Barrier()|MPI_Finalize()":   {Depth: 1, Open: map[int]bool{2: true}, MinShare: .01, Closed: map[int]bool{14: true}},
	} {
		q := p.Select(v)
		if got := strings.Join(codes(q), "|"); got != want {
			t.Errorf("%+v: %s", v, got)
		}
	}
}

// What a program of 100,000 lines takes until it fits.
func BenchmarkFold(b *testing.B) {
	p := programtest.Nest()
	body := p.Body
	id := 0
	p.Body = nil
	for len(p.Body) < 100_000/44*7 {
		for _, n := range body {
			p.Body = append(p.Body, copied(n, &id))
		}
	}
	for b.Loop() {
		if _, err := program.Fold(p, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

// copied is a copy of a node with numbers of its own.
func copied(n *program.Node, id *int) *program.Node {
	*id++
	c := *n
	c.ID, c.Body = *id, nil
	c.MPINS += int64(*id)
	for _, x := range n.Body {
		c.Body = append(c.Body, copied(x, id))
	}
	return &c
}

// Computation before a condition that ends with calls of others is none of a rank; nor is a condition with nothing
// else.
func TestComputationOfRanks(t *testing.T) {
	compute := func(before, after int) *program.Node {
		return &program.Node{Kind: program.KindCompute, Count: 3, ComputeNS: 300, Around: [][2]int{{before, after}}}
	}
	call := func(function string, path int) *program.Node {
		return &program.Node{Kind: program.KindMPI, Function: function, Count: 3, Paths: []int{path}}
	}
	of := func(n *program.Node, ranks, all program.RankList, text string) *program.Node {
		n.Kind, n.Ranks, n.OfRanks, n.RanksText = program.KindIf, ranks, all, text
		return n
	}
	all := program.RankList{0, 1, 2, 3}
	p := &program.Program{Ranks: 4, Body: []*program.Node{
		call("MPI_Bcast", 1), compute(1, 2),
		of(&program.Node{Body: []*program.Node{call("MPI_Send", 2)}}, all[1:], all, "rank != 0"),
		of(&program.Node{Else: true, Body: []*program.Node{compute(1, 3), call("MPI_Recv", 3)}}, all[:1], all, "rank == 0"),
		{Kind: program.KindIf, When: &program.When{Kind: program.WhenEvery, Variable: "i", Period: 5}, Body: []*program.Node{compute(3, 2)}},
		compute(3, 9), // what ends it is in no line
	}}
	for _, x := range []struct {
		ranks []int
		want  []string
	}{
		{[]int{0}, []string{"MPI_Bcast", "compute 1 3", "MPI_Recv", "compute 3 9"}},
		{[]int{2}, []string{"MPI_Bcast", "compute 1 2", "MPI_Send", "if", "compute 3 2", "compute 3 9"}},
	} {
		var got []string
		program.Walk(p.Select(program.View{Ranks: x.ranks, All: true}).Body, func(n *program.Node, _ []*program.Node) {
			switch n.Kind {
			case program.KindCompute:
				got = append(got, fmt.Sprintf("compute %d %d", n.Around[0][0], n.Around[0][1]))
			case program.KindMPI:
				got = append(got, n.Function)
			default:
				got = append(got, string(n.Kind))
			}
		})
		if !slices.Equal(got, x.want) {
			t.Errorf("ranks %v: %q, want %q", x.ranks, got, x.want)
		}
	}
}
