package plant

import (
	"math"
	"math/rand/v2"
)

// reduce is the call path that most of the programs have at their steps.
const reduce = 10

// jitter is what a quiet core shows of a busy loop.
var jitter = Jitter(.012, .008)

// at makes a step of one kind that ends with a call.
func at(call uint32, kinds ...int32) Step { return Step{Kinds: kinds, Call: call} }

// FourKinds are 1.1, 2.1, 3.2 and 4.1 ms between the same two calls, in this order, on 8 ranks, of which one takes 30 %
// longer for everything.
func FourKinds(seed uint64, iterations int, load Load) Params {
	p := Params{Seed: seed, Ranks: 8, Load: load, Slow: []Slow{{Rank: int(seed % 8), Factor: 1.3, To: 1}}}
	var steps []Step
	for k, ms := range []float64{1.1, 2.1, 3.2, 4.1} {
		p.Kinds = append(p.Kinds, Kind{MedianNS: ms * 1e6, Shape: jitter})
		steps = append(steps, at(reduce, int32(k)))
	}
	p.Phases = []Phase{{iterations, steps}}
	return p
}

// Classes are three kinds in each iteration of 8 ranks, the second of which is 25 % longer on ranks 4–7 than on 0–3,
// where durations overlap.
func Classes(seed uint64, iterations int, load Load) Params {
	return Params{Seed: seed, Ranks: 8, Load: load, Spread: .005,
		Kinds: []Kind{
			{MedianNS: .9e6, Shape: jitter},
			{MedianNS: 2e6, Shape: LogNormal(.08)},
			{MedianNS: 2.5e6, Shape: LogNormal(.08)},
			{MedianNS: 4e6, Shape: jitter},
		},
		Phases: []Phase{{iterations, []Step{at(reduce, 0), at(reduce+1, 1, 2), at(reduce+2, 3)}}},
	}
}

// Ratios are kinds between the same two calls, each ratio times as long as the one before. The shortest takes 2 ms.
func Ratios(seed uint64, kinds int, ratio, sigma float64, iterations int, load Load) Params {
	p := Params{Seed: seed, Ranks: 8, Load: load}
	random := rand.New(rand.NewPCG(seed, math.MaxUint64))
	var steps []Step
	for i, k := range random.Perm(kinds) {
		p.Kinds = append(p.Kinds, Kind{MedianNS: 2e6 * math.Pow(ratio, float64(i)), Shape: LogNormal(sigma)})
		steps = append(steps, at(reduce, int32(k)))
	}
	p.Phases = []Phase{{iterations, steps}}
	return p
}

// One is a single kind of 3 ms.
func One(seed uint64, ranks, iterations int, shape Shape) Params {
	return Params{Seed: seed, Ranks: ranks, Kinds: []Kind{{MedianNS: 3e6, Shape: shape}}, Phases: []Phase{{iterations, []Step{at(reduce, 0)}}}}
}

// Rare is a kind that comes once after 99 of another between the same two calls, and takes ratio times as long.
func Rare(seed uint64, ranks, iterations int, ratio float64, load Load) Params {
	p := Params{Seed: seed, Ranks: ranks, Load: load, Kinds: []Kind{{MedianNS: 2e6, Shape: LogNormal(.03)}, {MedianNS: 2e6 * ratio, Shape: LogNormal(.03)}}}
	steps := make([]Step, 100)
	for i := range steps {
		steps[i] = at(reduce, 0)
	}
	steps[61] = at(reduce, 1)
	p.Phases = []Phase{{iterations, steps}}
	return p
}

// PhaseChange does A B for half of the time, then C D, all between the same two calls.
func PhaseChange(seed uint64, iterations int, load Load) Params {
	p := Params{Seed: seed, Ranks: 8, Load: load}
	for _, ms := range []float64{1, 2.4, 1.45, 3.4} {
		p.Kinds = append(p.Kinds, Kind{MedianNS: ms * 1e6, Shape: jitter})
	}
	p.Phases = []Phase{{iterations / 2, []Step{at(reduce, 0), at(reduce, 1)}}, {iterations / 2, []Step{at(reduce, 2), at(reduce, 3)}}}
	return p
}

// RandomTasks are tasks of two lengths, of which every rank draws one at each step.
func RandomTasks(seed uint64, iterations int, load Load) Params {
	return Params{Seed: seed, Ranks: 8, Load: load, Kinds: []Kind{{MedianNS: 2e6, Shape: jitter}, {MedianNS: 3.3e6, Shape: jitter}},
		Phases: []Phase{{iterations, []Step{{Kinds: []int32{0, 1}, Drawn: true, Call: reduce}}}}}
}

// FivePhases are five computations of 40 bursts each, 8 ranks in 5 iterations, as LULESH has them: with counters, and
// with calls that depend on the rank's place in the grid.
func FivePhases(seed uint64) Params {
	p := Params{Seed: seed, Ranks: 8, Counters: true, Anchors: true, Spread: .004, Load: Quiet}
	var steps []Step
	for k, c := range []struct{ ms, ipc float64 }{{42, 1.9}, {17, 1.2}, {26, 2.3}, {9, .8}, {12.5, 1.6}} {
		p.Kinds = append(p.Kinds, Kind{MedianNS: c.ms * 1e6, Shape: Jitter(.01, .01), IPC: c.ipc})
		steps = append(steps, Step{Kinds: []int32{int32(k)}, Call: uint32(100 + 10*k), CallOf: 8})
	}
	p.Phases = []Phase{{5, steps}}
	return p
}

// Throttled is FourKinds, undisturbed, where one rank's core is throttled for a sixth of the run and another's for a
// tenth.
func Throttled(seed uint64, iterations int) Params {
	p := FourKinds(seed, iterations, Quiet)
	p.Slow = []Slow{{Rank: 2, Factor: 1.22, From: .3, To: .47}, {Rank: 5, Factor: 1.22, From: .7, To: .8}}
	return p
}

// ManyPairs is a step of 176 bursts, each between calls of its own, which 16 ranks do ten times after 111 others: 287
// pairs of calls, as EPOCH has them. Each pair is a kind; instructions and IPC of many of them are near each other.
func ManyPairs(seed uint64) Params {
	const once, often = 111, 176
	random := rand.New(rand.NewPCG(seed, math.MaxUint64))
	p := Params{Seed: seed, Ranks: 16, Counters: true, Spread: .01, Load: Load4}
	var phases [2][]Step
	for k := range once + often {
		p.Kinds = append(p.Kinds, Kind{MedianNS: 20e3 * math.Exp(6*random.Float64()), Shape: Jitter(.01+.04*random.Float64(), .02), IPC: .4 + 2*random.Float64()})
		phase := min(1, k/once)
		phases[phase] = append(phases[phase], at(uint32(100+k), int32(k)))
	}
	p.Phases = []Phase{{1, phases[0]}, {10, phases[1]}}
	return p
}

// Turns are two kinds at ratio 1.15 with 5 % of deviation, which take turns: their durations alone show one.
func Turns(seed uint64, iterations int) Params {
	return Params{Seed: seed, Ranks: 8, Kinds: []Kind{{MedianNS: 2e6, Shape: LogNormal(.05)}, {MedianNS: 2.3e6, Shape: LogNormal(.05)}},
		Phases: []Phase{{iterations, []Step{at(reduce, 0), at(reduce, 1)}}}}
}

// ByCounters is FourKinds with counters, and a fifth kind that has the instructions of the third at half of its IPC.
func ByCounters(seed uint64, iterations int, load Load) Params {
	p := FourKinds(seed, iterations, load)
	p.Counters = true
	for i := range p.Kinds {
		p.Kinds[i].IPC = 1.6
	}
	p.Kinds = append(p.Kinds, Kind{MedianNS: 6.4e6, Shape: jitter, IPC: .8})
	p.Phases[0].Steps = append(p.Phases[0].Steps, at(reduce, 4))
	return p
}

// Large is about so many bursts in 6 groups of calls, of which the last has three kinds; a share of them is disturbed.
func Large(seed uint64, bursts, ranks int, disturbed float64) Params {
	p := Params{Seed: seed, Ranks: ranks, Load: Load{Share: disturbed, Turn: Slices(1e6, 6e6)}}
	var steps []Step
	for i, ms := range []float64{.3, .7, 1.6, 5, 1.1, 2.1, 3.2, 4.1} {
		p.Kinds = append(p.Kinds, Kind{MedianNS: ms * 1e6, Shape: jitter})
		steps = append(steps, at(reduce+uint32(min(i, 4)), int32(i)))
	}
	p.Phases = []Phase{{max(1, bursts/ranks/len(steps)), steps}}
	return p
}
