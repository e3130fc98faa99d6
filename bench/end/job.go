package main

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"moriens/internal/mix"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	ranksOfNode  = 64
	messageCalls = 1024
	// callsBefore is how many calls a rank makes before its first iteration.
	callsBefore = 1
	// slowRank computes half as long again as the others.
	slowRank = 2
	// spread is how far, as a standard deviation of logarithms, bursts of a kind differ.
	spread    = .02
	haloBytes = 8192
	worldComm = 1
	originNS  = 1_000_000_000
	initNS    = 5000
)

// A job is a stencil code: in the first half of its iterations each rank exchanges a halo once, in the second half
// twice, and all meet in an MPI_Allreduce at the end of each. One rank is slow throughout, and in one iteration rank 0
// computes ten times as long as usual.
type job struct {
	ranks, iterations int
	counters          bool
	peers             int // that each rank has counted messages with, each way; 0 = none
	phases            int // that each iteration, a phase itself, is divided into by the program's marks; 0 = it has none
}

// newJob makes a job of at least as many bursts.
func newJob(ranks, bursts int, counters bool) job {
	rounds := len(kinds[0]) + len(kinds[1]) // bursts of two iterations, one of each half
	perRank := (bursts + ranks - 1) / ranks
	return job{ranks: ranks, iterations: 2 * max((perRank+rounds-1)/rounds, 1), counters: counters}
}

// kind is a burst of an iteration and the call after it.
type kind struct {
	ns       float64
	function mpicall.ID
	callNS   uint64
}

// kinds are those of an iteration of the first half, and of the second.
var kinds = [2][]kind{
	{{3000, mpicall.Irecv, 500}, {1500, mpicall.Isend, 700}, {800_000, mpicall.Waitall, 20_000}, {120_000, mpicall.Allreduce, 0}},
	{
		{3000, mpicall.Irecv, 500}, {1500, mpicall.Isend, 700}, {500_000, mpicall.Waitall, 20_000},
		{4000, mpicall.Irecv, 500}, {1500, mpicall.Isend, 700}, {500_000, mpicall.Waitall, 20_000}, {250_000, mpicall.Allreduce, 0},
	},
}

// iterationNS is how long all take together for an iteration of a half: as long as the slow rank, and some more.
var iterationNS = [2]uint64{12_000_000, 16_000_000}

func (j job) half(iteration int) int {
	if iteration < j.iterations/2 {
		return 0
	}
	return 1
}

// odd is the iteration in which rank 0 takes its time.
func (j job) odd() int { return j.iterations / 3 }

// row is the number of the first call of an iteration, and of the call after the last one.
func (j job) row(iteration int) int {
	half := j.iterations / 2
	return callsBefore + min(iteration, half)*len(kinds[0]) + max(iteration-half, 0)*len(kinds[1])
}

// iterationOf is the iteration whose window a call is in.
func (j job) iterationOf(row int) int {
	behind := sort.Search(j.iterations, func(i int) bool { return j.row(i+1) > row })
	return min(behind, j.iterations-1)
}

// beginNS is when all leave the meeting before an iteration.
func (j job) beginNS(iteration int) uint64 {
	half := j.iterations / 2
	return originNS + initNS + uint64(min(iteration, half))*iterationNS[0] + uint64(max(iteration-half, 0))*iterationNS[1]
}

func (j job) bursts() int { return j.ranks * (j.row(j.iterations) + 1 - callsBefore) }

func (j job) process(rank int) uint64 { return uint64(rank+1)<<8 | 1 }
func (j job) ring(rank int) uint64    { return uint64(rank+1)<<8 | 2 }
func (j job) nodes() int              { return (j.ranks + ranksOfNode - 1) / ranksOfNode }

// normal is a standard normal number that depends on nothing but a burst's place.
func normal(rank, iteration, place int) float64 {
	return mix.Normal(mix.Bits(uint64(rank)<<40 ^ uint64(iteration)<<8 ^ uint64(place)))
}

// rows are those of the calls that from makes: first ≤ row < behind.
func (j job) rows(first, behind int) (firstRow, behindRow int) {
	firstRow, behindRow = j.row(first), j.row(behind)
	if first == 0 {
		firstRow = 0
	}
	if behind == j.iterations {
		behindRow++
	}
	return firstRow, behindRow
}

// from makes the block the calls of a rank's iterations, from one to before another. With the first iteration goes
// MPI_Init, with the last MPI_Finalize.
func (j job) from(b *section.Block, rank, first, behind int) {
	firstRow, _ := j.rows(first, behind)
	b.Empty()
	b.Ring, b.First, b.Origin, b.FirstMark = j.ring(rank), uint64(firstRow), j.beginNS(first), uint64(j.marks(first))
	if first == 0 {
		b.Origin, b.NoBurst = originNS, append(b.NoBurst, 0)
		add(b, 0, initNS, mpicall.Init, 0)
	}
	for i := first; i < behind; i++ {
		j.iteration(b, rank, i)
	}
	if behind == j.iterations {
		add(b, 5000, 100, mpicall.Finalize, 0)
	}
	if j.counters {
		count(b)
	}
}

// phaseNames are those of phases: of an iteration, and of what it is divided into.
func (j job) phaseNames() (names []string) {
	if j.phases > 0 {
		names = append(names, "iteration")
	}
	for i := range j.phases {
		names = append(names, fmt.Sprint("part ", i+1))
	}
	return names
}

// marks is how many marks there are before an iteration.
func (j job) marks(iteration int) int {
	if j.phases == 0 {
		return 0
	}
	return iteration * (2 + 2*j.phases)
}

// mark begins what is in a place of an iteration, with a burst of so many ns; the iteration itself ends behind the
// last. Parts begin in the middle of a burst, but for the first.
func (j job) mark(b *section.Block, half, place int, at, burst uint64) {
	if j.phases == 0 {
		return
	}
	add := func(what section.MarkKind, name int, ticks uint64) {
		b.Marks = append(b.Marks, section.Mark{Ticks: ticks, What: what, Name: uint32(name)})
	}
	n := len(kinds[half])
	part := place * j.phases / n
	switch {
	case place == 0:
		add(section.BeginPhase, 1, at)
		add(section.BeginPhase, 2, at)
	case place == n:
		add(section.EndPhase, part+1, at)
		add(section.EndPhase, 1, at)
	case part != (place-1)*j.phases/n:
		add(section.EndPhase, part+1, at+burst/2)
		add(section.BeginPhase, part+2, at+burst/2)
	}
}

func add(b *section.Block, burstNS, callNS uint64, function mpicall.ID, path uint32) {
	site := section.Site{Function: uint16(function), Path: path}
	number := slices.Index(b.Sites, site)
	if number < 0 {
		number = len(b.Sites)
		b.Sites = append(b.Sites, site)
	}
	b.Append(uint16(number), burstNS, callNS)
}

func (j job) iteration(b *section.Block, rank, i int) {
	at, end := j.beginNS(i), j.beginNS(i+1)
	half := j.half(i)
	for place, k := range kinds[half] {
		ns := k.ns
		if k.function == mpicall.Waitall {
			if rank == slowRank {
				ns *= 1.5
			}
			if rank == 0 && i == j.odd() {
				ns *= 10
			}
		}
		burst, call := uint64(ns*math.Exp(spread*normal(rank, i, place))), k.callNS
		switch k.function {
		case mpicall.Allreduce:
			call = end - at - burst
			b.Collectives = append(b.Collectives, section.Collective{Row: uint32(b.Rows), Comm: worldComm, Ordinal: uint64(i), Sent: 8, Received: 8, Root: -1})
		}
		j.mark(b, half, place, at, burst)
		add(b, burst, call, k.function, uint32(half*len(kinds[1])+place+1))
		at += burst + call
	}
	j.mark(b, half, len(kinds[half]), at, 0)
}

// A maker makes sections. It has room for one at a time.
type maker struct {
	encoder  section.Encoder
	gatherer section.Gatherer
	block    section.Block
}

func (m *maker) begin(ring uint64) {
	m.block.Empty()
	m.block.Ring = ring
}

// moves is what the calls of a rank's iterations have sent and received, from one to before another, as sections.
func (j job) moves(m *maker, rank, first, behind int) (sections []byte) {
	m.begin(j.ring(rank))
	for i := first; i < behind; i++ {
		for place, k := range kinds[j.half(i)] {
			if k.function != mpicall.Irecv {
				continue
			}
			if len(m.block.Transfers) > section.MaxMoves-2 {
				sections = m.encoder.Moves(sections, &m.block)
				m.begin(j.ring(rank))
			}
			j.exchange(m, rank, i, j.row(i)+place)
		}
	}
	return m.encoder.Moves(sections, &m.block)
}

// exchange receives from the left and sends to the right, in an MPI_Irecv's row and the MPI_Isend's after it; the row
// after that completes both.
func (j job) exchange(m *maker, rank, iteration, row int) {
	half := j.iterations / 2
	number := min(iteration, half) + 2*max(iteration-half, 0) // of the rank's exchanges
	if row > j.row(iteration) {
		number++
	}
	for k, peer := range [2]int{(rank + j.ranks - 1) % j.ranks, (rank + 1) % j.ranks} {
		kind := moriensv1.Transfers_KIND_RECEIVED
		if k == 1 {
			kind = moriensv1.Transfers_KIND_SENT
		}
		m.gatherer.Add(&m.block, section.Lane{Kind: section.MoveKind(kind), Comm: worldComm, Peer: int32(peer), Tag: 1},
			section.Transfer{Row: uint64(row + k), Done: int64(2 - k + 1), Bytes: haloBytes, Ordinal: uint64(number + 1)})
	}
}

// count gives each burst instructions and cycles.
func count(b *section.Block) {
	b.Grow(b.Rows, 2)
	for row, ns := range b.Burst[:b.Rows] {
		path := b.Sites[b.Site[row]].Path
		b.Counts[0][row], b.Counts[1][row] = int64(float64(ns)*2.5*(.8+.2*float64(path%7))), int64(2.5*float64(ns))
	}
}

func (j job) hello(node int) *moriensv1.Hello {
	return &moriensv1.Hello{Run: "end", Agent: uint64(node + 1), Host: fmt.Sprintf("n%04d", node), Version: "endbench", Cpus: ranksOfNode}
}
