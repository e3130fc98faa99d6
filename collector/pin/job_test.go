package pin

import (
	"math/rand/v2"
	"testing"

	"moriens/collector/store"
	"moriens/internal/section/sectiontest"
)

// A job is ranks that make so many calls a second each.
type job struct {
	ranks     []*rank
	rate      int
	noise     float64 // spread of the durations, and how often an iteration takes ten times as long
	irregular bool    // what an iteration calls is left to chance
	random    *rand.Rand
}

func newJob(t testing.TB, s *store.Store, ranks, rate int) *job {
	j := &job{rate: rate, random: rand.New(rand.NewPCG(1, 2))}
	for i := range ranks {
		r := newRankOf(t, s, int32(i), uint32(ranks))
		r.call("MPI_Init", 0)
		j.ranks = append(j.ranks, r)
	}
	return j
}

// second has all ranks do what they do in a second: iterations of a halo exchange of 17 calls, of a kind.
func (j *job) second(kind int) {
	for _, r := range j.ranks {
		for n := 0; n < j.rate; n += 17 + kind {
			j.iterate(r, kind)
		}
		r.flush()
	}
}

func (j *job) iterate(r *rank, kind int) {
	call := 1e9 / float64(j.rate)
	odd := 1.
	if j.random.Float64() < j.noise/10 {
		odd = 10
	}
	burst := func(share float64) uint64 {
		return uint64(call * share * odd * (1 + j.noise*j.random.ExpFloat64()))
	}
	times := func(n int) int {
		if j.irregular {
			n = j.random.IntN(2*n + 1)
		}
		return n
	}
	for _, x := range []struct {
		name string
		n    int
	}{{"MPI_Irecv", 4}, {"MPI_Isend", 4}, {"MPI_Wait", 7}, {"MPI_Bcast", kind}} {
		for range times(x.n) {
			r.call(x.name, burst(.4))
		}
	}
	r.call("MPI_Barrier", burst(1))
	r.call("MPI_Allreduce", burst(3))
}

// flush hands over what the rank did since the last time.
func (r *rank) flush() {
	n, ticks := uint64(len(r.calls.Function)), r.calls.Origin
	for i, burst := range r.calls.Burst {
		ticks += burst + r.calls.Call[i]
	}
	r.done()
	r.calls = &sectiontest.Rows{Ring: r.calls.Ring, First: r.calls.First + n, Origin: ticks}
}
