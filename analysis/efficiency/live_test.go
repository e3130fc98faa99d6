package efficiency

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// alike compares two ratios, of which both may not be defined.
func alike(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-12
}

// TestUseIsSolve merges the uses of any parts of some locations: the factors are those of Solve.
func TestUseIsSolve(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := random.IntN(12)
		sums, nodes, members, parts := make([]Sum, n), make([]int, n), make([]int, n), make([]Use, 1+random.IntN(3))
		tns := int64(1000)
		for i := range sums {
			sums[i].ComputingNS = max(0, random.Int64N(1100)-100)
			sums[i].MPINS = 1000 - min(1000, sums[i].ComputingNS)
			nodes[i], members[i] = random.IntN(4), i
			parts[random.IntN(len(parts))].Add(fmt.Sprint(nodes[i]), sums[i].ComputingNS, sums[i].MPINS)
		}
		var all Use
		for i := range parts {
			all.Merge(&parts[i])
		}
		got, want := all.Factors(tns), Solve(sums, nodes, tns, members)
		for _, x := range [][2]float64{
			{got.Parallel, want.Parallel}, {got.Balance, want.Balance}, {got.BalanceIn, want.BalanceIn}, {got.BalanceOut, want.BalanceOut},
			{got.Communication, want.Communication}, {float64(got.TNS), float64(want.TNS)}, {float64(got.Budget.MPINS), float64(want.Budget.MPINS)},
			{float64(got.Locations), float64(want.Locations)},
		} {
			if n > 0 && !alike(x[0], x[1]) {
				t.Fatalf("%d locations: %+v, want %+v", n, got, want)
			}
		}
	}
}

const second = uint64(1e9) // of a clock of 1 GHz, which begins at the run's begin

// TestTrackBins has a location compute 0 s of the first second, .1 s of the second, and so on. What the last minute has
// of it is known.
func TestTrackBins(t *testing.T) {
	for _, until := range []uint64{1, 6, 7, 60, 61, 66, 100} {
		var track Track
		track.Begin(Line{NSPerTick: 1}, 0)
		var all, minute int64
		first := (int64(until) - 1) / 6 * 6
		for s := range until {
			ns := s % 10 * second / 10
			track.Add(Computing, s*second, s*second+ns)
			track.Add(MPI, s*second+ns, (s+1)*second)
			track.Add(Computing, 0, (s+1)*second) // is added already
			all += int64(ns)
			if int64(s) >= first-54 {
				minute += int64(ns)
			}
		}
		r := NewRecent(0, int64(until*second))
		r.Add("n", &track)
		from := max(0, first-54)
		if r.All.ComputingNS != all || r.All.MPINS != int64(until*second)-all || r.Minute.ComputingNS != minute || r.MinuteNS() != (int64(until)-from)*1e9 || r.Minute.MPINS != r.MinuteNS()-minute {
			t.Errorf("%d s: %+v of %d, want %d and %d", until, r, r.MinuteNS(), all, minute)
		}
		bins := r.Efficiencies()
		if want := min(10, (int(until)+5)/6); len(bins) != want {
			t.Errorf("%d s: %d bins, want %d", until, len(bins), want)
		}
		sum := 0.
		for i, share := range bins {
			ns := 6e9
			if i == len(bins)-1 {
				ns = float64(int64(until)-first) * 1e9
			}
			sum += share * ns
		}
		if math.Abs(sum-float64(minute)) > 1 {
			t.Errorf("%d s: the bins have %g ns, want %d", until, sum, minute)
		}
	}
}

// TestTrackOfLongTimes adds what lasts for many bins, and begins in the middle of it.
func TestTrackOfLongTimes(t *testing.T) {
	var track Track
	track.Begin(Line{Ticks: 7, NS: 1000, NSPerTick: .5}, 2e9) // 2e9 ns is at tick 7 + 2·(2e9 - 1000)
	begin := uint64(7 + 2*(2e9-1000))
	track.Add(Computing, 0, begin+2*3600*second)
	track.Add(MPI, begin+2*3600*second, begin+2*3603*second)
	track.Add(Computing, begin+2*3603*second, begin+2*3630*second)
	r := NewRecent(2e9, 2e9+3630e9)
	r.Add("n", &track)
	if r.All.ComputingNS != 3627e9 || r.All.MPINS != 3e9 || r.Minute.ComputingNS != 57e9 || r.Minute.MPINS != 3e9 || r.MinuteNS() != 60e9 {
		t.Errorf("%+v", r)
	}
	// Nothing is known of the time after that.
	r = NewRecent(2e9, 2e9+3690e9)
	r.Add("n", &track)
	if r.Minute.ComputingNS != 0 || r.Minute.MPINS != 0 || r.All.ComputingNS != 3627e9 {
		t.Errorf("%+v", r)
	}
}

// TestSpread adds a time of which only the sums are known in any pieces: nothing is lost by rounding.
func TestSpread(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		var track Track
		track.Begin(Line{NSPerTick: 1}, 0)
		length := 1 + random.Uint64N(100*second)
		computing := random.Uint64N(length + 1)
		mpi := random.Uint64N(length - computing + 1)
		for end := uint64(0); end < length; {
			end += 1 + random.Uint64N(length)
			track.Spread(0, length, computing, mpi, end)
		}
		r := NewRecent(0, int64(length))
		r.Add("n", &track)
		if r.All.ComputingNS != int64(computing) || r.All.MPINS != int64(mpi) {
			t.Fatalf("%+v, want %d and %d", r.All, computing, mpi)
		}
		want := float64(computing) * float64(r.MinuteNS()) / float64(length)
		if math.Abs(float64(r.Minute.ComputingNS)-want) > 12 {
			t.Errorf("the last minute has %d of %d ns, want %g", r.Minute.ComputingNS, computing, want)
		}
	}
}
