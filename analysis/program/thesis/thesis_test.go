package thesis

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/program"
)

// A script plays a program: a clock for each rank, and what it calls from where.
type script struct {
	paths   Paths
	numbers map[string]uint32
	threads []Thread
	now     []int64
}

func newScript(ranks int) *script {
	s := &script{numbers: make(map[string]uint32), threads: make([]Thread, ranks), now: make([]int64, ranks)}
	s.paths.Paths = [][]int32{nil}
	for r := range s.threads {
		s.threads[r].Rank = int32(r)
	}
	return s
}

// call is one of a path like "12 solve 40 MPI_Send": line and function in turn. It begins after some computing.
func (s *script) call(rank int, path string, computing, inside int64) {
	number, known := s.numbers[path]
	if !known {
		var frames []int32
		words := strings.Fields(path)
		for i := 0; i < len(words); i += 2 {
			var line int
			fmt.Sscan(words[i], &line)
			frame := Frame{words[i+1], "t.c", line}
			at := slices.Index(s.paths.Frames, frame)
			if at < 0 {
				at = len(s.paths.Frames)
				s.paths.Frames = append(s.paths.Frames, frame)
			}
			frames = append(frames, int32(at))
		}
		number = uint32(len(s.paths.Paths))
		s.numbers[path] = number
		s.paths.Paths = append(s.paths.Paths, frames)
	}
	t := &s.threads[rank]
	s.now[rank] += computing
	t.Path = append(t.Path, number)
	t.EnterNS = append(t.EnterNS, s.now[rank])
	s.now[rank] += inside
	t.ExitNS = append(t.ExitNS, s.now[rank])
}

// together lets all ranks wait for the last one.
func (s *script) together() {
	latest := slices.Max(s.now)
	for r := range s.now {
		s.now[r] = latest
	}
}

func (s *script) options() Options {
	return Options{RunNS: slices.Max(s.now), Delta: DefaultDelta, Eps: DefaultEps, Threads: 1}
}

func (s *script) infer(t *testing.T, o Options) *Result {
	t.Helper()
	r, err := Infer(s.threads, s.paths, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// print writes a program with a tab for each block.
func print(nodes []*program.Node, in string) string {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(in)
		switch n.Kind {
		case program.KindLoop:
			fmt.Fprintf(&b, "FOR %s", n.Trips.Expression)
		case program.KindIf:
			fmt.Fprintf(&b, "IF %s", n.RanksText)
		case program.KindCall:
			fmt.Fprintf(&b, "%d %s()", n.Line, n.Function)
		case program.KindMPI:
			fmt.Fprintf(&b, "%d %s %d", n.Line, n.Function, n.Count)
		default:
			b.WriteString(n.Kind)
		}
		b.WriteString("\n" + print(n.Body, in+"\t"))
	}
	return b.String()
}

func expect(t *testing.T, r *Result, want string) {
	t.Helper()
	if got := print(r.Program.Body, ""); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("got\n%swant%s", got, want)
	}
}

// twoConn is test-2.c of the thesis.
func twoConn() *script {
	s := newScript(2)
	exchange := func(send, receive string) {
		s.call(1, send+" 6 MPI_Send", 3_000, 2_000)
		s.call(1, send+" 7 MPI_Recv", 5_000, 5_000)
		s.call(0, receive+" 12 MPI_Recv", 60_000, 7_000)
		s.call(0, receive+" 13 MPI_Send", 3_000, 6_000)
		s.together()
	}
	for r := range 2 {
		s.call(r, "17 MPI_Init", 0, 100_000)
	}
	for range 10 {
		for range 2 {
			exchange("20 ConnSend", "21 ConnRecv")
		}
		for range 5 {
			exchange("24 ConnSend", "25 ConnRecv")
		}
		s.call(0, "27 MPI_Barrier", 100, 2_000)
		s.call(1, "27 MPI_Barrier", 100, 2_000)
		s.together()
	}
	for r := range 2 {
		s.call(r, "29 MPI_Finalize", 0, 100_000)
	}
	return s
}

// The figure of the thesis.
func TestTwoConn(t *testing.T) {
	r := twoConn().infer(t, twoConn().options())
	expect(t, r, `
FOR 10
	FOR 2
		20 ConnSend()
			IF rank in [1]
				6 MPI_Send 20
				7 MPI_Recv 20
		21 ConnRecv()
			IF rank in [0]
				12 MPI_Recv 20
				13 MPI_Send 20
	FOR 5
		24 ConnSend()
			IF rank in [1]
				6 MPI_Send 50
				7 MPI_Recv 50
		25 ConnRecv()
			IF rank in [0]
				12 MPI_Recv 50
				13 MPI_Send 50
	27 MPI_Barrier 20
`)
	if len(r.Left) != 4 {
		t.Errorf("%d sites left out, want MPI_Init and MPI_Finalize of both ranks", len(r.Left))
	}
	trips := r.Program.Body[0].Body[1].Trips
	if want := (program.Trips{Least: 5, Most: 5, Mean: 5, Entries: 20, Total: 100, Kind: program.TripsConstant, Expression: "5"}); !reflect.DeepEqual(*trips, want) {
		t.Errorf("trips %+v, want %+v", *trips, want)
	}
	send := r.Program.Body[0].Body[1].Body[0].Body[0].Body[0]
	if send.Count != 50 || send.MPINS != 50*2_000 || !slices.Equal(send.Paths, []int{int(twoConn().numbers["24 ConnSend 6 MPI_Send"])}) {
		t.Errorf("the send of the second loop: %+v", send)
	}
	if c := r.Program.Certain.Calls; c != 300.0/304 {
		t.Errorf("%v of the calls are under loops, want 300 of 304", c)
	}
	if r.Plot.Loops != 3 || len(r.Plot.Points) != 9 || r.Plot.Once != 2 {
		t.Errorf("%d loops, %d points, %d call paths once, want 3, 9 and 2", r.Plot.Loops, len(r.Plot.Points), r.Plot.Once)
	}
	barrier := twoConn().numbers["27 MPI_Barrier"]
	for _, p := range r.Plot.Points {
		if want := p.Repetitions > 1; (p.Loop != LeftOut) != want {
			t.Errorf("point %+v", p)
		}
		if barrier == p.Path && (p.Ranks != 2 || p.Repetitions != 10 || p.Loop != 2) {
			t.Errorf("the barrier: %+v", p)
		}
	}
}

// after plays loops one after the other, each of one call, with as much time a trip.
func after(trips ...int) *script {
	s := newScript(1)
	for i, n := range trips {
		for range n {
			s.call(0, fmt.Sprintf("%d MPI_Bcast", 10+i), 1_000, 0)
		}
	}
	return s
}

func classes(t *testing.T, s *script, o Options) (list []string) {
	t.Helper()
	for _, p := range s.infer(t, o).Plot.Points {
		list = append(list, fmt.Sprintf("%d:%d", p.Repetitions, p.Loop))
	}
	return list
}

// What the method joins: loops near each other in the scale of the run. It is published so, and kept so.
func TestNearLoopsAreOne(t *testing.T) {
	for _, c := range []struct {
		trips []int
		want  []string
	}{
		{[]int{50, 60, 400}, []string{"50:1", "60:1", "400:0"}},
		{[]int{760, 800, 100}, []string{"760:0", "800:0", "100:1"}},
		{[]int{50, 60}, []string{"50:1", "60:0"}}, // alone they are the ends of the scale
	} {
		s := after(c.trips...)
		o := s.options()
		o.Delta = 0.01
		if got := classes(t, s, o); !slices.Equal(got, c.want) {
			t.Errorf("loops of %v: repetitions and class %v, want %v", c.trips, got, c.want)
		}
	}
	s := after(50, 60, 400)
	o := s.options()
	o.Delta = 0.01
	expect(t, s.infer(t, o), `
FOR 50..60
	10 MPI_Bcast 50
	11 MPI_Bcast 60
FOR 400
	12 MPI_Bcast 400
`)
}

// Two loops within one: the one with more repetitions does not lie within the other, though it repeats more often.
func TestSiblings(t *testing.T) {
	s := newScript(1)
	for range 10 {
		for range 5 {
			s.call(0, "3 some 4 MPI_Bcast", 500, 10)
		}
		for range 20 {
			s.call(0, "6 some 4 MPI_Bcast", 500, 10)
		}
		s.call(0, "8 MPI_Barrier", 500, 10)
	}
	expect(t, s.infer(t, s.options()), `
FOR 10
	3 some()
		FOR 5
			4 MPI_Bcast 50
	6 some()
		FOR 20
			4 MPI_Bcast 200
	8 MPI_Barrier 10
`)
}

// The same nest twice, with 10 and 100 trips: classes of δ keep them apart, and the short one is below the limit that
// the thesis has.
func TestPhases(t *testing.T) {
	s := newScript(1)
	nest := func(trips, line int) {
		for range trips {
			for range 2 {
				for range 4 {
					s.call(0, fmt.Sprintf("%d some 1 MPI_Bcast", line), 500, 10)
				}
				s.call(0, fmt.Sprintf("%d MPI_Reduce", line+2), 500, 10)
			}
			s.call(0, fmt.Sprintf("%d MPI_Barrier", line+4), 9_000, 10)
		}
	}
	nest(10, 10)
	nest(100, 20)
	const body = `
	FOR 2
		20 some()
			FOR 4
				1 MPI_Bcast 800
		22 MPI_Reduce 200
	24 MPI_Barrier 100
`
	o := s.options()
	expect(t, s.infer(t, o), "\nFOR 100"+body)
	local := Count(s.threads, 2)
	o.Delta = 0.01
	c, err := Classify(Merge(local.Sites), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range c.Loops {
		for j, other := range c.Loops {
			if near := max(l.Delta-other.Delta, other.Delta-l.Delta) < 0.1; near != (l.Phase == other.Phase) {
				t.Errorf("loops %d and %d: δ %v and %v, classes %d and %d", i, j, l.Delta, other.Delta, l.Phase, other.Phase)
			}
		}
	}
}

// A call in every second trip splits the loop: its other calls look like a loop within. It is published so.
func TestSplit(t *testing.T) {
	s := newScript(1)
	for i := range 10 {
		if i%2 == 0 {
			s.call(0, "4 MPI_Bcast", 500, 10)
		}
		s.call(0, "5 MPI_Reduce", 500, 10)
		s.call(0, "6 MPI_Barrier", 500, 10)
	}
	expect(t, s.infer(t, s.options()), `
FOR 5
	4 MPI_Bcast 5
	FOR 2
		5 MPI_Reduce 10
		6 MPI_Barrier 10
`)
}

// Two inner loops that behave alike are one. It is published so.
func TestAliasing(t *testing.T) {
	s := newScript(1)
	for range 2 {
		for _, line := range []int{4, 8} {
			for range 2 {
				s.call(0, fmt.Sprintf("%d MPI_Bcast", line), 500, 10)
				s.call(0, fmt.Sprintf("%d MPI_Reduce", line+1), 500, 10)
			}
		}
	}
	r := s.infer(t, s.options())
	expect(t, r, `
FOR 4
	4 MPI_Bcast 4
	5 MPI_Reduce 4
	8 MPI_Bcast 4
	9 MPI_Reduce 4
`)
}

// A rank that has the inner loop and not the outer one is a reason against: it does not lie within.
func TestRanksObject(t *testing.T) {
	s := newScript(3)
	for range 10 {
		for r := range 3 {
			for range 6 {
				s.call(r, "3 MPI_Bcast", 500, 10)
			}
		}
		s.call(0, "5 MPI_Send", 500, 10)
		s.call(1, "5 MPI_Send", 500, 10)
		s.together()
	}
	expect(t, s.infer(t, s.options()), `
FOR 60
	3 MPI_Bcast 180
IF rank in [0, 1]
	FOR 10
		5 MPI_Send 20
`)
}

// Trips by a rank: a loop round which the ranks go unequally often.
func TestTripsOfRanks(t *testing.T) {
	s := newScript(8)
	for range 10 {
		for r := range 8 {
			for range 40 + r%2 {
				s.call(r, "3 MPI_Isend", 500, 10)
			}
			s.call(r, "5 MPI_Barrier", 500, 10)
		}
		s.together()
	}
	r := s.infer(t, s.options())
	expect(t, r, `
FOR 10
	FOR 40..41
		3 MPI_Isend 3240
	5 MPI_Barrier 80
`)
	if trips := r.Program.Body[0].Body[0].Trips; trips.Kind != program.TripsVaries || trips.Mean != 40.5 || trips.Entries != 80 {
		t.Errorf("trips %+v", trips)
	}
}

// Members of a team and the order of threads do not matter.
func TestTeam(t *testing.T) {
	s := twoConn()
	want := s.infer(t, s.options())
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		threads := slices.Clone(s.threads)
		random.Shuffle(len(threads), func(a, b int) { threads[a], threads[b] = threads[b], threads[a] })
		var members []*Local
		for i := range threads {
			members = append(members, Count(threads[i:i+1], 1))
		}
		members = append(members, Count(nil, 0))
		c, err := Classify(Merge(members[0].Sites, members[1].Sites, members[2].Sites), s.options())
		if err != nil {
			t.Fatal(err)
		}
		got := Solve(c, All(members[0].Nested(c), members[1].Nested(c), members[2].Nested(c)), s.paths)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\nwant\n%s", print(got.Program.Body, ""), print(want.Program.Body, ""))
		}
	}
}

// Nothing, one call, and paths that are not known.
func TestLittle(t *testing.T) {
	for _, threads := range [][]Thread{nil, {{}}, {{Path: []uint32{7}, EnterNS: []int64{5}}}} {
		r, err := Infer(threads, Paths{}, Options{RunNS: 10, Delta: DefaultDelta, Eps: DefaultEps})
		if err != nil || len(r.Program.Body) != 0 || r.Plot.Loops != 0 {
			t.Errorf("%v: %+v, %v", threads, r, err)
		}
	}
	r, err := Infer([]Thread{{Path: []uint32{7, 7, 7}, EnterNS: []int64{0, 5, 10}}}, Paths{}, Options{RunNS: 10, Delta: DefaultDelta, Eps: DefaultEps})
	if err != nil || len(r.Program.Body) != 1 || r.Program.Body[0].Body[0].Function != "call path 7" {
		t.Errorf("%+v, %v", r, err)
	}
	if got := ranges([]int{0, 1, 2, 5, 7, 8}); got != "0..2, 5, 7, 8" {
		t.Error(got)
	}
}
