package period

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A thread that lacks iterations at the begin, at the end or at both gets the numbers of those that it has, however
// many they are; one that has more leaves them out.
func TestMatchByTime(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	for range 60 {
		want := 1 + random.IntN(30)
		if random.IntN(3) == 0 {
			want = 3000 + random.IntN(30_000)
		}
		all := &Thread{Symbols: make([]uint32, want), BeginNS: make([]int64, want), DurationNS: make([]int64, want)}
		now := int64(0)
		for k := range want {
			all.BeginNS[k], all.DurationNS[k] = now, 1000+random.Int64N(3000)
			now += all.DurationNS[k]
		}
		of := make([]int32, want+1)
		for k := range of {
			of[k] = int32(k)
		}
		first := random.IntN(1 + want/4)
		last := want - random.IntN(1+want/4)
		some := &Thread{Symbols: all.Symbols[first:last], BeginNS: slices.Clone(all.BeginNS[first:last]), DurationNS: all.DurationNS[first:last]}
		for k := range some.BeginNS {
			some.BeginNS[k] += random.Int64N(400) - 200
		}
		n := last - first
		got := matchByTime(of[:n+1], some, of, all)
		for k, begin := range got {
			if in := min(max(0, k-first), n); int(begin) != in {
				t.Fatalf("%d of %d iterations from %d on: iteration %d begins at %d, want %d", n, want, first, k, begin, in)
			}
		}
		got = matchByTime(of, all, of[:n+1], some)
		for k, begin := range got {
			if int(begin) != k+first {
				t.Fatalf("%d iterations of which the reference has %d from %d on: iteration %d begins at %d, want %d", want, n, first, k, begin, k+first)
			}
		}
	}
}

// What it takes grows with the iterations, not with those that are lacking too.
func BenchmarkMatchByTime(b *testing.B) {
	const n, lacking = 300_000, 60_000
	x := &Thread{Symbols: make([]uint32, n), BeginNS: make([]int64, n), DurationNS: make([]int64, n)}
	of := make([]int32, n+1)
	for k := range x.BeginNS {
		x.BeginNS[k], of[k+1] = int64(1000*k), int32(k+1)
	}
	for b.Loop() {
		matchByTime(of[:n-lacking+1], x, of, x)
	}
}

// A phase that the reference has, and in which no thread has an iteration, is one without iterations.
func TestPhaseOfNobody(t *testing.T) {
	p := Phase{Threads: make([]Loop, 2)}
	times := iterationTimes{from: []int64{0}, to: []int64{1}}
	new(finder).describe(&p, part{new(sequence), &section{begins: []int32{0, 6, 12, 18}}}, &times)
	if p.Iterations != 0 || p.IterationNS != nil || p.Reason == "" {
		t.Errorf("%+v", p)
	}
}
