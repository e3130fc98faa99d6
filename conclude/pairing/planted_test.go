package pairing

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/placement"
	"moriens/conclude/blame"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// random is a source of chance whose seed is printed.
func random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Log("seed", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// exchange is what a rank does to exchange halos with its neighbours.
func exchange(bytes int64, neighbours ...int) (list []step) {
	for _, n := range neighbours {
		list = append(list, irecv(n, bytes))
	}
	for _, n := range neighbours {
		list = append(list, isend(n, bytes))
	}
	return append(list, waitall())
}

// around are the neighbours of a rank on a torus.
func around(rank, wide, high int) []int {
	x, y := rank%wide, rank/wide
	at := func(x, y int) int { return (y+high)%high*wide + (x+wide)%wide }
	list := []int{at(x-1, y), at(x+1, y), at(x, y-1), at(x, y+1)}
	slices.Sort(list)
	return slices.Compact(list)
}

// haloBytes are those of a message of a halo.
const haloBytes = 64 << 10

// halo exchanges halos on a torus; more is what a rank computes longer than a millisecond.
func halo(m *machine, wide, high, iterations int, r *rand.Rand, more func(rank, iteration int) int64) {
	for i := range iterations {
		for rank := range wide * high {
			m.do(rank, compute(1_000_000+r.Int64N(2000)+more(rank, i)))
			m.do(rank, exchange(haloBytes, around(rank, wide, high)...)...)
		}
	}
}

func nothing(rank, iteration int) int64 { return 0 }

// firstIs tests of what kind the first finding is, that it is of these ranks, and that its text has words.
func firstIs(t *testing.T, p *Pairing, kind string, ranks []int, words ...string) {
	t.Helper()
	if len(p.File.Findings) == 0 {
		t.Fatal("no finding")
	}
	f := &p.File.Findings[0]
	if f.Kind != kind || ranks != nil && !slices.Equal(f.Ranks, ranks) {
		t.Errorf("%+v, want %s of ranks %d", f, kind, ranks)
	}
	for _, w := range words {
		if !strings.Contains(f.Text, w) {
			t.Errorf("%q has no %q", f.Text, w)
		}
	}
}

func none(t *testing.T, p *Pairing) {
	t.Helper()
	if len(p.File.Findings) > 0 {
		t.Errorf("%+v", p.File.Findings)
	}
}

// share is which part of the late times a rank has caused.
func share(p *Pairing, rank int) (sum float64) {
	for _, c := range p.File.Causes {
		if c.Rank != nil && *c.Rank == rank {
			sum += float64(c.Share)
		}
	}
	return sum
}

func TestCleanHalo(t *testing.T) {
	m := newMachine(16, 4)
	halo(m, 4, 4, 200, random(t), nothing)
	p := measured(t, m.run(t), blame.Options{})
	none(t, p)
	if x := p.File.Totals; x.Messages != 16*4*200 || x.Pairs != 32 || x.InternodeMessages != 16*2*200 {
		t.Errorf("%+v", x)
	}
}

// Rank 2 computes 20 ms before it sends to rank 3, after it has sent to the others.
func TestLateForOneNeighbour(t *testing.T) {
	m := newMachine(8, 4)
	r := random(t)
	for range 50 {
		for rank := range 8 {
			left, right := (rank+7)%8, (rank+1)%8
			m.do(rank, compute(1_000_000+r.Int64N(2000)), irecv(left, 0), irecv(right, 0), isend(left, 1024))
			if rank == 2 {
				m.do(rank, compute(20_000_000))
			}
			m.do(rank, isend(right, 1024), waitall())
		}
	}
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsLateSender, []int{2}, "rank 2 makes others wait", "longer before MPI_Isend@halo.c:24 than rank ")
	if f := p.File.Findings[0]; f.CallPath != "MPI_Isend@halo.c:24" || share(p, 2) < .95 {
		t.Errorf("%+v: %g", f, share(p, 2))
	}
}

func TestLateForAll(t *testing.T) {
	m := newMachine(16, 4)
	halo(m, 4, 4, 200, random(t), func(rank, _ int) int64 {
		if rank == 6 {
			return 500_000
		}
		return 0
	})
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsLateSender, []int{6}, "rank 6 makes others wait", "it computes 500 us longer before MPI_Irecv@halo.c:32 than rank ")
	if share(p, 6) < .95 || len(p.File.Findings) != 1 {
		t.Errorf("%g: %+v", share(p, 6), p.File.Findings)
	}
}

// wave sweeps over a grid from each of its corners in turn.
func wave(m *machine, side, sweeps int, work func(rank int) int64, bytes func(from, to int) int64) {
	for s := range sweeps {
		dx, dy := 1-2*(s%2), 1-2*(s/2%2)
		for rank := range side * side {
			x, y := rank%side, rank/side
			inside := func(x, y int) bool { return x >= 0 && y >= 0 && x < side && y < side }
			for _, from := range [][2]int{{x - dx, y}, {x, y - dy}} {
				if inside(from[0], from[1]) {
					m.do(rank, recv(from[1]*side+from[0], 0))
				}
			}
			m.do(rank, compute(work(rank)))
			for _, to := range [][2]int{{x + dx, y}, {x, y + dy}} {
				if peer := to[1]*side + to[0]; inside(to[0], to[1]) {
					m.do(rank, send(peer, bytes(rank, peer)))
				}
			}
		}
	}
}

// One slow rank in a wavefront causes at least half of all late times, and the next one not a tenth. Were excess
// computing taken for waits of the rank itself, and these for that, it would not.
func TestWave(t *testing.T) {
	m := newMachine(16, 16)
	r := random(t)
	wave(m, 4, 80, func(rank int) int64 {
		if rank == 5 {
			return 1_000_000
		}
		return 100_000 + r.Int64N(1000)
	}, func(int, int) int64 { return 1024 })
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsLateSender, []int{5}, "before MPI_Send@halo.c:20")
	next := 0.
	for rank := range 16 {
		if rank != 5 {
			next = max(next, share(p, rank))
		}
	}
	if share(p, 5) < .5 || next > .1 {
		t.Errorf("rank 5 causes %g, the next one %g", share(p, 5), next)
	}
}

// apart makes the way of pairs longer.
func (m *machine) apart(factor int64, slow func(a, b int) bool) {
	usual := m.way
	m.way = func(a, b int, bytes int64) int64 {
		if slow(a, b) {
			return factor * usual(a, b, bytes)
		}
		return usual(a, b, bytes)
	}
}

// talk has ranks exchange messages of several sizes with all others that far apart; one of two answers at once.
func talk(m *machine, r *rand.Rand, rounds int, apart ...int) {
	n := len(m.ranks)
	for range rounds {
		for _, far := range apart {
			for rank := range n {
				if rank/far%2 == 0 && rank+far < n {
					bytes := []int64{64, 4096, 32768}[r.IntN(3)]
					peer := rank + far
					m.do(rank, compute(20_000+r.Int64N(1000)), send(peer, bytes), recv(peer, 0))
					m.do(peer, compute(20_000+r.Int64N(1000)), recv(rank, 0), send(rank, bytes))
				}
			}
		}
	}
}

func TestSlowPair(t *testing.T) {
	m := newMachine(12, 3)
	m.apart(30, func(a, b int) bool { return min(a, b) == 7 && max(a, b) == 10 })
	talk(m, random(t), 100, 1, 3)
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsSlowLink, []int{7, 10}, "7–10 takes 30", "what other pairs between nodes take for 32 KiB", "from n2 to n3")
	for _, f := range p.File.Findings[1:] {
		if f.Kind == rundir.PairsSlowLink || f.Kind == rundir.PairsSlowNode {
			t.Errorf("%+v", f)
		}
	}
}

// All pairs of a slow host are one finding.
func TestSlowHost(t *testing.T) {
	m := newMachine(16, 4)
	m.apart(8, func(a, b int) bool { return m.node[a] != m.node[b] && (m.node[a] == 2 || m.node[b] == 2) })
	talk(m, random(t), 100, 4, 8)
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsSlowNode, []int{8, 9, 10, 11}, "node n2 is slow: all its 8 pairs with other nodes take 8")
	for _, f := range p.File.Findings[1:] {
		if f.Kind == rundir.PairsSlowLink || f.Kind == rundir.PairsSlowNode {
			t.Errorf("%+v", f)
		}
	}
}

// A torus whose ranks lie on nodes at random: the advice is as good as a cut by hand, and counts what it says.
func TestShuffledTorus(t *testing.T) {
	r := random(t)
	m := newMachine(64, 8)
	r.Shuffle(len(m.node), func(i, k int) { m.node[i], m.node[k] = m.node[k], m.node[i] })
	halo(m, 8, 8, 5, r, nothing)
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsPlacing, nil, "another order of the ranks cuts bytes between nodes from ")
	if len(p.File.Findings) == 0 {
		return
	}
	var edges []placement.Edge
	present, room := make([]int32, 64), make([]int32, 8)
	for rank := range 64 {
		present[rank] = int32(m.node[rank])
		room[m.node[rank]]++
		for _, peer := range around(rank, 8, 8) {
			if peer > rank {
				edges = append(edges, placement.Edge{A: int32(rank), B: int32(peer), Weight: 2 * 5 * haloBytes})
			}
		}
	}
	plan, err := placement.Advise(64, edges, room, present)
	if err != nil {
		t.Fatal(err)
	}
	before, after := placement.Between(edges, present), placement.Between(edges, plan.Of)
	if f := p.File.Findings[0]; f.Bytes != int64(before-after) {
		t.Errorf("%+v saves %g bytes", f, before-after)
	}
	if blocks := 64. * 12 / 8 * 2 * 5 * haloBytes; after > 1.1*blocks { // blocks of 2 × 4 ranks have 12 edges to others
		t.Errorf("%g bytes between nodes, in blocks %g", after, blocks)
	}
}

// Two hundred messages of 128 B before each of 3,456 B could be packed.
func TestSmallMessages(t *testing.T) {
	m := newMachine(4, 2)
	r := random(t)
	for range 50 {
		for rank := range 4 {
			peer := rank ^ 1
			m.do(rank, compute(200_000+r.Int64N(2000)))
			for range 200 {
				if rank < peer {
					m.do(rank, send(peer, 128))
				} else {
					m.do(rank, recv(peer, 0))
				}
			}
			if rank < peer {
				m.do(rank, send(peer, 3456))
			} else {
				m.do(rank, recv(peer, 0))
			}
		}
	}
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsSmallMessages, []int{0, 1, 2, 3}, "19,900 of 20,000 messages of 128 B of 2 pairs could go together: saves about ")
}

func TestLateReceiver(t *testing.T) {
	m := newMachine(8, 8)
	r := random(t)
	for range 100 {
		for rank := range 8 {
			switch {
			case rank == 4:
				m.do(rank, compute(100_000+r.Int64N(1000)), ssend(5, 1024))
			case rank == 5:
				m.do(rank, compute(700_000+r.Int64N(1000)), recv(4, 0))
			default:
				m.do(rank, compute(100_000), send(rank^1, 64), recv(rank^1, 0), compute(500_000))
			}
		}
	}
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsLateReceiver, []int{5}, "rank 5 makes others wait", "of all late-receiver time", "rank 4 waits in MPI_Ssend@halo.c:22 6", "a message for it")
	for _, f := range p.File.Findings {
		if f.Kind == rundir.PairsSlowLink {
			t.Errorf("%+v", f)
		}
	}
}

// Of four senders that a call waits for one is late: it alone has the late time, and all four share the blocked time.
func TestWaitallOfFour(t *testing.T) {
	m := newMachine(5, 5)
	for range 100 {
		m.do(0, irecv(1, 0), irecv(2, 0), irecv(3, 0), irecv(4, 0), waitall())
		for rank := 1; rank < 5; rank++ {
			more := int64(0)
			if rank == 3 {
				more = 400_000
			}
			m.do(rank, compute(100_000+more), send(0, 1000))
		}
		for rank := range 5 { // all begin together
			m.do(rank, ring(rank, 5)...)
		}
	}
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsLateSender, []int{3}, "rank 3 makes others wait", "us longer before MPI_Send@halo.c:20 than rank ")
	var blocked []int64
	for i := range p.Rows {
		if r := &p.Rows[i]; r.Rank == 0 && r.Kind == parquet.PairsReceived && !r.Sized() && r.Peer >= 1 {
			if r.Peer == 2 || r.Peer == 3 {
				blocked = append(blocked, r.BlockedNS)
			}
			if r.Peer == 2 && r.LateNS > 1_000_000 || r.Peer == 3 && r.LateNS < 39_000_000 {
				t.Errorf("%+v", r)
			}
		}
	}
	if len(blocked) != 2 || math.Abs(float64(blocked[0]-blocked[1])) > 100 {
		t.Errorf("blocked %d", blocked)
	}
}

// ring has ranks wait for each other: a token goes round twice.
func ring(rank, ranks int) (list []step) {
	next, before := (rank+1)%ranks, (rank+ranks-1)%ranks
	for range 2 {
		if rank == 0 {
			list = append(list, send(next, 0), recv(before, 0))
		} else {
			list = append(list, recv(before, 0), send(next, 0))
		}
	}
	return list
}

// A master takes results from whoever comes: that it waits is the slow worker's doing where only that one is left.
func TestAnySource(t *testing.T) {
	m := newMachine(5, 5)
	r := random(t)
	for range 50 {
		for rank := 1; rank < 5; rank++ {
			work := 100_000 + r.Int64N(1000)
			if rank == 3 {
				work = 600_000
			}
			m.do(rank, recv(0, 0), compute(work), send(0, 256))
			m.do(0, send(rank, 256))
		}
		for range 4 {
			m.do(0, anySource(0))
		}
	}
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsLateSender, []int{3}, "rank 3 makes others wait")
}

// Pairs of two worlds are apart, and named by them.
func TestTwoWorlds(t *testing.T) {
	m := newMachine(8, 4)
	for rank := 4; rank < 8; rank++ {
		m.worldOf[rank] = 1
	}
	r := random(t)
	for range 100 {
		for rank := range 8 {
			more := int64(0)
			if rank == 6 {
				more = 500_000
			}
			m.do(rank, compute(1_000_000+r.Int64N(1000)+more))
			m.do(rank, exchange(4096, rank^1, rank^2)...)
		}
	}
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsLateSender, []int{6}, "world 1 rank 2 makes others wait")
	for i := range p.Rows {
		if r := &p.Rows[i]; r.World != r.PeerWorld {
			t.Errorf("%+v", r)
		}
	}
	if hosts := p.File.Hosts; len(hosts) != 2 || hosts[1].World != 1 || hosts[1].Ranks != "0-3" {
		t.Errorf("%+v", hosts)
	}
}

// One rank, and ranks that never talk.
func TestNobody(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		m := newMachine(ranks, 1)
		for rank := range ranks {
			m.do(rank, compute(1000), waitall(), compute(5000), waitall())
		}
		p := measured(t, m.run(t), blame.Options{})
		if p.File.Totals != nil || len(p.Rows) > 0 || len(p.File.Why) != 1 || p.File.Why[0] != "no rank sent a message" || p.File.Basis != "" {
			t.Errorf("%+v", p.File)
		}
	}
	m := newMachine(6, 3)
	for rank := range 4 {
		m.do(rank, compute(1000), send(rank^1, 8), recv(rank^1, 0), compute(1_000_000), waitall())
	}
	m.do(4, compute(10), waitall())
	m.do(5, compute(10), waitall())
	p := measured(t, m.run(t), blame.Options{})
	none(t, p)
	if p.File.Totals.Pairs != 2 {
		t.Errorf("%+v", p.File.Totals)
	}
}

// Results do not depend on how many work, nor does the order of what is equal.
func TestWorkers(t *testing.T) {
	m := newMachine(16, 4)
	for range 20 {
		for rank := range 16 {
			m.do(rank, compute(100_000+100_000*int64(rank/8)))
			m.do(rank, exchange(1024, around(rank, 4, 4)...)...)
		}
	}
	run := m.run(t)
	one, eight := measured(t, run, blame.Options{Workers: 1}), measured(t, run, blame.Options{Workers: 8})
	if text(t, one) != text(t, eight) || !reflect.DeepEqual(one.Rows, eight.Rows) {
		t.Error("with eight workers all is different")
	}
}

func text(t *testing.T, p *Pairing) string {
	t.Helper()
	var b strings.Builder
	if err := p.File.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Clocks of two nodes are 1 ms apart, as far as it is known: nothing that is shorter is a late sender.
func TestClocksApart(t *testing.T) {
	m := newMachine(8, 4)
	m.shiftNS[1] = 900_000
	r := random(t)
	for range 100 {
		for rank := range 8 {
			m.do(rank, compute(3_000_000+r.Int64N(1000)))
			m.do(rank, exchange(1024, around(rank, 4, 2)...)...)
		}
	}
	p := measured(t, m.run(t), blame.Options{UncertaintyNS: []int64{500_000, 500_000}, Clock: []int32{0, 1}})
	none(t, p)
	for i := range p.Rows {
		if r := &p.Rows[i]; !r.SameHost && r.LateNS > 0 {
			t.Errorf("%+v", r)
		}
	}
}

// A pair that sends far more messages than others, small ones: the paper's first case.
func TestHeavyPairOfSmallMessages(t *testing.T) {
	m := newMachine(16, 4)
	r := random(t)
	halo(m, 4, 4, 40, r, nothing)
	for range 40 {
		for range 300 {
			m.do(2, send(11, 128))
			m.do(11, recv(2, 0))
		}
		m.do(2, send(11, 3456))
		m.do(11, recv(2, 0))
	}
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsSmallMessages, []int{2, 11}, "messages of 128 B of 2–11 could go together: saves about ")
}

// Messages of 7,040 B take what such of 164,032 B take: the second.
func TestOddSize(t *testing.T) {
	m := newMachine(8, 8)
	m.eager = 2 << 20
	m.way = func(a, b int, bytes int64) int64 {
		if bytes == 7040 {
			bytes = 164032
		}
		return 3000 + bytes/10
	}
	r := random(t)
	for range 60 {
		for _, bytes := range []int64{8, 128, 512, 1024, 3456, 7040, 16384, 65536, 164032, 262144, 524288, 1 << 20} {
			for rank := range 4 {
				m.do(rank, compute(5000+r.Int64N(500)), send(rank+4, bytes), recv(rank+4, 0))
				m.do(rank+4, recv(rank, 0), compute(5000+r.Int64N(500)), send(rank, bytes))
			}
		}
	}
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsIrregular, nil, "messages of 7,040 B within a node take", "× what their size says: as long as 164,032 B")
	if p.File.Findings[0].Bytes != 7040 {
		t.Errorf("%+v", p.File.Findings[0])
	}
}

// A wavefront of 64 ranks with a slow pair on one node: the third. Between nodes nothing is slow.
func TestWaveWithSlowPair(t *testing.T) {
	m := newMachine(64, 16)
	m.apart(200, func(a, b int) bool { return min(a, b) == 21 && max(a, b) == 22 })
	r := random(t)
	wave(m, 8, 40, func(int) int64 { return 100_000 + r.Int64N(1000) }, func(int, int) int64 { return 4096 })
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsSlowLink, []int{21, 22}, "21–22 takes 200 × what other pairs within a node take for 4 KiB, on n1")
}

// First messages of pairs set up connections.
func TestFirstMessage(t *testing.T) {
	m := newMachine(8, 2)
	first := make(map[channel]int)
	usual := m.way
	m.way = func(a, b int, bytes int64) int64 {
		if len(m.sends[channel{a, b}]) == 1 {
			first[channel{a, b}]++
			return 3_000_000
		}
		return usual(a, b, bytes)
	}
	talk(m, random(t), 40, 2)
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsFirstMessage, nil, "the first messages of 4 pairs take", "connections are set up")
}
