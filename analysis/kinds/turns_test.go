package kinds

import (
	"math"
	"slices"
	"testing"
)

// turnsOf makes bursts of one kind in one group with lengths by ordinal, and finds turns.
func turnsOf(t *testing.T, workers, threads, bursts int, length func(i int) float64, noise func(i int) bool, gaps []int32) (kindOf, halves []int32) {
	m := newMade(drawn(t), 1)
	for range threads {
		for i := range bursts {
			m.add(0, 10+length(i), .05)
		}
		m.end()
		m.Gaps = append(m.Gaps, gaps)
	}
	l, c := newLocal(&m.Bursts), alone(workers)
	l.order(c)
	kindOf = make([]int32, l.n)
	for i := range kindOf {
		if noise != nil && noise(i) {
			kindOf[i] = None
		}
	}
	return kindOf, l.turns(c, kindOf, 1)
}

func TestTurns(t *testing.T) {
	ratio := math.Log(1.15)
	two := func(i int) float64 { return ratio * float64(i%2) }
	// agree is the share of bursts that are in the slow half where they are to be.
	agree := func(kindOf []int32, slow func(i int) bool) float64 {
		n := 0
		for i, k := range kindOf {
			if (k == 1) == slow(i) {
				n++
			}
		}
		return float64(n) / float64(len(kindOf))
	}
	odd := func(i int) bool { return i%2 == 1 }
	kindOf, halves := turnsOf(t, 2, 2, 400, two, nil, nil)
	if !slices.Equal(halves, []int32{0}) || agree(kindOf, odd) < .999 {
		t.Errorf("two in turns: halves %v, %.3f right", halves, agree(kindOf, odd))
	}
	kindOf, halves = turnsOf(t, 2, 2, 400, two, func(i int) bool { return i%37 == 0 }, nil)
	if !slices.Equal(halves, []int32{0}) || slices.ContainsFunc([]int{37, 111, 185}, func(i int) bool { return kindOf[i] != 1 }) {
		t.Errorf("noise among two in turns: halves %v, noise is of kind %d", halves, kindOf[37])
	}
	if _, halves = turnsOf(t, 2, 2, 400, two, nil, []int32{101, 233}); !slices.Equal(halves, []int32{0}) {
		t.Errorf("two in turns, with gaps: halves %v", halves)
	}
	if _, halves = turnsOf(t, 1, 2, 400, func(i int) float64 { return ratio * float64(i%3) }, nil, nil); len(halves) == 0 {
		t.Error("three in turns are one")
	}
	for _, c := range []struct {
		name   string
		length func(i int) float64
	}{
		{"constant", func(int) float64 { return 0 }},
		{"drifting", func(i int) float64 { return float64(i) / 400 }},
		{"in two stretches", func(i int) float64 { return float64(i / 200) }},
		{"turns of 40", func(i int) float64 { return float64(i / 20 % 2) }},
	} {
		if _, halves := turnsOf(t, 2, 2, 400, c.length, nil, nil); len(halves) != 0 {
			t.Errorf("%s: halves %v", c.name, halves)
		}
	}
	if _, halves = turnsOf(t, 1, 2, turnBursts/2-1, two, nil, nil); len(halves) != 0 {
		t.Errorf("too few: halves %v", halves)
	}
	if _, halves = turnsOf(t, 1, 0, 0, two, nil, nil); len(halves) != 0 {
		t.Errorf("no bursts: halves %v", halves)
	}
}

// Bursts are correlated block after block, as if they were in one.
func TestCorrelateInBlocks(t *testing.T) {
	random := drawn(t)
	m := newMade(random, 1)
	for _, bursts := range []int{0, 1, longestTurn, 1<<12 - longestTurn, 1 << 12, 10_000 + random.IntN(5000)} {
		for range bursts {
			m.add(0, 10+random.Float64(), 0)
		}
		m.end()
		m.Gaps = append(m.Gaps, nil)
	}
	m.Gaps[5] = []int32{5000}
	l, c := newLocal(&m.Bursts), alone(1)
	l.order(c)
	rows, kindOf := make([]int32, l.n), make([]int32, l.n)
	for i := range rows {
		if rows[i] = int32(i); random.IntN(5) == 0 {
			kindOf[i] = None
		}
	}
	spreads := l.spreads(c, func(i int) int32 { return kindOf[i] }, 1, func(i int) int32 { return l.Cell[i] })
	got, want := newTurning(&spreads[0][0]), newTurning(&spreads[0][0])
	l.correlate(got, rows, kindOf)
	rank := func(i int32) int64 { return int64(want.ranks.at(l.Cell[i])) }
	l.pieces(rows, func(rows []int32) {
		for k, i := range rows {
			for lag := 0; lag <= min(k, longestTurn); lag++ {
				switch before := rows[k-lag]; {
				case kindOf[i] == None || kindOf[before] == None:
				case lag == 0:
					want.power += rank(i) * rank(i)
				default:
					want.sums[lag] += rank(i) * rank(before)
					want.pairs[lag]++
				}
			}
		}
	})
	if got.power != want.power || got.sums != want.sums || got.pairs != want.pairs {
		t.Errorf("power %d, sums %v of %v pairs: want %d, %v of %v", got.power, got.sums, got.pairs, want.power, want.sums, want.pairs)
	}
}

// Ranks that correlate at no lag, but speak against all, take no turns.
func TestTurnsOfNoLag(t *testing.T) {
	x := &turning{power: 1000}
	for lag := range x.sums {
		x.sums[lag], x.pairs[lag] = -100, 100
	}
	if x.hasTurns(1000) {
		t.Errorf("turns at lag %d", x.lag)
	}
}

func TestEqualDurationsTakeNoTurns(t *testing.T) {
	m := newMade(drawn(t), 1)
	for range 1000 {
		m.add(0, 10, 0)
	}
	m.end()
	l, c := newLocal(&m.Bursts), alone(3)
	l.order(c)
	if halves := l.turns(c, make([]int32, l.n), 1); len(halves) != 0 {
		t.Errorf("halves %v", halves)
	}
}
