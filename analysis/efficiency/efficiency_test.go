package efficiency

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

// all are the numbers of so many locations.
func all(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// of is a location that computes for so long in each of its turns of a second, and is in MPI for the rest of it.
func of(computingNS ...int64) Location {
	const turn = 1e9
	var l Location
	for i, ns := range computingNS {
		begin := int64(i) * turn
		l.StartNS = append(l.StartNS, begin)
		l.DurationNS = append(l.DurationNS, ns)
		l.Cluster = append(l.Cluster, 1)
		l.EnterNS = append(l.EnterNS, begin+ns)
		l.ExitNS = append(l.ExitNS, begin+turn)
	}
	l.Life = Span{0, int64(len(computingNS)) * turn}
	l.Parts = [][]Span{{l.Life}}
	return l
}

func solved(t *testing.T, nodes []int, locations ...Location) (Factors, *Sums) {
	t.Helper()
	s, err := Local(locations, Options{Regions: 1, Clusters: 1})
	if err != nil {
		t.Fatal(err)
	}
	return Solve(s.Regions[0], nodes, 0, all(len(locations))), s
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12 && !(math.IsNaN(got) && math.IsNaN(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Location r works r+1 tenths of each second, on nodes of three locations and one.
func TestPlanted(t *testing.T) {
	f, s := solved(t, []int{0, 0, 0, 1}, of(1e8, 1e8), of(2e8, 2e8), of(3e8, 3e8), of(4e8, 4e8))
	near(t, "parallel efficiency", f.Parallel, .25)
	near(t, "load balance", f.Balance, .625)
	near(t, "in nodes", f.BalanceIn, 1) // the node with most work has one location
	near(t, "between nodes", f.BalanceOut, .625)
	near(t, "communication", f.Communication, .4)
	if f.Longest != 3 || f.TNS != 2e9 {
		t.Errorf("longest %d, T %d", f.Longest, f.TNS)
	}
	want := Budget{TotalNS: 8e9, ComputingNS: 2e9, MPINS: 6e9}
	if f.Budget != want {
		t.Errorf("budget %+v", f.Budget)
	}
	clusters := Clusters(s.Clusters[0], nil)
	if len(clusters) != 1 || clusters[0].LostNS != 3e8 || clusters[0].Longest != 3 || clusters[0].Locations != 4 || clusters[0].Bursts != 8 {
		t.Errorf("clusters %+v", clusters)
	}
	near(t, "the cluster's load balance", clusters[0].Balance, .625)
}

// Two of three computing in turns on one node, the third on another node with less.
func TestNodes(t *testing.T) {
	f, _ := solved(t, []int{0, 0, 1}, of(8e8), of(4e8), of(3e8))
	near(t, "in nodes", f.BalanceIn, 6./8)
	near(t, "between nodes", f.BalanceOut, 5./6)
	near(t, "load balance", f.Balance, 5./8)
}

// What the run has no time of, nobody computes in, or no location is in.
func TestNothing(t *testing.T) {
	f, _ := solved(t, []int{0, 0}, of(0), of(0))
	near(t, "parallel efficiency", f.Parallel, 0)
	near(t, "load balance", f.Balance, math.NaN())
	near(t, "communication", f.Communication, 0)
	f, s := solved(t, nil)
	near(t, "parallel efficiency of nobody", f.Parallel, math.NaN())
	if f.Longest != -1 || len(Clusters(s.Clusters[0], nil)) != 0 {
		t.Errorf("%+v", f)
	}
}

// A burst that is in a region in part has that part of its counts there; one without a value counts like the others.
func TestCounters(t *testing.T) {
	l := Location{
		Life: Span{0, 100}, StartNS: []int64{0, 50}, DurationNS: []int64{40, 40}, Cluster: []int32{1, 2},
		Instructions: []int64{400, 80}, Cycles: []int64{200, NotRead}, EnterNS: []int64{40}, ExitNS: []int64{50},
		Parts: [][]Span{{{20, 70}}},
	}
	f, s := solved(t, []int{0}, l)
	want := Totals{Instructions: 240, InstructionsNS: 40, Cycles: 100, CyclesNS: 20, BothInstructions: 200, BothCycles: 100}
	if f.Totals != want || f.Budget != (Budget{TotalNS: 50, ComputingNS: 40, MPINS: 10}) {
		t.Errorf("%+v", f)
	}
	near(t, "IPC", f.IPC(), 2)
	near(t, "hertz", f.Hertz(), 5e9)
	clusters := Clusters(s.Clusters[0], map[int32]int{1: 7, 2: 7})
	near(t, "IPC over the best", clusters[slices.IndexFunc(clusters, func(c Cluster) bool { return c.ID == 1 })].Best, 1)
}

// Twice the locations do the same work with a tenth more instructions; or each does as much as before.
func TestScale(t *testing.T) {
	measured := func(locations int, t, computing, instructions float64) *Measured {
		return &Measured{Locations: locations, T: t, Computing: computing, Parallel: computing / t / float64(locations), Instructions: instructions, IPC: 2, GHz: 3}
	}
	reference := measured(2, 10, 16, 1000)
	strong := measured(4, 5, 17.6, 1100)
	if weak, known := Weak(strong, reference); weak || !known {
		t.Errorf("weak %v, %v", weak, known)
	}
	s := Scale(strong, reference, false)
	near(t, "computation scaling", s.Computation, 1/1.1)
	near(t, "instruction scaling", s.Instructions, 1/1.1)
	near(t, "IPC scaling", s.IPC, 1)
	near(t, "frequency scaling", s.Frequency, 1)
	near(t, "global efficiency", s.Global, .8)
	near(t, "speedup", s.Speedup, 2)
	grown := measured(4, 10, 32, 2000)
	if weak, known := Weak(grown, reference); !weak || !known {
		t.Errorf("weak %v, %v", weak, known)
	}
	s = Scale(grown, reference, true)
	near(t, "computation scaling", s.Computation, 1)
	near(t, "speedup", s.Speedup, 2)
	uncounted := &Measured{Locations: 4, T: 5, Computing: 16, Instructions: math.NaN(), IPC: math.NaN(), GHz: math.NaN()}
	if _, known := Weak(uncounted, reference); known {
		t.Error("known without counters")
	}
	near(t, "IPC scaling without counters", Scale(uncounted, reference, false).IPC, math.NaN())
}

// The iterations of a phase add up to it, also where they are skewed.
func TestIterations(t *testing.T) {
	a, b := of(5e8, 5e8, 5e8), of(9e8, 1e8, 9e8)
	a.Loops, b.Loops = []Loop{{[]int64{0, 1e9, 2e9, 3e9}}}, []Loop{{[]int64{0, 1.5e9, 2e9, 3e9}}}
	s, err := Local([]Location{a, b}, Options{Regions: 1, Iterations: []int{3}})
	if err != nil {
		t.Fatal(err)
	}
	list := s.Loops[0].Iterations(10)
	if len(list) != 3 || list[0].TNS+list[1].TNS+list[2].TNS != 3e9 || list[1].TNS != 5e8 {
		t.Fatalf("%+v", list)
	}
	near(t, "balance of the first", list[0].Balance, (5e8+1e9)/2/1e9)
	near(t, "communication of the second", list[1].Communication, 1)
}

// random draws locations with all that they can have.
func random(t *rapid.T) ([]Location, Options, []int) {
	n := rapid.IntRange(0, 5).Draw(t, "locations")
	o := Options{Regions: rapid.IntRange(1, 3).Draw(t, "regions"), Clusters: 1, Iterations: []int{rapid.IntRange(1, 3).Draw(t, "iterations")}}
	list, nodes := make([]Location, n), make([]int, n)
	counted := rapid.Bool().Draw(t, "counted")
	for i := range list {
		l := &list[i]
		nodes[i] = rapid.IntRange(0, 2).Draw(t, "node")
		at := rapid.Int64Range(0, 50).Draw(t, "begin")
		l.Life.BeginNS = at
		for range rapid.IntRange(0, 8).Draw(t, "bursts") {
			burst := rapid.Int64Range(0, 30).Draw(t, "burst")
			l.StartNS, l.DurationNS = append(l.StartNS, at), append(l.DurationNS, burst)
			l.Cluster = append(l.Cluster, rapid.Int32Range(-2, 3).Draw(t, "cluster"))
			if counted {
				l.Instructions = append(l.Instructions, rapid.SampledFrom([]int64{NotRead, 0, 7, 1 << 61}).Draw(t, "instructions"))
				l.Cycles = append(l.Cycles, rapid.SampledFrom([]int64{NotRead, 3, 11}).Draw(t, "cycles"))
			}
			call := rapid.Int64Range(0, 30).Draw(t, "call")
			at += burst + rapid.SampledFrom([]int64{0, 0, 5}).Draw(t, "not recorded")
			l.EnterNS, l.ExitNS = append(l.EnterNS, at), append(l.ExitNS, at+call)
			at += call
		}
		l.Life.EndNS = at
		for range o.Regions {
			var parts []Span
			for p := int64(0); rapid.Bool().Draw(t, "another part"); {
				p += rapid.Int64Range(0, 60).Draw(t, "gap")
				to := p + rapid.Int64Range(0, 100).Draw(t, "length")
				parts = append(parts, Span{p, to})
				p = to
			}
			l.Parts = append(l.Parts, parts)
		}
		l.Loops = make([]Loop, 1)
		if rapid.Bool().Draw(t, "iterates") {
			for range o.Iterations[0] + 1 {
				l.Loops[0].BeginsNS = append(l.Loops[0].BeginsNS, rapid.Int64Range(0, 300).Draw(t, "begins"))
			}
			slices.Sort(l.Loops[0].BeginsNS)
		}
	}
	return list, o, nodes
}

func within(t *rapid.T, what string, x float64) {
	if !math.IsNaN(x) && (x < 0 || x > 1+1e-12) {
		t.Fatalf("%s is %v", what, x)
	}
}

// Factors are 0 to 1, multiply, and both the additive losses and the budget add up.
func TestRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		locations, o, nodes := random(t)
		s, err := Local(locations, o)
		if err != nil {
			t.Fatal(err)
		}
		for r := range o.Regions {
			f := Solve(s.Regions[r], nodes, 0, all(len(locations)))
			for what, x := range map[string]float64{"PE": f.Parallel, "LB": f.Balance, "LB in": f.BalanceIn, "LB between": f.BalanceOut, "CE": f.Communication} {
				within(t, what, x)
			}
			if d := f.Balance*f.Communication - f.Parallel; math.Abs(d) > 1e-12 {
				t.Fatalf("LB·CE − PE is %v", d)
			}
			if d := f.BalanceIn*f.BalanceOut - f.Balance; math.Abs(d) > 1e-12 {
				t.Fatalf("LB in · LB between − LB is %v", d)
			}
			imbalance, communication := f.LongestNS()-f.MeanNS(), float64(f.TNS)-f.LongestNS()
			if d := float64(f.TNS)*(1-f.Parallel) - imbalance - communication; math.Abs(d) > 1e-12*float64(f.TNS) || imbalance < -1e-12*float64(f.TNS) || communication < -1e-12*float64(f.TNS) {
				t.Fatalf("lost: %v ns by imbalance, %v in communication, of %d: %v more or less than the parallel efficiency says", imbalance, communication, f.TNS, d)
			}
			b := f.Budget
			if b.ComputingNS+b.MPINS+b.OutsideNS+b.NotRecordedNS != b.TotalNS || min(b.ComputingNS, b.MPINS, b.OutsideNS, b.NotRecordedNS) < 0 {
				t.Fatalf("budget %+v", b)
			}
		}
		total := int64(0)
		for _, list := range s.Clusters[0] {
			for _, c := range list {
				total += c.TimeNS
			}
		}
		if f := Solve(s.Regions[0], nodes, 0, all(len(locations))); total != f.Budget.ComputingNS {
			t.Fatalf("clusters have %d ns of %d", total, f.Budget.ComputingNS)
		}
		for _, x := range s.Loops[0].Iterations(1000) {
			within(t, "PE of an iteration", x.Parallel)
			within(t, "LB of an iteration", x.Balance)
			within(t, "CE of an iteration", x.Communication)
		}
	})
}

// However the locations are distributed, all members of a team know what one process knows.
func TestTeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		locations, o, _ := random(t)
		want, err := Local(locations, o)
		if err != nil {
			t.Fatal(err)
		}
		members := rapid.Int32Range(2, 4).Draw(t, "members")
		owners := rapid.SliceOfN(rapid.Int32Range(0, members-1), len(locations), len(locations)).Draw(t, "owners")
		got, err := mpixtest.Run(int(members), func(m team.Team) (*Sums, error) {
			own := make([]Location, len(locations))
			for i := range own {
				if int(owners[i]) == m.Rank() {
					own[i] = locations[i]
				}
			}
			o := o
			o.Team = team.Threads{Team: m, Of: owners}
			s, err := Local(own, o)
			if err != nil {
				return nil, err
			}
			return s, s.Merge(o.Team)
		})
		if err != nil {
			t.Fatal(err)
		}
		for rank, s := range got {
			if diff := cmp.Diff(want, s, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("member %d:\n%s", rank, diff)
			}
		}
	})
}

// What does not fit together is said, with the location.
func TestRefuses(t *testing.T) {
	good := of(1, 1)
	for what, spoil := range map[string]func(l *Location){
		"bursts":     func(l *Location) { l.Cluster = l.Cluster[1:] },
		"calls":      func(l *Location) { l.ExitNS = l.ExitNS[1:] },
		"order":      func(l *Location) { l.StartNS = []int64{1e9, 0} },
		"regions":    func(l *Location) { l.Parts = nil },
		"parts":      func(l *Location) { l.Parts = [][]Span{{{5, 9}, {8, 10}}} },
		"iterations": func(l *Location) { l.Loops = []Loop{{}} },
	} {
		bad := of(1, 1)
		spoil(&bad)
		if _, err := Local([]Location{good, bad}, Options{Regions: 1, Clusters: 1}); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// The instructions of many locations do not fit an int64.
func TestInstructionsOfManyLocations(t *testing.T) {
	day := Counted{Instructions: 6e14, InstructionsNS: 1e5, Cycles: 3e14, CyclesNS: 1e5, BothInstructions: 6e14, BothCycles: 3e14}
	sums := make([]Sum, 100000)
	for i := range sums {
		sums[i] = Sum{ElapsedNS: 1e5, LifeNS: 1e5, ComputingNS: 1e5, Counted: day}
	}
	f := Solve(sums, make([]int, len(sums)), 0, all(len(sums)))
	near(t, "IPC", f.IPC(), 2)
	near(t, "instructions / 1e19", f.AllInstructions()/1e19, 6)
}

// Which of two runs is the reference does not matter for whether the problem has grown.
func TestWeakEitherWay(t *testing.T) {
	for instructions, want := range map[float64]bool{1000: false, 2000: true} {
		small, large := &Measured{Locations: 4, Instructions: 1000}, &Measured{Locations: 8, Instructions: instructions}
		for _, runs := range [][2]*Measured{{small, large}, {large, small}} {
			if weak, known := Weak(runs[0], runs[1]); weak != want || !known {
				t.Errorf("%v instructions, %d against %d locations: weak is %v, want %v", instructions, runs[0].Locations, runs[1].Locations, weak, want)
			}
		}
	}
}
