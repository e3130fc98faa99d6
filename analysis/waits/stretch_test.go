package waits

import (
	"maps"
	"math/rand/v2"
	"testing"

	"moriens/internal/team"
)

// A long stretch is the sum of what its calls have one by one.
func TestLongStretches(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, run := range []*Run{ring(4, 700, 30), anyone(6, 6000), loops([]string{"MPI_Allreduce"}, false, 3, 2000, 3)} {
		for i := range run.Threads { // what is between two calls may be several things
			th := &run.Threads[i]
			for k := range th.DurationNS {
				if random.IntN(9) == 0 {
					th.DurationNS[k] -= th.DurationNS[k] / 3
				}
			}
		}
		lanes, err := Local(run, team.Threads{})
		if err != nil {
			t.Fatal(err)
		}
		s := lanes.solver()
		s.find(s.connect())
		f := newFinder(newShared(s, s.sums()))
		for range 300 {
			thread := int32(random.IntN(len(s.lanes)))
			l, waits := &s.lanes[thread], s.waits[thread]
			to := int32(random.IntN(l.calls()))
			begin := from{int32(random.IntN(int(to)+1)) - 1, random.IntN(2) == 0}
			want := map[int32]int64{}
			add := func(key int32, ns int64) {
				if ns != 0 {
					want[key] += ns
				}
			}
			before, waitNS := 0, int64(0)
			for _, w := range waits {
				if w.Row < to {
					before++
				}
			}
			for row := max(0, begin.row); row <= to; row++ {
				if row > begin.row {
					l.eachPiece(int(row), add)
				}
				if row == to {
					break
				}
				fromNS := l.EnterNS[row]
				if w := s.waitOf(thread, row); w != nil {
					if fromNS = w.UntilNS; row > begin.row || begin.entry {
						waitNS += s.waitNS(thread, w)
					}
				}
				add(mpiKey(l.Path[row]), l.ExitNS[row]-fromNS)
			}
			f.cause.clear()
			f.stretch(&f.cause, place{thread, to}, begin, before)
			got := map[int32]int64{}
			for _, key := range f.cause.keys {
				got[key] = f.cause.ns[key]
			}
			if !maps.Equal(got, want) || f.cause.waitNS != waitNS {
				t.Fatalf("thread %d, from %+v to call %d: %v and %d ns of waits, not %v and %d", thread, begin, to, got, f.cause.waitNS, want, waitNS)
			}
		}
	}
}
