package kinds

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"moriens/internal/team"
)

// A planting makes threads of bursts by ordinal: which leaf, how long, how scattered.
type planting func(thread, i int) (leaf int32, length float64)

const plantedScatter = .02

// judged evaluates planted leaves of one stratum.
func (m *made) judged(workers, threads, bursts, leaves int, p planting) (*Verdict, []int32) {
	leafOf := m.planted(threads, bursts, p)
	l, c := newLocal(&m.Bursts), alone(workers)
	l.order(c)
	l.codes = codes{leaves}
	list := make([]Leaf, leaves)
	for _, leaf := range leafOf {
		if leaf != None {
			list[leaf].Bursts++
		}
	}
	return (&Proposal{local: l, exec: c, strata: 1}).evaluate(list, leafOf)
}

func (m *made) planted(threads, bursts int, p planting) (leafOf []int32) {
	for t := range threads {
		for i := range bursts {
			leaf, length := p(t, i)
			leafOf = append(leafOf, leaf)
			m.add(0, length, plantedScatter)
		}
		m.end()
	}
	return leafOf
}

func TestJudge(t *testing.T) {
	random := drawn(t)
	// one is a leaf of two by chance.
	one := func(share float64, a, b int32) int32 {
		if random.Float64() < share {
			return b
		}
		return a
	}
	at := func(leaf int32, lengths ...float64) (int32, float64) { return leaf, lengths[leaf] }
	for _, c := range []struct {
		name   string
		leaves int
		p      planting
		kinds  []int32 // by leaf: what stands for its kind
		pool   []bool
	}{
		{"in turn, one thread after the other", 2, func(thread, i int) (int32, float64) { return at(int32((i+thread)%2), 10, 10.1) }, []int32{0, 1}, []bool{false, false}},
		{"a while on all threads", 2, func(_, i int) (int32, float64) { return at(int32(i/100%2), 10, 10.1) }, []int32{0, 1}, []bool{false, false}},
		{"a while on one thread", 2, func(thread, i int) (int32, float64) {
			if thread == 2 && i/100 == 2 {
				return at(1, 10, 10.3)
			}
			return at(0, 10, 10.3)
		}, []int32{0, 0}, []bool{false, true}},
		{"for a while on each thread in turn", 2, func(thread, i int) (int32, float64) { return at(int32((i/20+thread)%2), 10, 10.09) }, []int32{0, 0}, []bool{false, false}},
		{"on each thread another", 2, func(thread, _ int) (int32, float64) { return at(int32(thread%2), 10, 10.09) }, []int32{0, 0}, []bool{false, false}},
		{"more of it on half of the threads", 2, func(thread, _ int) (int32, float64) { return at(int32(thread/2), 10, 10.12) }, []int32{0, 0}, []bool{false, false}},
		{"far more of it on half of the threads", 2, func(thread, _ int) (int32, float64) { return at(int32(thread/2), 10, 10.3) }, []int32{0, 1}, []bool{false, false}},
		{"on each thread another, far apart", 2, func(thread, _ int) (int32, float64) { return at(int32(thread%2), 10, 10.5) }, []int32{0, 1}, []bool{false, false}},
		{"in turn", 2, func(_, i int) (int32, float64) { return at(int32(i%2), 10, 10.1) }, []int32{0, 1}, []bool{false, false}},
		{"a slow mode by chance", 2, func(int, int) (int32, float64) { return at(one(.1, 0, 1), 10, 10.3) }, []int32{0, 0}, []bool{false, true}},
		{"a quick mode by chance", 2, func(int, int) (int32, float64) { return at(one(.1, 0, 1), 10, 9.95) }, []int32{0, 0}, []bool{false, false}},
		{"two tasks by chance", 2, func(int, int) (int32, float64) { return at(one(.5, 0, 1), 10, 10.5) }, []int32{0, 1}, []bool{false, false}},
		{"two near each other by chance", 2, func(int, int) (int32, float64) { return at(one(.4, 0, 1), 10, 10.08) }, []int32{0, 0}, []bool{false, false}},
		{"in place of another, with a third one", 3, func(_, i int) (int32, float64) {
			if i%2 == 0 {
				return at(2, 0, 0, 12)
			}
			return at(one(.4, 0, 1), 10, 10.5)
		}, []int32{0, 0, 2}, []bool{false, true, false}},
		{"one leaf", 1, func(int, int) (int32, float64) { return at(0, 10) }, []int32{0}, []bool{false}},
		{"no leaf", 0, func(int, int) (int32, float64) { return None, 10 }, []int32{}, []bool{}},
		{"a leaf without bursts", 3, func(_, i int) (int32, float64) { return at(int32(i%2), 10, 10.1) }, []int32{0, 1, 2}, []bool{false, false, false}},
	} {
		m := newMade(random, 1)
		v, tails := m.judged(2, 4, 400, c.leaves, c.p)
		of := v.Of
		if c.name == "a leaf without bursts" { // it may be anything
			of = append(slices.Clone(of[:2]), 2)
			v.Pool[2] = false
		}
		if !slices.Equal(of, c.kinds) || !slices.Equal(v.Pool, c.pool) {
			t.Errorf("%s: kinds %v, pools %v, want %v, %v: %v", c.name, v.Of, v.Pool, c.kinds, c.pool, v.Why)
		}
		if len(tails) != c.leaves || len(v.Why) != c.leaves {
			t.Errorf("%s: %d tails, %d reasons", c.name, len(tails), len(v.Why))
		}
	}
}

// A thread that is alone shows what its program does.
func TestJudgeOfOneThread(t *testing.T) {
	m := newMade(drawn(t), 1)
	if v, _ := m.judged(1, 1, 400, 2, func(_, i int) (int32, float64) { return int32(i / 100 % 2), 10 + .1*float64(i/100%2) }); !slices.Equal(v.Of, []int32{0, 1}) {
		t.Errorf("kinds %v: %v", v.Of, v.Why)
	}
}

// Of two leaves with few bursts even clear order is to be clearer.
func TestJudgeOfFew(t *testing.T) {
	m := newMade(drawn(t), 1)
	v, _ := m.judged(1, 1, 2*few-4, 2, func(_, i int) (int32, float64) { return int32(i % 2), 10 + .1*float64(i%2) })
	if !slices.Equal(v.Of, []int32{0, 1}) && !slices.Equal(v.Of, []int32{0, 0}) {
		t.Errorf("kinds %v", v.Of)
	}
	m = newMade(m.random, 1)
	if v, _ = m.judged(1, 1, 6, 2, func(_, i int) (int32, float64) { return int32(i % 2), 10 + float64(i%2) }); v.Of[0] != v.Of[1] {
		t.Errorf("six bursts are kinds %v", v.Of)
	}
}

// In each round the least foretold are joined first, each once; who was joined stands for nothing any more; workers do
// not matter.
func TestRoundsOfTheJudge(t *testing.T) {
	random := drawn(t)
	for range 15 {
		leaves := 2 + random.IntN(30)
		lengths, often := make([]float64, leaves), make([]float64, leaves)
		for k := range leaves {
			lengths[k], often[k] = 10+.1*float64(k), random.Float64()
		}
		m := newMade(random, 1)
		p := func(_, i int) (int32, float64) {
			k := int32(i % leaves)
			if random.Float64() < often[k] {
				k = random.Int32N(int32(leaves))
			}
			return k, lengths[k]
		}
		v, _ := m.judged(1, 3, 600, leaves, p)
		of := identity(leaves)
		for n, j := range v.Joins {
			if of[j.From] != j.From || of[j.To] != j.To {
				t.Fatalf("round %d: %d joined to %d, which stand for %d and %d", j.Round, j.From, j.To, of[j.From], of[j.To])
			}
			for i, to := range of {
				if to == j.From {
					of[i] = j.To
				}
			}
			if n == 0 {
				continue
			}
			if last := v.Joins[n-1]; j.Round < last.Round || j.Round == last.Round && j.Foretold < last.Foretold {
				t.Fatalf("round %d, foretold to %v, after round %d, foretold to %v", j.Round, j.Foretold, last.Round, last.Foretold)
			}
			for _, other := range v.Joins[:n] {
				if other.Round == j.Round && (other.From == j.From || other.From == j.To || other.To == j.From || other.To == j.To) {
					t.Fatalf("round %d: %+v and %+v", j.Round, other, j)
				}
			}
		}
		if !slices.Equal(of, v.Of) {
			t.Fatalf("joins make %v, the verdict is %v", of, v.Of)
		}
	}
}

// Leaves are numbered by their time, which agents know less exactly than one process: the verdict is the same under
// other numbers.
func TestNumbersOfLeavesDecideNothing(t *testing.T) {
	random := drawn(t)
	for range 15 {
		leaves := 4 + random.IntN(20)
		m := newMade(random, 1)
		leafOf := m.planted(3, 600, func(_, i int) (int32, float64) {
			k := int32(i % 2)
			if random.IntN(4) == 0 {
				k = random.Int32N(int32(leaves))
			}
			return k, 10 + .1*float64(k)
		})
		judge := func(numbers []int32) *Verdict {
			l := newLocal(&m.Bursts)
			l.order(alone(1))
			l.codes = codes{leaves}
			list, of := make([]Leaf, leaves), make([]int32, len(leafOf))
			for i, leaf := range leafOf {
				of[i] = numbers[leaf]
				list[of[i]].Bursts++
			}
			v, _ := (&Proposal{local: l, exec: alone(1), strata: 1}).evaluate(list, of)
			return v
		}
		numbers := identity(leaves)
		v := judge(numbers)
		random.Shuffle(leaves, func(i, k int) { numbers[i], numbers[k] = numbers[k], numbers[i] })
		w := judge(numbers)
		for k, of := range v.Of {
			if to := w.Of[numbers[k]]; to != numbers[of] || v.Pool[k] != w.Pool[numbers[k]] {
				t.Fatalf("leaf %d of %d is of kind %d (pool: %t); numbered %v it is of the kind numbered %d (%t)", k, leaves, of, v.Pool[k], numbers, to, w.Pool[numbers[k]])
			}
		}
	}
}

// contents are what slots count, without contexts that have come to nothing.
func (s *slots) contents() map[[2]uint64]int32 {
	list := make(map[[2]uint64]int32)
	for slot, context := range s.contexts.keys {
		s.each(int32(slot), func(kind, n int32) {
			if n != 0 {
				list[[2]uint64{context, uint64(kind)}] = n
			}
		})
	}
	return list
}

// sums are the bursts of contexts.
func (s *slots) sums() map[uint64]int32 {
	list := make(map[uint64]int32)
	for slot, context := range s.contexts.keys {
		if n := s.at[slot].sum; n != 0 {
			list[context] = n
		}
	}
	return list
}

// Counts that are updated for moved bursts equal counts of all bursts, however bursts are shared out to members.
func TestMovesAreCountedLikeAll(t *testing.T) {
	random := drawn(t)
	for range 60 {
		groups := 1 + random.IntN(3)
		m := drawThreads(random, groups)
		kinds := groups * (1 + random.IntN(3))
		members := 1 + random.IntN(4)
		of := make([]int32, len(m.Ends))
		for k := range of {
			of[k] = random.Int32N(int32(members))
		}
		seed := random.Uint64()
		errs := make([]error, members)
		together(members, func(rank int, member team.Team) {
			defer team.Leave("test", &errs[rank])
			draws := newDraws(seed, uint64(rank))
			s := m.shareOf(of, member)
			l, c := newLocal(&s.Bursts), &executor{team.Panicking{Threads: s.Team}, 1 + rank, nil}
			l.order(c)
			l.codes = codes{kinds}
			kindOf := make([]int32, l.n)
			draw := func(i int) int32 { return l.Group[i] + int32(groups)*draws.Int32N(int32(kinds/groups)) }
			for i := range kindOf {
				if kindOf[i] = draw(i); draws.IntN(10) == 0 {
					kindOf[i] = None
				}
			}
			p := &placing{local: l, c: c, kindOf: kindOf, distinct: make(map[[2]int32]bool)}
			p.measure(kinds)
			p.noiseOfSingles()
			p.begin()
			for range 6 {
				var moves []change
				for i := range l.n {
					if draws.IntN(40) == 0 {
						if kind := draw(i); kind != kindOf[i] && len(p.of[l.Group[i]]) > 1 && slices.Contains(p.of[l.Group[i]], kind) {
							moves = append(moves, change{int32(i), kind})
						}
					}
				}
				p.apply(moves)
				got, sums := p.here.contents(), p.here.sums()
				p.begin()
				if want := p.here.contents(); !maps.Equal(got, want) || !maps.Equal(sums, p.here.sums()) {
					errs[rank] = errors.New("counts differ from those of a new count")
				}
			}
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("%d members: %v", members, err)
		}
	}
}

func TestSlots(t *testing.T) {
	random := drawn(t)
	a, b := newSlots(), newSlots()
	want := make(map[[2]uint64]int32)
	for range 20_000 {
		context, kind := uint64(random.IntN(300))+1, random.Int32N(1+random.Int32N(200))
		s := a
		if random.IntN(2) == 0 {
			s = b
		}
		s.add(context, kind, 1)
		want[[2]uint64{context, uint64(kind)}]++
	}
	a.merge(b)
	if !maps.Equal(a.contents(), want) {
		t.Error("merged counts differ from a map's")
	}
	for slot, context := range a.contexts.keys {
		if a.find(context) != int32(slot) {
			t.Fatalf("context %d is not in slot %d", context, slot)
		}
		best, most, sum := int32(0), int32(0), int32(0)
		for kind := range int32(200) {
			n := want[[2]uint64{context, uint64(kind)}]
			sum += n
			if n > most {
				best, most = kind, n
			}
			if got := a.count(int32(slot), kind); got != n {
				t.Fatalf("kind %d comes %d times, want %d", kind, got, n)
			}
		}
		if top := a.top(int32(slot)); top != (slotTop{best, most}) || a.at[slot].sum != sum {
			t.Fatalf("%d of %d bursts are of kind %d, want %d of %d of kind %d", top.n, a.at[slot].sum, top.kind, most, sum, best)
		}
	}
	if a.find(9999) != -1 {
		t.Error("a context that never came has a slot")
	}
}

// The candidates are what the definition says, with and without what is steady.
func TestCandidates(t *testing.T) {
	random := drawn(t)
	for range 40 {
		dims := 1 + random.IntN(2)
		groups, kinds := 1+random.IntN(3), 1+random.Int32N(9)
		b := Bursts{Dims: dims, Timed: dims == 1, Side: .005, Groups: groups}
		kindOf := []int32{}
		for range random.IntN(400) {
			g := random.Int32N(int32(groups))
			k := g + int32(groups)*random.Int32N(kinds)
			length := 2000 + 40*k + int32(20*random.NormFloat64())
			b.Group, b.Length = append(b.Group, g), append(b.Length, length)
			b.Cell = append(b.Cell, length)
			if dims == 2 {
				b.Cell = append(b.Cell, 1000+15*(k%4)+random.Int32N(10))
			}
			if random.IntN(5) == 0 {
				k = None
			}
			kindOf = append(kindOf, k)
		}
		if dims == 2 {
			b.Steady = []bool{false, true}
		}
		b.Ends = []int{len(b.Group)}
		l, c := newLocal(&b), alone(1+random.IntN(4))
		l.order(c)
		l.codes = codes{groups * int(kinds)}
		p := &placing{local: l, c: c, kindOf: kindOf, distinct: make(map[[2]int32]bool)}
		p.measure(groups * int(kinds))
		p.noiseOfSingles()
		var want []int32
		for i, k := range kindOf {
			list := p.of[b.Group[i]]
			if len(list) > 1 && slices.ContainsFunc(list, func(other int32) bool { return other != k && p.mayBe(i, other) }) {
				want = append(want, int32(i))
			}
		}
		if got := slices.Concat(p.candidates()...); !slices.Equal(got, want) {
			t.Fatalf("%d candidates, want %d", len(got), len(want))
		}
	}
}
