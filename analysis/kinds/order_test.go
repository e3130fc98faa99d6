package kinds

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"moriens/analysis/sequence"
	"moriens/internal/mpix"
	"moriens/internal/team"
)

// labelled gives bursts their leaves and counts what is round them.
func (m *made) labelled(workers, leaves int, leafOf []int32) (*local, *grams) {
	l, c := newLocal(&m.Bursts), alone(workers)
	l.order(c)
	l.codes = codes{leaves}
	l.relabel(c, func(i int) int32 {
		if leafOf[i] == None {
			return l.codes.noise(l.Group[i])
		}
		return l.codes.leaf(leafOf[i])
	})
	return l, l.grams(c, slices.Repeat([]bool{true}, codeMost+1))
}

// drawLeaves makes bursts of one group with leaves as drawn, by thread and ordinal.
func (m *made) drawLeaves(threads, bursts int, leaf func(thread, i int) int32) (leafOf []int32) {
	for t := range threads {
		for i := range bursts {
			leafOf = append(leafOf, leaf(t, i))
			m.add(0, 10, 0)
		}
		m.end()
	}
	return leafOf
}

func TestOrderForetells(t *testing.T) {
	random := drawn(t)
	for _, c := range []struct {
		name            string
		threads, bursts int
		leaf            func(thread, i int) int32
		least, most     float64
	}{
		{"one after the other", 2, 500, func(_, i int) int32 { return int32(i % 2) }, .97, 1},
		{"in pairs", 4, 200, func(_, i int) int32 { return int32(i / 2 % 2) }, .95, 1},
		{"one in ten", 2, 500, func(_, i int) int32 { return int32(i % 10 / 9) }, .8, 1},
		{"other ranks", 4, 300, func(_, i int) int32 { return int32(((i*i*7 + i/3) ^ i>>3) % 2) }, .9, 1},
		{"few", 2, 4, func(_, i int) int32 { return int32(i % 2) }, 0, 0},
		{"one burst each", 1, 2, func(_, i int) int32 { return int32(i % 2) }, 0, 0},
		{"one leaf", 4, 300, func(int, int) int32 { return 0 }, 0, 0},
		{"chance", 4, 1000, func(int, int) int32 { return random.Int32N(2) }, 0, .02},
	} {
		m := newMade(random, 1)
		leafOf := m.drawLeaves(c.threads, c.bursts, c.leaf)
		_, g := m.labelled(2, 2, leafOf)
		if u := g.foretold(1, 2); !(u >= c.least && u <= c.most) {
			t.Errorf("%s: foretold to %v, want %v to %v", c.name, u, c.least, c.most)
		}
	}
}

// Leaves that come by chance are foretold to .02 at most in 99 of 100 draws, and nowhere far enough to be two kinds.
func TestChanceForetellsNothing(t *testing.T) {
	random := drawn(t)
	const draws = 300
	above := 0
	for range draws {
		m := newMade(random, 1)
		often := .01 + .49*random.Float64()
		others := 1 + random.Int32N(2)
		leafOf := m.drawLeaves(1+random.IntN(8), 100+random.IntN(300), func(int, int) int32 {
			if random.Float64() < often {
				return 0
			}
			return 1 + random.Int32N(others)
		})
		_, g := m.labelled(1, 7, leafOf)
		u := g.foretold(1, 2)
		if u > .02 {
			above++
		}
		if u >= apartByOrder {
			t.Errorf("%d bursts of %d threads, one in %.0f: foretold to %v", len(leafOf), len(m.Ends), 1/often, u)
		}
	}
	if above > 3+6 { // 3 are to be expected at most, 9 by chance
		t.Errorf("%d of %d are foretold to more than .02", above, draws)
	}
}

func TestGramsAreCountedAlike(t *testing.T) {
	random := drawn(t)
	m := newMade(random, 1)
	leafOf := m.drawLeaves(5, 100, func(int, int) int32 { return random.Int32N(4) - 1 })
	m.Gaps = [][]int32{{3}, nil, {0, 50, 50, 99, 100}, {17}, nil}
	_, want := m.labelled(1, 3, leafOf)
	for workers := 2; workers <= 8; workers++ {
		_, got := m.labelled(workers, 3, leafOf)
		for way := range want {
			if !slices.Equal(got[way].Keys, want[way].Keys) || !slices.Equal(got[way].Counts, want[way].Counts) {
				t.Errorf("way %d with %d workers", way, workers)
			}
		}
	}
	// Joining 0 and 2 in the counts is counting with them joined.
	joined := slices.Clone(leafOf)
	for i, leaf := range joined {
		if leaf == 2 {
			joined[i] = 0
		}
	}
	to := identity(5)
	to[3] = 1
	_, again := m.labelled(1, 3, joined)
	got := want.relabel(to)
	for way := range again {
		if !slices.Equal(got[way].Keys, again[way].Keys) || !slices.Equal(got[way].Counts, again[way].Counts) {
			t.Errorf("way %d: counts of joined leaves differ from those of a new count", way)
		}
	}
}

// Nothing is known across the ends of threads, and across gaps.
func TestContextsEndAtGaps(t *testing.T) {
	m := newMade(drawn(t), 1)
	leafOf := m.drawLeaves(2, 8, func(thread, i int) int32 { return int32(8*thread + i) })
	m.Gaps = [][]int32{{3, 3, 8}, nil}
	l, _ := m.labelled(1, 16, leafOf)
	label := func(i int) int32 { return l.codes.leaf(leafOf[i]) }
	for i := range l.n {
		begin, end := 0, 16
		for _, at := range []int{3, 8} {
			if at <= i {
				begin = at
			} else {
				end = min(end, at)
			}
		}
		// pair is the context of two labels, if both are known.
		pair := func(a, b int) int64 {
			if min(a, b) < begin || max(a, b) >= end {
				return 0
			}
			return int64(label(a))<<codeBits | int64(label(b))
		}
		for way, want := range map[int]int64{twoBefore: pair(i-1, i-2), twoAfter: pair(i+1, i+2), oneEach: pair(i-1, i+1)} {
			if got := l.context(way, i); got != want {
				t.Errorf("burst %d from %d to %d: context %d is %x, want %x", i, begin, end, way, got, want)
			}
		}
		want := int32(0)
		if i+1 < end {
			want = label(i + 1)
		}
		if got := l.after(i); got != want {
			t.Errorf("after burst %d is %d, want %d", i, got, want)
		}
	}
}

// shareOf is what a member has of bursts.
func (m *made) shareOf(of []int32, member team.Team) *made {
	s := &made{Bursts: m.Bursts}
	s.Cell, s.Group, s.Ends, s.Team = nil, nil, nil, team.Threads{Team: member, Of: of}
	if m.Gaps != nil {
		s.Gaps = make([][]int32, len(m.Gaps))
	}
	if m.Anchors != nil {
		s.Anchors = make([][]sequence.Anchor, len(m.Anchors))
	}
	begin := 0
	for t, end := range m.Ends {
		if int(of[t]) == member.Rank() {
			s.Cell, s.Group = append(s.Cell, m.Cell[begin:end]...), append(s.Group, m.Group[begin:end]...)
			if m.Gaps != nil {
				s.Gaps[t] = m.Gaps[t]
			}
			if m.Anchors != nil {
				s.Anchors[t] = m.Anchors[t]
			}
		}
		s.Ends = append(s.Ends, len(s.Group))
		begin = end
	}
	s.Length = s.Cell
	return s
}

// together runs what members of a team do.
func together(members int, work func(rank int, member team.Team)) {
	var wg sync.WaitGroup
	for rank, member := range mpix.Local(members) {
		wg.Go(func() { work(rank, member) })
	}
	wg.Wait()
}

// drawThreads makes threads with anchors, gaps and hosts.
func drawThreads(random *rand.Rand, groups int) *made {
	m := newMade(random, groups)
	threads := random.IntN(8)
	for t := range threads {
		bursts := random.IntN(40)
		if random.IntN(4) == 0 {
			bursts = 0
		}
		for range bursts {
			m.add(random.IntN(groups), 10+random.Float64(), 0)
		}
		m.end()
		var gaps []int32
		for range random.IntN(3) {
			gaps = append(gaps, random.Int32N(int32(bursts+1)))
		}
		slices.Sort(gaps)
		m.Gaps = append(m.Gaps, gaps)
		var anchors []sequence.Anchor
		at := 0
		for event := range random.IntN(12) {
			at = min(at+random.IntN(6), bursts)
			if random.IntN(5) > 0 {
				anchors = append(anchors, sequence.Anchor{At: at, Event: uint64(event)})
			}
		}
		m.Anchors, m.Nodes = append(m.Anchors, anchors), append(m.Nodes, int32(t/3))
	}
	switch random.IntN(4) {
	case 0:
		m.Anchors = nil
	case 1:
		m.Gaps = nil
	case 2:
		m.Nodes = nil
	}
	if m.Ends == nil {
		m.Ends = []int{}
	}
	return m
}

// However the threads are distributed, a burst's neighbours are the same: they belong to threads next to each other on
// one host, at the same place between the same events.
func TestNeighboursOfMembers(t *testing.T) {
	random := drawn(t)
	for range 200 {
		m := drawThreads(random, 1)
		l, c := newLocal(&m.Bursts), alone(2)
		l.order(c)
		for i := range l.n {
			for _, j := range []int32{l.next[i], l.prev[i]} {
				if j < 0 {
					continue
				}
				a, b := l.threadOf(i), l.threadOf(int(j))
				if a == b || m.Nodes != nil && m.Nodes[a] != m.Nodes[b] {
					t.Fatalf("burst %d of thread %d is beside %d of thread %d", i, a, j, b)
				}
				if back := []int32{l.next[j], l.prev[j]}; !slices.Contains(back, int32(i)) {
					t.Fatalf("burst %d is beside %d, which is beside %v", i, j, back)
				}
			}
		}
		members := 1 + random.IntN(5)
		of := make([]int32, len(m.Ends))
		for k := range of {
			of[k] = random.Int32N(int32(members))
		}
		var errs [8]error
		together(members, func(rank int, member team.Team) {
			defer team.Leave("test", &errs[rank])
			s := m.shareOf(of, member)
			x, c := newLocal(&s.Bursts), &executor{team.Panicking{Threads: s.Team}, 1, nil}
			x.order(c)
			// Labels distinguish bursts: 1 and its number among all.
			numberOf := make([]int32, 0, x.n)
			begin := 0
			for thread, end := range m.Ends {
				for i := begin; i < end && int(of[thread]) == rank; i++ {
					numberOf = append(numberOf, int32(i))
				}
				begin = end
			}
			x.relabel(c, func(i int) int32 { return numberOf[i] })
			for i, number := range numberOf {
				for _, p := range [][2]int32{{x.next[i], l.next[number]}, {x.prev[i], l.prev[number]}} {
					got := p[0]
					if got >= 0 {
						got = x.label[got]
					}
					if got != p[1] {
						errs[rank] = fmt.Errorf("burst %d is beside %d, want %d", number, got, p[1])
						return
					}
				}
			}
		})
		for _, err := range errs {
			if err != nil {
				t.Fatalf("%d members: %v", members, err)
			}
		}
	}
}

// By hand: three threads, an event that one lacks, and a gap.
func TestNeighbours(t *testing.T) {
	m := newMade(drawn(t), 1)
	m.drawLeaves(3, 5, func(int, int) int32 { return 0 })
	m.Anchors = [][]sequence.Anchor{{{At: 2, Event: 4}}, {{At: 1, Event: 3}, {At: 3, Event: 4}}, {{At: 2, Event: 4}, {At: 9, Event: 8}}}
	m.Gaps = [][]int32{nil, nil, {3}}
	l := newLocal(&m.Bursts)
	l.order(alone(1))
	if want := []int32{5, -1, 8, 9, -1, 10, -1, -1, 12, -1, 0, 1, 2, -1, -1}; !slices.Equal(l.next, want) {
		t.Errorf("next %v, want %v", l.next, want)
	}
	if want := []int32{10, 11, 12, -1, -1, 0, -1, -1, 2, 3, 5, -1, 8, -1, -1}; !slices.Equal(l.prev, want) {
		t.Errorf("previous %v, want %v", l.prev, want)
	}
	m.Gaps[0] = []int32{0} // where its begin is to others is not known
	l = newLocal(&m.Bursts)
	l.order(alone(1))
	if want := []int32{-1, -1, 8, 9, -1, 10, -1, -1, 12, -1, -1, -1, 2, -1, -1}; !slices.Equal(l.next, want) {
		t.Errorf("with a gap at the begin: next %v, want %v", l.next, want)
	}
	m.Gaps[0] = nil
	m.Nodes = []int32{0, 1, 1} // the first is alone, the others are two
	l = newLocal(&m.Bursts)
	l.order(alone(1))
	if slices.Max(l.next[:5]) != -1 || slices.Max(l.prev[:5]) >= 0 || l.next[5] != 10 || l.next[10] != 5 || l.prev[5] != noPrevious {
		t.Errorf("on two hosts: next %v, previous %v", l.next, l.prev)
	}
	if l.others(0) != 0 {
		t.Error("a thread that is alone has others")
	}
}

func TestEntropy(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		want float64
	}{{0, 0, 0}, {5, 0, 0}, {0, 7, 0}, {4, 4, 8 * math.Ln2}, {1 << 40, 1 << 40, math.Ln2 * (1 << 41)}} {
		if got := entropy(c.a, c.b); math.Abs(got-c.want) > 1e-9*max(1, c.want) {
			t.Errorf("of %d and %d: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
