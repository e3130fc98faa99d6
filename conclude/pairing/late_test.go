package pairing

import (
	"math"
	"testing"

	"moriens/conclude/blame"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

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

// Two ranks of which now the one, now the other is late are alike: neither makes others wait.
func TestBothLate(t *testing.T) {
	m := newMachine(2, 2)
	r := random(t)
	for i := range 200 {
		for rank := range 2 {
			m.do(rank, compute(1_000_000+r.Int64N(2000)+int64((i+rank)%2)*500_000))
			m.do(rank, exchange(8192, rank^1)...)
		}
	}
	none(t, measured(t, m.run(t), blame.Options{}))
}
