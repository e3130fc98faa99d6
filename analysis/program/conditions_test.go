package program_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/program"
	"moriens/analysis/program/text"
)

// A straight program is a loop of calls of MPI, one behind the other; each comes in some trips, on some ranks.
type straight struct {
	ranks, trips int
	functions    []string // of MPI, or those of the program, which call MPI once
	comes        func(call, i, rank int) bool
	// apart says of two calls that none can follow the other one in a trip; nil: all can.
	apart     func(a, b int) bool
	withLines bool
}

func (s *straight) input() *program.Input {
	n := len(s.functions)
	code := &program.Code{Loops: []program.Loop{{Parent: -1}}, Follows: [][]byte{make([]byte, (n*n+7)/8), make([]byte, (n*n+7)/8)}}
	in := &program.Input{Worlds: []int{s.ranks}, Functions: []program.Function{{Name: "main", Code: code}}, Paths: []program.Path{{}}}
	numbers := map[string]int{}
	for a, name := range s.functions {
		offset := uint64(16 * (a + 1))
		code.Sites = append(code.Sites, program.Site{Offset: offset})
		step := program.Step{Offset: offset}
		if s.withLines {
			step.File, step.Line = "straight.c", a+1
		}
		path := program.Path{MPI: name, Whole: true, Steps: []program.Step{step}}
		if !strings.HasPrefix(name, "MPI_") {
			f, ok := numbers[name]
			if !ok {
				f = len(in.Functions)
				numbers[name] = f
				in.Functions = append(in.Functions, program.Function{Name: name, Code: &program.Code{Sites: []program.Site{{Offset: 8, Loop: -1}}, Follows: [][]byte{{0}}}})
			}
			path.MPI = "MPI_Barrier"
			path.Steps = append(path.Steps, program.Step{Function: f, Offset: 8})
		}
		in.Paths = append(in.Paths, path)
		for b := range n {
			bit := a*n + b
			code.Follows[0][bit/8] |= 1 << (bit % 8)
			if a < b && (s.apart == nil || !s.apart(a, b)) {
				code.Follows[1][bit/8] |= 1 << (bit % 8)
			}
		}
	}
	for rank := range s.ranks {
		thread := program.Thread{Rank: rank}
		for i := range s.trips {
			for call := range n {
				if s.comes(call, i, rank) {
					thread.Calls.Path = append(thread.Calls.Path, uint32(call+1))
				}
			}
		}
		in.Threads = append(in.Threads, thread)
	}
	return in
}

// solved is the program, of which it is certain that each rank does what it has done, also when it was written and
// read.
func (s *straight) solved(t *testing.T, ruled bool) *program.Program {
	t.Helper()
	in := s.input()
	built, err := program.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := built.Solve().Write(&file); err != nil {
		t.Fatal(err)
	}
	p, err := program.Read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for rank := 0; rank < s.ranks && ruled; rank++ {
		var want, got []string
		for _, path := range in.Threads[rank].Calls.Path {
			want = append(want, in.Paths[path].MPI)
		}
		if err := p.Evaluate(rank, 0, func(n *program.Node) bool { got = append(got, n.Function); return true }); err != nil || !slices.Equal(got, want) {
			t.Errorf("rank %d: %v, %d calls: %v, want %d: %v", rank, err, len(got), got, len(want), want)
		}
	}
	if (p.Certain.Calls == 1) != ruled {
		t.Errorf("certain: %+v", p.Certain)
	}
	return p
}

func (s *straight) lines(t *testing.T, ruled bool) string {
	t.Helper()
	p := s.solved(t, ruled)
	conditions := make(map[*program.Node]int) // round each line
	program.Walk(p.Body, func(n *program.Node, in []*program.Node) {
		for _, x := range in {
			if x.Kind == program.KindIf {
				conditions[n]++
			}
		}
	})
	var list []string
	for _, line := range text.Lines(p) {
		list = append(list, strings.Repeat(">", conditions[line.Node])+strings.ReplaceAll(line.Code, "()", ""))
	}
	return strings.Join(list, "; ")
}

// What comes in some executions of its neighbour only, and has a rule for these, is a condition in a condition.
func TestConditionsInConditions(t *testing.T) {
	outer := func(i int) bool { return i%4 != 1 }
	late := func(i int) bool { return outer(i) && i >= 10 }
	third := func(i int) bool { return late(i) && i%3 != 1 }
	chance := func(i int) bool { return i*i*7%19%3 == 1 }
	for _, c := range []struct {
		comes []func(i int) bool
		want  string
		ruled bool
	}{
		{[]func(int) bool{outer, late}, "IF i % 4 != 1; >MPI_A; >IF i >= 10; >>MPI_B", true},
		{[]func(int) bool{late, outer}, "IF i % 4 != 1; >IF i >= 10; >>MPI_A; >MPI_B", true},
		{[]func(int) bool{outer, late, third}, "IF i % 4 != 1; >MPI_A; >IF i >= 10; >>MPI_B; >>IF i % 3 != 1; >>>MPI_C", true},
		{[]func(int) bool{third, late, outer}, "IF i % 4 != 1; >IF i >= 10; >>IF i % 3 != 1; >>>MPI_A; >>MPI_B; >MPI_C", true},
		{[]func(int) bool{outer, late, func(i int) bool { return outer(i) && i < 10 }}, "IF i % 4 != 1; >MPI_A; >IF i >= 10; >>MPI_B; >ELSE; >>MPI_C", true},
		{[]func(int) bool{func(i int) bool { return !outer(i) }, outer, late}, "IF i % 4 == 1; >MPI_A; ELSE; >MPI_B; >IF i >= 10; >>MPI_C", true},
		// What has a rule of its own remains beside it, in the order of the calls.
		{[]func(int) bool{outer, func(i int) bool { return i == 6 }}, "IF i % 4 != 1; >MPI_A; IF i == 6; >MPI_B", true},
		{[]func(int) bool{outer, func(i int) bool { return outer(i) && chance(i) }}, "IF i % 4 != 1; >MPI_A; IF (44 of 160 times, no rule found); >MPI_B", false},
	} {
		s := &straight{ranks: 4, trips: 40, withLines: true, comes: func(call, i, _ int) bool { return call == len(c.comes) || c.comes[call](i) }}
		for k := range c.comes {
			s.functions = append(s.functions, "MPI_"+"ABC"[k:k+1])
		}
		s.functions = append(s.functions, "MPI_Z")
		if got, want := s.lines(t, c.ruled), "FOR i = 1..40; "+c.want+"; MPI_Z"; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Any two trips have a period: it is a rule where it begins with them, or ends.
func TestConditionsOfTwoTrips(t *testing.T) {
	for want, trips := range map[string][2]int{"IF i in 99, 249": {99, 249}, "IF i % 150 == 149": {149, 299}, "IF i % 150 == 0": {0, 150}} {
		s := &straight{ranks: 2, trips: 300, withLines: true, functions: []string{"MPI_A", "MPI_B"}, comes: func(call, i, _ int) bool { return call == 0 || i == trips[0] || i == trips[1] }}
		if got, want := s.lines(t, true), "FOR i = 1..300; MPI_A; "+want+"; >MPI_B"; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// An inner condition says how often it held of those round it.
func TestConditionsInConditionsCount(t *testing.T) {
	s := &straight{ranks: 2, trips: 20, withLines: true, functions: []string{"MPI_A", "MPI_B"}, comes: func(call, i, _ int) bool { return i%4 != 2 && (call == 0 || i >= 10) }}
	var found []string
	program.Walk(s.solved(t, true).Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind == program.KindIf {
			found = append(found, fmt.Sprint(n.Happened, " of ", n.Of))
		}
	})
	// A trip without calls is none: the loop has 15 trips of calls.
	if want := []string{"14 of 30"}; !slices.Equal(found, want) {
		t.Errorf("%v, want %v", found, want)
	}
}

// The last of cases that exclude each other, and of which one always comes, needs no rule of its own.
func TestCases(t *testing.T) {
	for _, c := range []struct {
		trips int
		of    func(i int) int
		want  string
	}{
		{5, func(i int) int { return []int{0, 1, 2, 1, 2}[i] }, "IF i == 0; >MPI_A; ELSE IF i % 2 == 1; >MPI_B; ELSE; >MPI_C"},
		{20, func(i int) int {
			switch {
			case i%3 == 0:
				return 0
			case i == 5:
				return 1
			}
			return 2
		}, "IF i % 3 == 0; >MPI_A; ELSE IF i == 5; >MPI_B; ELSE; >MPI_C"},
	} {
		s := &straight{ranks: 4, trips: c.trips, withLines: true, functions: []string{"MPI_A", "MPI_B", "MPI_C"}, comes: func(call, i, _ int) bool { return c.of(i) == call }, apart: func(int, int) bool { return true }}
		if got, want := s.lines(t, true), fmt.Sprintf("FOR i = 1..%d; %s", c.trips, c.want); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Behind a branch without a rule the last one has none either: it holds whenever that does not.
func TestCasesWithoutRules(t *testing.T) {
	chance := func(i int) bool { return i*i*7%23%3 == 1 }
	s := &straight{ranks: 2, trips: 60, withLines: true, functions: []string{"MPI_A", "MPI_B", "MPI_C"}, apart: func(int, int) bool { return true }, comes: func(call, i, _ int) bool {
		switch {
		case i%5 == 0:
			return call == 0
		case chance(i):
			return call == 1
		}
		return call == 2
	}}
	if got := s.lines(t, false); !strings.HasPrefix(got, "FOR i = 1..60; IF i % 5 == 0; >MPI_A; ELSE IF (") || !strings.HasSuffix(got, "no rule found); >MPI_B; ELSE; >MPI_C") {
		t.Error(got)
	}
	program.Walk(s.solved(t, false).Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind == program.KindMPI && (n.Each == nil) != (n.Function == "MPI_A") {
			t.Errorf("%s: %v", n.Function, n.Each)
		}
	})
}

// Few trips are listed.
func TestListedTrips(t *testing.T) {
	for _, c := range []struct {
		trips int
		in    []int
		want  string
	}{
		{5, []int{2, 4}, "IF i in 2, 4"},
		{7, []int{1, 2, 5}, "IF i in 1, 2, 5"},
		{24, []int{1, 2, 5, 7, 11, 12, 20, 21}, "IF i in 1, 2, 5, 7, 11, 12, 20, 21"},
		{9, []int{0, 1, 2, 3, 4, 6, 7}, "IF i not in 5, 8"},
		{12, []int{1, 2, 5, 7, 8, 10}, "IF (24 of 48 times, no rule found)"},
	} {
		s := &straight{ranks: 4, trips: c.trips, withLines: true, functions: []string{"MPI_A", "MPI_B"}, comes: func(call, i, _ int) bool { return call == 1 || slices.Contains(c.in, i) }}
		if got, want := s.lines(t, !strings.Contains(c.want, "no rule")), fmt.Sprintf("FOR i = 1..%d; %s; >MPI_A; MPI_B", c.trips, c.want); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Conditions that follow the rank: colours that alternate, ranks in turn, a front.
func TestConditionsByTripAndRank(t *testing.T) {
	for want, comes := range map[string]func(i, rank int) bool{
		"IF (i + rank) % 2 == 0":             func(i, rank int) bool { return (i+rank)%2 == 0 },
		"IF (i + rank) % 3 == 1":             func(i, rank int) bool { return (i+rank)%3 == 1 },
		"IF (i + rank) % 3 != 1":             func(i, rank int) bool { return (i+rank)%3 != 1 },
		"IF i % size == rank":                func(i, rank int) bool { return i%6 == rank },
		"IF i % size != rank":                func(i, rank int) bool { return i%6 != rank },
		"IF i % 7 == rank":                   func(i, rank int) bool { return i%7 == rank },
		"IF i % 3 == rank % 3":               func(i, rank int) bool { return i%3 == rank%3 },
		"IF i % 3 == (rank+2) % 3":           func(i, rank int) bool { return i%3 == (rank+2)%3 },
		"IF i >= rank":                       func(i, rank int) bool { return i >= rank },
		"IF i <= rank+3":                     func(i, rank int) bool { return i <= rank+3 },
		"IF i == rank":                       func(i, rank int) bool { return i == rank },
		"IF i != rank+1":                     func(i, rank int) bool { return i != rank+1 },
		"IF i == size-1-rank":                func(i, rank int) bool { return i == 5-rank },
		"IF i in rank+1..rank+4":             func(i, rank int) bool { return i >= rank+1 && i <= rank+4 },
		"IF rank >= 3 and i % 2 == 1":        func(i, rank int) bool { return rank > 2 && i%2 == 1 },
		"IF rank != 3 and i % 4 == rank % 4": func(i, rank int) bool { return rank != 3 && i%4 == rank%4 },
	} {
		s := &straight{ranks: 6, trips: 15, withLines: true, functions: []string{"MPI_A", "MPI_B"}, comes: func(call, i, rank int) bool { return call == 1 || comes(i, rank) }}
		if got, want := s.lines(t, true), "FOR i = 1..15; "+want+"; >MPI_A; MPI_B"; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// A condition in a condition also holds on ranks on which it always held: those alone with others would have two
// rules.
func TestConditionsOfRanksThatAlwaysHold(t *testing.T) {
	s := &straight{ranks: 4, trips: 5, withLines: true, functions: []string{"MPI_A", "MPI_B", "MPI_Z"}, comes: func(call, i, rank int) bool {
		return call == 2 || (i+rank)%3 == 0 && (call == 1 || i%4 != 0)
	}}
	if got, want := s.lines(t, true), "FOR i = 1..5; IF (i + rank) % 3 == 0; >IF i % 4 != 0; >>MPI_A; >MPI_B; MPI_Z"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Branches that follow the rank complete each other.
func TestElseByTripAndRank(t *testing.T) {
	s := &straight{ranks: 4, trips: 10, withLines: true, functions: []string{"MPI_Send", "MPI_Recv"}, comes: func(call, i, rank int) bool { return (i+rank)%2 == call }, apart: func(int, int) bool { return true }}
	if got, want := s.lines(t, true), "FOR i = 1..10; IF (i + rank) % 2 == 0; >MPI_Send; ELSE; >MPI_Recv"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	// One rank alone has nothing that its trips could follow.
	s.ranks = 1
	if got, want := s.lines(t, true), "FOR i = 1..10; IF i % 2 == 0; >MPI_Send; ELSE; >MPI_Recv"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Calls of one function that exclude each other are one if nothing distinguishes them: no line, and no other call
// before or behind one of them alone.
func TestCopiesWithoutLines(t *testing.T) {
	apart := func(a, b int) bool { return a < 2 && b < 2 }
	comes := func(call, i, _ int) bool { return call >= 2 || (i == 7) == (call == 0) }
	s := &straight{ranks: 2, trips: 20, functions: []string{"sweep", "sweep", "MPI_Z"}, comes: comes, apart: apart}
	if got, want := s.lines(t, true), "FOR i = 1..20; sweep  # 2 copies; MPI_Barrier; MPI_Z"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	s.withLines = true
	if got, want := s.lines(t, true), "FOR i = 1..20; IF i == 7; >sweep; >MPI_Barrier; ELSE; >sweep; >MPI_Barrier; MPI_Z"; got != want {
		t.Errorf("with lines: %s\nwant %s", got, want)
	}
	s.withLines = false
	s.functions[1] = "other"
	if got, want := s.lines(t, true), "FOR i = 1..20; IF i == 7; >sweep; >MPI_Barrier; ELSE; >other; >MPI_Barrier; MPI_Z"; got != want {
		t.Errorf("other functions: %s\nwant %s", got, want)
	}
	// Only one of them has a call before it, as a compiler leaves out what cannot be in a case.
	s = &straight{ranks: 2, trips: 20, functions: []string{"MPI_A", "sweep", "sweep"}, comes: func(call, i, _ int) bool { return (i == 7) == (call < 2) }, apart: func(a, b int) bool { return b == 2 }}
	if got, want := s.lines(t, true), "FOR i = 1..20; IF i == 7; >MPI_A; sweep  # 2 copies; MPI_Barrier"; got != want {
		t.Errorf("behind another call: %s\nwant %s", got, want)
	}
	// Of calls of MPI, which have partners of their own, that is too little.
	s.functions = []string{"MPI_A", "MPI_B", "MPI_B"}
	if got, want := s.lines(t, true), "FOR i = 1..20; IF i == 7; >MPI_A; >MPI_B; ELSE; >MPI_B"; got != want {
		t.Errorf("behind another call: %s\nwant %s", got, want)
	}
	// One has a call before it, the other one behind it.
	s = &straight{ranks: 2, trips: 20, functions: []string{"f", "g", "g", "f"}, comes: func(call, i, _ int) bool { return (i == 7) == (call < 2) }, apart: func(a, b int) bool { return a < 2 != (b < 2) }}
	if got, want := s.lines(t, true), "FOR i = 1..20; IF i == 7; >f; >MPI_Barrier; >g; >MPI_Barrier; ELSE; >g; >MPI_Barrier; >f; >MPI_Barrier"; got != want {
		t.Errorf("in another order: %s\nwant %s", got, want)
	}
	// One follows the other.
	s = &straight{ranks: 2, trips: 20, functions: []string{"sweep", "sweep", "MPI_Z"}, comes: comes}
	if got, want := s.lines(t, true), "FOR i = 1..20; IF i == 7; >sweep; >MPI_Barrier; ELSE; >sweep; >MPI_Barrier; MPI_Z"; got != want {
		t.Errorf("one behind the other: %s\nwant %s", got, want)
	}
}

// A rule of the last branch is said where another one before it has none.
func TestLastCaseWithRule(t *testing.T) {
	s := &straight{ranks: 2, trips: 28, withLines: true, functions: []string{"MPI_A", "MPI_B", "MPI_C"}, apart: func(int, int) bool { return true }, comes: func(call, i, _ int) bool {
		return call == []int{0, 1, 0, 1, 0, 1, 2}[i%7]
	}}
	want := "FOR i = 1..28; IF (24 of 56 times, no rule found); >MPI_A; ELSE IF (24 of 56 times, no rule found); >MPI_B; ELSE IF i % 7 == 6; >MPI_C"
	if got := s.lines(t, false); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
