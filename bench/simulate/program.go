package main

import (
	"fmt"
	"math"
	"slices"

	"moriens/internal/mix"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	blockCalls = 1024
	worldComm  = 1
	originNS   = 1_000_000_000
	initNS     = 5000
	// rareEvery is how often the burst before the meeting is of the rare kind, on all ranks.
	rareEvery = 8
	// One rank of each so many is at the boundary, and one of so many slow.
	boundaryEvery, slowEvery = 4, 10
	// ticksPerNS has lengths in ticks be other numbers than in nanoseconds.
	ticksPerNS = 2
	// instructionsPerNS of the first kind; each has another number.
	instructionsPerNS = 1.5
)

// A kind is a burst of an iteration and the call after it.
type kind struct {
	ns       float64 // median
	spread   float64 // standard deviation of the logarithm
	function mpicall.ID
	callNS   uint64
}

// phases are the kinds of an iteration: a halo once, and twice, and an MPI_Allreduce of all ranks.
var phases = [2][]kind{
	{{3000, .03, mpicall.Irecv, 500}, {1500, .03, mpicall.Isend, 700}, {800_000, .02, mpicall.Waitall, 20_000}, {120_000, .02, mpicall.Allreduce, 5000}},
	{
		{3000, .03, mpicall.Irecv, 500}, {1500, .03, mpicall.Isend, 700}, {500_000, .02, mpicall.Waitall, 20_000},
		{4000, .03, mpicall.Irecv, 500}, {1500, .03, mpicall.Isend, 700}, {600_000, .03, mpicall.Waitall, 20_000}, {250_000, .02, mpicall.Allreduce, 5000},
	},
}

// How long bursts are of a slow rank, of one at the boundary, and rare ones, as multiples of the median of their kind.
const slowFactor, boundaryFactor, rareFactor = 1.6, .5, 8

// A class is how a burst differs from most of its place in the program.
type class uint8

const (
	usual class = iota
	atBoundary
	slow
	rare
)

func (c class) String() string { return [...]string{"usual", "boundary", "slow", "rare"}[c] }

// A job is a stencil code: half of its iterations are of each phase. Ranks at the boundary have less to compute in the
// first one, a few ranks are slow in both, and every so many iterations all of them do something that takes long.
type job struct {
	Agents, Ranks, Bursts int // ranks of an agent, bursts of a rank
	Counters              bool
	Noise                 float64 // that spreads are multiplied by
}

func (j job) ranks() int { return j.Agents * j.Ranks }

// iterations are of both phases, as many of each.
func (j job) iterations() int {
	return 2 * max(1, (j.Bursts-1+(len(phases[0])+len(phases[1]))/2)/(len(phases[0])+len(phases[1])))
}

// phase is that of an iteration.
func (j job) phase(iteration int) int {
	if iteration < j.iterations()/2 {
		return 0
	}
	return 1
}

// bursts are those of a rank: of all iterations, and before MPI_Finalize.
func (j job) bursts() int { return j.iterations()/2*(len(phases[0])+len(phases[1])) + 1 }

func (j job) all() int { return j.ranks() * j.bursts() }

// classOf is what a rank's burst at a place of an iteration is.
func (j job) classOf(rank, iteration, place int) class {
	phase := j.phase(iteration)
	switch k := phases[phase][place]; {
	case k.function == mpicall.Allreduce && iteration%rareEvery == rareEvery/2:
		return rare
	case k.function != mpicall.Waitall:
		return usual
	case rank%slowEvery == 1:
		return slow
	case phase == 0 && rank%boundaryEvery == 0:
		return atBoundary
	}
	return usual
}

// normal is a standard normal number that depends on nothing but a burst's place.
func normal(rank, iteration, place int) float64 {
	return mix.Normal(mix.Bits(mix.Bits(uint64(rank)) ^ uint64(iteration)<<8 ^ uint64(place)))
}

// lengthNS is that of a rank's burst.
func (j job) lengthNS(rank, iteration, place int) uint64 {
	k := phases[j.phase(iteration)][place]
	ns := k.ns * [...]float64{1, boundaryFactor, slowFactor, rareFactor}[j.classOf(rank, iteration, place)]
	return uint64(ns * math.Exp(j.Noise*k.spread*normal(rank, iteration, place)))
}

// A planted is one burst as it was planted.
type planted struct {
	place  int // in the program: path of the call after it; 0 = before MPI_Finalize
	before uint32
	class  class
	ns     uint64
	counts [2]int64
}

// path numbers the places of the program from 1.
func path(phase, place int) uint32 { return uint32(phase*len(phases[0]) + place + 1) }

// of makes a rank's bursts in the order of time.
func (j job) of(rank int) []planted {
	list := make([]planted, 0, j.bursts())
	before := uint32(0)
	for i := range j.iterations() {
		for place := range phases[j.phase(i)] {
			at := path(j.phase(i), place)
			p := planted{place: int(at), before: before, class: j.classOf(rank, i, place), ns: j.lengthNS(rank, i, place)}
			p.counts = j.count(p, rank, i)
			list = append(list, p)
			before = at
		}
	}
	p := planted{before: before, ns: 5000}
	p.counts = j.count(p, rank, 0)
	return append(list, p)
}

// count is what a burst's instructions and cycles are.
func (j job) count(p planted, rank, iteration int) [2]int64 {
	rate := instructionsPerNS * (1 + .15*float64(p.place%7)) * math.Exp(j.Noise*.005*normal(rank, iteration, 200+p.place))
	return [2]int64{int64(rate * float64(p.ns)), int64(2.5 * float64(p.ns))}
}

func (j job) process(rank int) uint64 { return uint64(rank+1)<<8 | 1 }
func (j job) ring(rank int) uint64    { return uint64(rank+1)<<8 | 2 }

// node is what an agent says of its clock and its communicator, before what its ranks do.
func (j job) node() []*moriensv1.ReportRequest {
	var list []*moriensv1.ReportRequest
	for _, ns := range [2]uint64{0, 1_000_000_000} {
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
			Clock: moriensv1.Clock_CLOCK_TSC, Ticks: ticksPerNS * ns, MonotonicNs: int64(ns), RealtimeNs: 1.7e18 + int64(ns),
		}}})
	}
	n := uint32(j.ranks())
	return append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
		Communicator: 1, Id: 41, Size: n, Peers: n, First: []int32{0}, Stride: []int32{1}, Count: []uint32{n},
	}}})
}

// rank is what an agent says of one rank before its calls.
func (j job) rank(rank int) []*moriensv1.ReportRequest {
	process := &moriensv1.Process{
		Process: j.process(rank), Rank: int32(rank), Size: int32(j.ranks()), World: "simulated", Host: fmt.Sprintf("n%04d", rank/j.Ranks),
		Executable: "/opt/stencil", MpiLibrary: "none", Pid: uint32(rank%j.Ranks + 1), Clock: moriensv1.Clock_CLOCK_TSC,
	}
	if j.Counters {
		process.Events = []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}
	}
	list := []*moriensv1.ReportRequest{
		{Body: &moriensv1.ReportRequest_Process{Process: process}},
		{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: j.ring(rank), Process: j.process(rank)}}},
		{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: j.process(rank), Comm: worldComm, Communicator: 1, Rank: uint32(rank)}}},
	}
	for at := range len(phases[0]) + len(phases[1]) {
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{
			Process: j.process(rank), Path: uint32(at + 1), Frames: []*moriensv1.Frame{{Module: "/opt/stencil", Offset: uint64(64 * (at + 1))}},
		}}})
	}
	return list
}

// calls are a rank's calls and meetings, as the agent makes blocks of them.
func (j job) calls(rank int) []*section.Block {
	b := j.block(rank, 0)
	b.Origin, b.NoBurst = ticksPerNS*originNS, []uint32{0}
	add(b, planted{ns: initNS}, mpicall.Init, 0)
	list := []*section.Block{b}
	places := slices.Concat(phases[0], phases[1])
	meeting := uint64(0)
	for _, p := range j.of(rank) {
		if b.Rows == blockCalls {
			b = j.block(rank, b.First+blockCalls)
			list = append(list, b)
		}
		if p.place == 0 {
			add(b, p, mpicall.Finalize, 100)
			continue
		}
		k := places[p.place-1]
		if k.function == mpicall.Allreduce {
			b.Collectives = append(b.Collectives, section.Collective{Row: uint32(b.Rows), Comm: worldComm, Ordinal: meeting, Sent: 8, Received: 8, Root: -1})
			meeting++
		}
		add(b, p, k.function, k.callNS)
	}
	return list
}

// block is one with room for rows from one on.
func (j job) block(rank int, first uint64) *section.Block {
	b := &section.Block{Ring: j.ring(rank), First: first}
	events := 0
	if j.Counters {
		events = len(planted{}.counts)
	}
	b.Grow(blockCalls, events)
	b.Rows = 0
	return b
}

func add(b *section.Block, p planted, function mpicall.ID, callNS uint64) {
	site := section.Site{Function: uint16(function), Path: uint32(p.place)}
	number := slices.Index(b.Sites, site)
	if number < 0 {
		number = len(b.Sites)
		b.Sites = append(b.Sites, site)
	}
	row := b.Append(uint16(number), ticksPerNS*p.ns, ticksPerNS*callNS)
	for k := range b.Events {
		b.Counts[k][row] = p.counts[k]
	}
}
