package pairing

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"moriens/conclude/blame"
	"moriens/internal/testenv"
	"moriens/trace/rundir"
)

// random is a source of chance whose seed is printed.
func random(t testing.TB) *rand.Rand {
	t.Helper()
	return testenv.Drawer(testenv.Seed(t), t.Name())
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

// kinds are those of the findings.
func kinds(p *Pairing) (list []string) {
	for i := range p.File.Findings {
		list = append(list, p.File.Findings[i].Kind)
	}
	slices.Sort(list)
	return slices.Compact(list)
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

func text(t *testing.T, p *Pairing) string {
	t.Helper()
	var b strings.Builder
	if err := p.File.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
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
