package agent

import (
	"math/rand/v2"
	"testing"

	"moriens/agent/burst"
	"moriens/agent/ring"
	"moriens/internal/mpicall"
)

// TestSums adds the rows of a thread in any pieces: computing, MPI and neither are as planted, from the exit of
// MPI_Init to the entry of MPI_Finalize.
func TestSums(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 5))
	for range 50 {
		f := burst.NewFormer(1, 0, new(defined), new(burst.Room))
		var s sums
		at, want := uint64(1000), sums{}
		take := func(call mpicall.ID, lost bool) {
			enter := at + random.Uint64N(100)
			exit := enter + random.Uint64N(100)
			first := f.Calls()
			f.Call(&ring.Record{Enter: enter, Exit: exit, Call: call, Lost: lost})
			b := f.Blocks()[0]
			s.add(b, int(first-b.First))
			if random.IntN(4) == 0 {
				f.Take(nil)
			}
			switch {
			case want.until > 0: // main is over
			case call == mpicall.Init:
				want.begin = exit
			case call == mpicall.Finalize:
				want.computing += enter - at
				want.until = enter
			default:
				want.mpi += exit - enter
				if !lost {
					want.computing += enter - at
				}
			}
			at = exit
		}
		take(mpicall.Init, false)
		for range 100 {
			take(mpicall.Send, random.IntN(5) == 0)
		}
		take(mpicall.Finalize, false)
		take(mpicall.Send, false) // of a session, after it
		if s.begin != want.begin || s.until != want.until || s.computing != want.computing || s.mpi != want.mpi {
			t.Fatalf("%+v, want %+v", s, want)
		}
	}
}
