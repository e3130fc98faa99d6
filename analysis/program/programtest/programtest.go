// Package programtest has programs that are written by hand, for tests of what reads, folds and prints programs.
package programtest

import "moriens/analysis/program"

// numbered gives the nodes of a program their numbers, and loops their variables.
func numbered(p *program.Program) *program.Program {
	p.Format = program.Format
	id := 0
	program.Walk(p.Body, func(n *program.Node, in []*program.Node) {
		id++
		n.ID = id
		if n.Kind != program.KindLoop || n.Trips.Most == 1 {
			return
		}
		loops := 0
		for _, x := range in {
			if x.Variable != "" {
				loops++
			}
		}
		n.Variable = "ijklm"[loops : loops+1]
	})
	return p
}

// A file is where lines are written.
type file string

func (f file) mpi(line int, function string, count, mpiNS, size int64, peers ...program.Peer) *program.Node {
	n := &program.Node{Kind: program.KindMPI, Function: function, File: string(f), Line: line, Count: count, MPINS: mpiNS * count, Peers: peers}
	if size >= 0 {
		n.Bytes = &program.Spread{Least: size, Most: size, Mean: float64(size)}
	}
	return n
}

func (f file) call(line int, function string, body ...*program.Node) *program.Node {
	return &program.Node{Kind: program.KindCall, Function: function, File: string(f), Line: line, Body: body}
}

func (f file) loop(line int, in string, trips *program.Trips, body ...*program.Node) *program.Node {
	return &program.Node{Kind: program.KindLoop, Function: in, File: string(f), Line: line, Trips: trips, By: program.ByCode, Body: body}
}

func compute(count, meanNS int64, share float64, clusters ...int32) *program.Node {
	n := &program.Node{Kind: program.KindCompute, Count: count, MeanNS: float64(meanNS), StdNS: float64(meanNS) / 10, ComputeNS: count * meanNS, Share: share}
	for _, c := range clusters {
		n.Clusters = append(n.Clusters, program.ClusterShare{Cluster: c, Bursts: count / int64(len(clusters)), Share: 1 / float64(len(clusters))})
	}
	return n
}

// times are trips that are the same each time.
func times(n, entries int64, expression string) *program.Trips {
	return &program.Trips{Least: n, Most: n, Mean: float64(n), Entries: entries, Total: n * entries, Kind: program.TripsConstant, Expression: expression}
}

func to(kind, text string) program.Peer   { return program.Peer{Way: "to", Kind: kind, Text: text} }
func from(kind, text string) program.Peer { return program.Peer{Way: "from", Kind: kind, Text: text} }

func onRanks(text string, ranks []int, body ...*program.Node) *program.Node {
	return &program.Node{Kind: program.KindIf, Ranks: ranks, RanksText: text, By: program.BySequence, Happened: int64(len(ranks)), Of: 4, Body: body}
}

func when(w program.When, happened, of int64, body ...*program.Node) *program.Node {
	return &program.Node{Kind: program.KindIf, When: &w, By: program.BySequence, Happened: happened, Of: of, Body: body}
}

func otherwise(n *program.Node) *program.Node {
	n.Else = true
	return n
}

// Nest is nest.c on four ranks: a recursion, trips in turn, a function with two callers, conditions by rank and trip.
func Nest() *program.Program {
	const f = file("/home/x/src/nest.c")
	next, previous := "(rank+1) mod size", "(rank-1) mod size"
	halo := func(line int, count, size int64) *program.Node {
		return f.call(line, "halo",
			f.mpi(9, "MPI_Irecv", count, 2670, size, from("ring", previous)), f.mpi(10, "MPI_Irecv", count, 631, size, from("ring", next)),
			f.mpi(11, "MPI_Isend", count, 1270, size, to("ring", next)), f.mpi(12, "MPI_Isend", count, 1090, size, to("ring", previous)),
			f.mpi(13, "MPI_Waitall", count, 154_000, -1))
	}
	dot := func(line int, count, ns int64) *program.Node {
		return f.call(line, "dot", compute(count, 900, .001), f.mpi(15, "MPI_Allreduce", count, ns, 8))
	}
	tree := f.call(38, "tree",
		when(program.When{Kind: program.WhenDepth, Variable: "depth", Trip: 3}, 32, 60, f.mpi(30, "MPI_Barrier", 32, 229_000, -1)),
		otherwise(&program.Node{
			Kind: program.KindIf, By: program.BySequence, Happened: 28, Of: 60,
			Body: []*program.Node{
				{Kind: program.KindRecursion, Function: "tree", File: string(f), Line: 31, Count: 28},
				{Kind: program.KindRecursion, Function: "tree", File: string(f), Line: 31, Count: 28},
			},
		}))
	tree.Recursive = true
	root := 0
	bcast, cast := f.mpi(36, "MPI_Bcast", 4, 3_890_000, 4), f.mpi(37, "MPI_Bcast", 28, 7840, 128)
	bcast.Root, cast.Root = &root, &root
	self := f.mpi(44, "MPI_Barrier", 200, 1380, -1)
	self.Comm = "MPI_COMM_SELF"
	inTurn := &program.Trips{Least: 3, Most: 5, Mean: 3.99, Entries: 400, Total: 1596, Kind: program.TripsCycle, Cycle: []int64{3, 4, 5}, Expression: "(3,4,5 in turn)"}
	body := f.loop(40, "main", times(100, 4, "100"),
		compute(400, 178_000, .076, 2, 3), halo(41, 400, 2048),
		f.call(42, "solve", f.loop(17, "solve", inTurn, halo(18, 1596, 512), compute(1596, 535_000, .91, 1), dot(20, 1596, 337_000))),
		when(program.When{Kind: program.WhenEvery, Variable: "i", Period: 10}, 40, 400, f.call(43, "report",
			onRanks("rank == 0", []int{0}, f.loop(25, "report", times(3, 10, "3"), f.mpi(25, "MPI_Recv", 30, 52_200, 4, from("each", "each of 1..3")))),
			otherwise(onRanks("rank != 0", []int{1, 2, 3}, f.mpi(26, "MPI_Send", 30, 5990, 4, to("constant", "0")))))),
		onRanks("rank % 2 == 1", []int{1, 3}, compute(200, 35_500, .008), self))
	body.Explains = .97
	return numbered(&program.Program{
		Ranks: 4, Certain: program.Certain{Calls: 1, Time: 1}, Basis: program.ByCode,
		Body: []*program.Node{
			f.mpi(34, "MPI_Init", 4, 0, -1), bcast, f.loop(37, "main", times(7, 4, "7"), cast), tree, body, dot(46, 4, 229_000), f.mpi(48, "MPI_Finalize", 4, 50_600_000, -1),
		},
	})
}

// Compared is Nest with its readings: by the order of lines the trips of a loop vary, and the published method finds
// what it would on four ranks of which one reports. Paths are numbered as the lines that call MPI.
func Compared() *program.Program {
	p := pathed(Nest())
	order := pathed(Nest()).ByOrder()
	order.Why = nil
	program.Walk(order.Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind == program.KindLoop && n.Trips.Kind == program.TripsCycle {
			n.Trips = &program.Trips{Least: 3, Most: 5, Mean: 3.99, Entries: 400, Total: 1596, Kind: program.TripsVaries, Expression: "3..5", Quartiles: []float64{3, 4, 5}}
		}
	})
	p.Readings = &program.Readings{Order: order, Thesis: published(p)}
	return p
}

// Same is TwoConnections, in which the order of lines finds the same, and the published method too.
func Same() *program.Program {
	p := pathed(TwoConnections())
	p.Readings = &program.Readings{OrderSame: true, Thesis: &program.Published{
		Program: sequenced(p, .95, TwoConnections().Body[1:2], func(*program.Node) bool { return true }),
		Plot: program.Plot{Eps: .2, Delta: .1, Loops: 2, Once: 2, Points: []program.Point{
			{Path: 2, Ranks: 1, Repetitions: 20, MeanNS: 5e6, Delta: .98, Loop: 1}, {Path: 6, Ranks: 1, Repetitions: 50, MeanNS: 2e6, Delta: .97}, {Path: 10, Ranks: 2, Repetitions: 10, MeanNS: 1e7, Delta: .99, Loop: 1},
		}},
	}}
	return p
}

// pathed numbers the call paths of lines that call MPI, from 1.
func pathed(p *program.Program) *program.Program {
	path := 0
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind == program.KindMPI {
			path++
			n.Paths = []int{path}
		}
	})
	return p
}

// published is what the method of the thesis says of Nest: what happens in some of its trips is a loop of its own.
func published(p *program.Program) *program.Published {
	t := &program.Published{
		Program: sequenced(p, .98, p.Body, func(n *program.Node) bool { return n.Count >= 200 }),
		Plot:    program.Plot{Eps: .2, Delta: .1, Loops: 2, Once: 4, Points: []program.Point{}},
	}
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind != program.KindMPI || n.Count < 28 {
			return
		}
		x := program.Point{Path: uint32(n.Paths[0]), Ranks: 4, Repetitions: n.Count / 4, Loop: program.LeftOut, MeanNS: 1e5, Delta: .01}
		switch {
		case n.Count == 1596:
			x.MeanNS, x.Delta, x.Loop = 2.4e6, .96, 0
		case n.Count >= 200:
			x.Ranks, x.Repetitions, x.MeanNS, x.Delta, x.Loop = int(n.Count/100), 100, 9.6e6, .955, 1
		case n.Count == 30: // of one rank, and of the others
			x.Ranks, x.Repetitions, x.MeanNS = 1, 30, 3e5
		}
		t.Plot.Points = append(t.Plot.Points, x)
	})
	return t
}

// sequenced is a program as the published method has it, of so much of the calls.
func sequenced(p *program.Program, calls float64, body []*program.Node, keep func(*program.Node) bool) *program.Program {
	t := numbered(&program.Program{Ranks: p.Ranks, Certain: program.Certain{Calls: calls, Time: .9}, Basis: program.BySequence, Body: bySequence(body, keep)})
	program.Walk(t.Body, func(n *program.Node, _ []*program.Node) { n.Variable = "" })
	return t
}

// bySequence are lines as the published method has them: no computation, no partners, and no conditions on trips.
func bySequence(list []*program.Node, keep func(*program.Node) bool) (out []*program.Node) {
	for _, n := range list {
		body := bySequence(n.Body, keep)
		x := *n
		x.Body = body
		switch {
		case n.Kind == program.KindMPI && keep(n):
			x.Peers, x.Bytes, x.Root, x.Comm = nil, nil, nil, ""
			out = append(out, &x)
		case len(body) == 0:
		case n.Kind == program.KindIf && n.Ranks == nil:
			out = append(out, body...)
		case n.Kind == program.KindLoop:
			x.By = program.BySequence
			if n.Trips.Kind == program.TripsCycle { // 399 repetitions in 100
				x.Trips = &program.Trips{Least: 3, Most: 4, Mean: 3.99, Entries: 400, Total: 1596, Kind: program.TripsVaries, Expression: "3..4"}
			}
			out = append(out, &x)
		default:
			x.Else = false
			out = append(out, &x)
		}
	}
	return out
}

// TwoConnections is test-2.c of Martínez Vera's thesis, on two ranks.
func TwoConnections() *program.Program {
	const f = file("test2.c")
	exchange := func(line int, count int64, at program.Node, clusters ...int32) []*program.Node {
		return []*program.Node{
			onRanks("rank != 0", []int{1}, f.call(line, "ConnSend", f.mpi(6, "MPI_Send", count, 4760, 4, to("constant", "0")), f.mpi(7, "MPI_Recv", count, 5_020_000, 4, from("constant", "0")))),
			otherwise(onRanks("rank == 0", []int{0}, compute(count, int64(at.MeanNS), at.Share, clusters...),
				f.call(line+1, "ConnRecv", f.mpi(12, "MPI_Recv", count, 3_840_000, 4, from("constant", "1")), compute(count, 190, .001), f.mpi(13, "MPI_Send", count, 3260, 4, to("constant", "1"))))),
		}
	}
	outer := f.loop(18, "main", times(10, 2, "10"),
		f.loop(19, "main", times(2, 20, "2"), exchange(20, 20, program.Node{MeanNS: 101_000, Share: .042}, 2, 4, 9)...),
		f.loop(23, "main", times(5, 20, "5"), exchange(24, 50, program.Node{MeanNS: 903_000, Share: .93}, 1, 3)...),
		f.mpi(27, "MPI_Barrier", 20, 2_560_000, -1))
	outer.Explains = .9
	return numbered(&program.Program{
		Ranks: 2, Certain: program.Certain{Calls: 1, Time: 1}, Basis: program.ByCode,
		Body: []*program.Node{f.mpi(17, "MPI_Init", 2, 0, -1), outer, f.mpi(29, "MPI_Finalize", 2, 59_200_000, -1)},
	})
}

// Odd is a program of eight ranks with what is rare: loops that stand for two, unrolled ones, loops of one trip,
// conditions without a rule, chains of ELSE IF, tables of peers, trips of all kinds, counters, and files of one name.
func Odd() *program.Program {
	const f, g = file("/src/solver/step.f90"), file("/src/mesh/step.f90")
	two := f.loop(10, "run", times(7, 8, "7"), f.mpi(11, "MPI_Allreduce", 56, 20_000, 1<<20))
	two.StandsFor = 2
	copies := f.loop(14, "run", times(12, 8, "12"), compute(96, 2_000_000, .5, 1, 2, 3, 4, 5), f.mpi(15, "MPI_Sendrecv", 96, 80_000, 64, to("grid", "+1 in dimension 0 of 4×2"), from("grid", "-1 in dimension 0 of 4×2")))
	copies.Unrolled = 4
	copies.Body[0].Counters = []program.CounterMean{{Name: "PAPI_TOT_CYC", Mean: 4e6, N: 96}, {Name: "PAPI_TOT_INS", Mean: 6e6, N: 96}}
	once := f.loop(18, "run", times(1, 8, "1"), when(program.When{Kind: program.WhenAt, Variable: "i", Trip: 2}, 8, 80, f.mpi(19, "MPI_Barrier", 8, 9000, -1)))
	spread := f.mpi(31, "MPI_Irecv", 57, 700, -1, from("table", "1,4,2,… of ranks 0,1,2,…"))
	spread.Bytes = &program.Spread{Least: 8, Most: 250_000, Mean: 4000}
	spread.LateNS = 57 * 300
	chance := when(program.When{Kind: program.WhenUnknown}, 57, 400, spread)
	varies := g.loop(33, "Mesh::balance(std::vector<double> const&, int)", &program.Trips{Least: 3, Most: 9, Mean: 4.5, Entries: 80, Total: 360, Kind: program.TripsVaries, Expression: "3..9", Quartiles: []float64{3, 4, 6}}, g.mpi(34, "MPI_Test", 360, 100, -1))
	varies.By = program.ByOrder
	linear := f.loop(40, "run", &program.Trips{Least: 1, Most: 10, Mean: 5.5, Entries: 80, Total: 440, Kind: program.TripsLinear, Expression: "i+1", Linear: &program.Linear{Variable: "i", Slope: 1, Offset: 1}}, f.mpi(41, "MPI_Iprobe", 440, 200, -1))
	linear.By = program.BySequence
	byRank := f.loop(43, "run", &program.Trips{Least: 1, Most: 8, Mean: 4.5, Entries: 80, Total: 360, Kind: program.TripsByRank, Expression: "rank+1"}, f.mpi(44, "MPI_Put", 360, 200, 8, to("xor", "rank^1")))
	balance := g.call(22, "Mesh::balance(std::vector<double> const&, int)", chance, varies)
	balance.Inlined = true
	unknown := f.call(50, "checkpoint", f.mpi(51, "MPI_File_write_all", 8, 400_000, 4096))
	unknown.Note = "caller unknown"
	steps := f.loop(16, "run", times(10, 8, "10"),
		once, balance, linear, byRank,
		onRanks("rank < 2", []int{0, 1}, f.mpi(25, "MPI_Send", 20, 400, 8, to("constant", "7"))),
		otherwise(onRanks("rank % 2 == 0", []int{2, 4, 6}, f.mpi(27, "MPI_Send", 30, 400, 8, to("mirror", "size-1-rank")))),
		otherwise(onRanks("", []int{3, 5, 7}, f.mpi(29, "MPI_Recv", 50, 90_000, 8))),
		when(program.When{Kind: program.WhenLast, Variable: "i"}, 8, 80, compute(8, 100_000, .002, 7)),
		otherwise(when(program.When{Kind: program.WhenNotLast, Variable: "i"}, 72, 80, compute(72, 900_000, .4, 6))))
	steps.Explains = .6
	return numbered(&program.Program{
		Ranks: 8, Certain: program.Certain{Calls: .9714, Time: .99996}, Basis: program.ByCode, Why: []string{"the code of libmesh.so is not the one that ran"},
		Body: []*program.Node{two, copies, steps, unknown, compute(8, 50_000, .001), compute(8, 400_000, .01, 9)},
	})
}

// All are the programs by name.
func All() map[string]*program.Program {
	return map[string]*program.Program{"nest": Nest(), "test2": TwoConnections(), "odd": Odd()}
}

// Adi is the program of the planted profile of rundirtest, by the numbers of its call paths; path 5 is not in it. What
// is computed between two calls of path 2 is in one of two places.
func Adi() *program.Program {
	reached := func(n *program.Node, paths ...int) *program.Node {
		n.Paths = paths
		return n
	}
	between := func(n *program.Node, pairs ...[2]int) *program.Node {
		n.Around = pairs
		return n
	}
	bt, adi, x, y, norm := file("/src/bt.f"), file("/src/adi.f"), file("/src/x_solve.f"), file("/src/y_solve.f"), file("/src/error.f")
	return numbered(&program.Program{
		Ranks: 6, Certain: program.Certain{Calls: 1, Time: 1}, Basis: program.ByCode, Body: []*program.Node{
			reached(bt.mpi(1, "MPI_Barrier", 6, 52_500, -1), 6),
			bt.loop(19, "main", times(3, 6, "3"),
				bt.call(20, "adi",
					between(compute(18, 702_500, .02, 4), [2]int{2, 1}),
					adi.call(7, "x_solve", x.loop(59, "x_solve", times(2, 18, "2"),
						reached(x.mpi(60, "MPI_Isend", 36, 15_000, 1<<20), 3),
						between(compute(36, 1_666_666, .3, 1), [2]int{3, 1}),
						reached(x.mpi(72, "MPI_Wait", 36, 750_000, 1<<20), 1))),
					between(compute(18, 700_000, .1, 2), [2]int{2, 2}),
					adi.call(8, "y_solve", y.loop(80, "y_solve", times(2, 18, "2"),
						between(compute(18, 700_000, .1, 2), [2]int{2, 2}),
						reached(y.mpi(81, "MPI_Wait", 36, 750_000, 1<<20), 2))))),
			bt.call(31, "error_norm", norm.loop(16, "error_norm", times(4, 6, "4"),
				between(compute(24, 300_000, .05, 3), [2]int{4, 4}),
				reached(norm.mpi(17, "MPI_Allreduce", 24, 500_000, 8), 4))),
			between(compute(12, 150_000, .01), [2]int{0, 6}),
		},
	})
}
