package kinds

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A made is bursts for a test, in cells of .005.
type made struct {
	Bursts
	random *rand.Rand
}

func newMade(random *rand.Rand, groups int) *made {
	return &made{Bursts{Dims: 1, Timed: true, Side: .005, Groups: groups}, random}
}

// add adds a burst of a length in ln units, more or less.
func (m *made) add(group int, length, sigma float64) {
	c := int32(math.Floor((length + sigma*m.random.NormFloat64()) / m.Side))
	m.Cell, m.Group = append(m.Cell, c), append(m.Group, int32(group))
	m.Length = m.Cell
}

func (m *made) end() { m.Ends = append(m.Ends, len(m.Group)) }

func (m *made) speeds(workers int) []int32 { return newLocal(&m.Bursts).speeds(alone(workers)) }

// threads makes some, of which each does so many bursts of each group, and is so much slower.
func (m *made) threads(bursts int, slow ...float64) *made {
	for _, s := range slow {
		for range bursts {
			for g := range m.Groups {
				m.add(g, 10+float64(g)+s, .03)
			}
		}
		m.end()
	}
	return m
}

func TestSpeeds(t *testing.T) {
	random := drawn(t)
	slow := math.Log(1.27)
	for _, c := range []struct {
		name string
		slow []float64
		want []int32
	}{
		{"one of eight", []float64{0, 0, 0, slow, 0, 0, 0, 0}, []int32{0, 0, 0, 24, 0, 0, 0, 0}},
		{"one of three", []float64{0, slow, 0}, []int32{0, 24, 0}},
		{"quick one of five", []float64{0, 0, 0, 0, -slow}, []int32{0, 0, 0, 0, -24}},
		{"the second of two", []float64{0, slow}, []int32{0, 24}},
		{"the first of two", []float64{slow, 0}, []int32{0, -24}},
		{"none", make([]float64, 6), make([]int32, 6)},
		{"one thread", []float64{slow}, []int32{0}},
		{"no thread", nil, []int32{}},
	} {
		m := newMade(random, 4).threads(300, c.slow...)
		got := m.speeds(1)
		if !slices.EqualFunc(got, c.want, func(a, b int32) bool { return max(a-b, b-a) <= 1 && (a == 0) == (b == 0) }) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		for workers := 2; workers < 5; workers++ {
			if again := m.speeds(workers); !slices.Equal(again, got) {
				t.Errorf("%s: %v with %d workers, %v with one", c.name, again, workers, got)
			}
		}
	}
}

// A thread that is slow in one group of four has another kind there.
func TestSlowInOneGroupIsNoSpeed(t *testing.T) {
	m := newMade(drawn(t), 4)
	for thread := range 6 {
		for range 300 {
			for g := range 4 {
				length := 10 + float64(g)
				if thread == 2 && g == 1 {
					length += math.Log(1.27)
				}
				m.add(g, length, .03)
			}
		}
		m.end()
	}
	if got := m.speeds(2); !slices.Equal(got, make([]int32, 6)) {
		t.Errorf("%v", got)
	}
}

// Overlaps are what looking at each cell alone gives.
func TestOverlaps(t *testing.T) {
	random := drawn(t)
	for range 50 {
		draw := func() *pace {
			p := &pace{first: random.IntN(400) - 200, shares: make([]float64, 1+random.IntN(300))}
			for k := range p.shares {
				p.shares[k] = max(0, random.Float64()-.5)
			}
			return p
		}
		a, b := draw(), draw()
		for s, got := range a.overlaps(b) {
			want := 0.
			for k, v := range b.shares {
				if at := b.first + k - (s - speedReach) - a.first; at >= 0 && at < len(a.shares) {
					want += min(v, a.shares[at])
				}
			}
			if got != want {
				t.Fatalf("moved back by %d cells: %v, want %v", s-speedReach, got, want)
			}
		}
	}
}

func TestSpeedsOfNoise(t *testing.T) {
	m := newMade(drawn(t), 2)
	for range 8 {
		for range 1000 {
			m.add(m.random.IntN(2), 12*m.random.Float64(), 0)
		}
		m.end()
	}
	if got := m.speeds(2); !slices.Equal(got, make([]int32, 8)) {
		t.Errorf("%v", got)
	}
}

// Threads without bursts, and such as have few groups, are compared where they can be.
func TestSpeedsOfThreadsWithoutBursts(t *testing.T) {
	m := newMade(drawn(t), 3)
	m.end()
	m.threads(200, 0, 0, math.Log(1.27))
	m.end()
	m.end()
	if got := m.speeds(2); !slices.Equal(got, []int32{0, 0, 0, 24, 0, 0}) && !slices.Equal(got, []int32{0, 0, 0, 23, 0, 0}) {
		t.Errorf("%v", got)
	}
	empty := newMade(m.random, 3)
	empty.Ends = []int{0, 0}
	if got := empty.speeds(1); !slices.Equal(got, []int32{0, 0}) {
		t.Errorf("no bursts: %v", got)
	}
}

// Cells may lie below 0, and far apart.
func TestSpeedsOfAllLengths(t *testing.T) {
	m := newMade(drawn(t), 1)
	for range 3 {
		for k := range 100 {
			m.add(0, []float64{-2, 0, 43}[k%3], .01)
		}
		m.end()
	}
	if got := m.speeds(1); !slices.Equal(got, []int32{0, 0, 0}) {
		t.Errorf("%v", got)
	}
}
