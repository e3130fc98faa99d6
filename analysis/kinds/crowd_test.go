package kinds

import (
	"slices"
	"testing"
)

// judgedIn is judged for a machine of which it is known whether ranks share its cores.
func (m *made) judgedIn(crowded bool, threads, bursts, leaves int, p planting) *Verdict {
	leafOf := m.planted(threads, bursts, p)
	l, c := newLocal(&m.Bursts), alone(2)
	l.order(c)
	l.codes = codes{leaves}
	list := make([]Leaf, leaves)
	for _, leaf := range leafOf {
		list[leaf].Bursts++
	}
	v, _ := (&Proposal{local: l, exec: c, strata: 1, o: Options{Crowded: crowded}}).evaluate(list, leafOf)
	return v
}

// Slices of time make a beat: work that takes 9.6 ms takes 13.7 ms every other time, on all threads at once, but not
// always. On a crowded machine that is one kind. A program's order holds each time.
func TestSlicesAreNoKind(t *testing.T) {
	random := drawn(t)
	slow := make([]bool, 1600)
	for i := range slow {
		slow[i] = i > 0 && !slow[i-1]
		if random.IntN(5) == 0 {
			slow[i] = !slow[i]
		}
	}
	beat := func(_, i int) (int32, float64) {
		if slow[i] != (random.IntN(16) == 0) {
			return 1, 9.53
		}
		return 0, 9.17
	}
	program := func(_, i int) (int32, float64) { return int32(i % 2), 9.17 + .36*float64(i%2) }
	phases := func(_, i int) (int32, float64) { return int32(i / 100 % 2), 9.17 + .36*float64(i/100%2) }
	seldom := func(_, i int) (int32, float64) {
		if i%10 == 9 {
			return 1, 9.53
		}
		return 0, 9.17
	}
	for _, c := range []struct {
		name    string
		crowded bool
		p       planting
		kinds   []int32
	}{
		{"a beat", false, beat, []int32{0, 1}},
		{"a beat, cores shared", true, beat, []int32{0, 0}},
		{"a program", false, program, []int32{0, 1}},
		{"a program, cores shared", true, program, []int32{0, 1}},
		{"phases, cores shared", true, phases, []int32{0, 1}},
		{"every tenth time, cores shared", true, seldom, []int32{0, 1}},
	} {
		v := newMade(random, 1).judgedIn(c.crowded, 2, len(slow), 2, c.p)
		of := v.Of
		if of[0] == of[1] {
			of = []int32{0, 0} // whichever is larger
		}
		if !slices.Equal(of, c.kinds) {
			t.Errorf("%s: kinds %v, want %v: %+v", c.name, v.Of, c.kinds, v.Why)
		}
		for _, why := range v.Why {
			if everywhere := c.crowded && c.kinds[1] == 0; why.By == ByChance && why.Everywhere != everywhere {
				t.Errorf("%s: %+v", c.name, why)
			}
		}
	}
}

// Where hardly a burst keeps its core, the slow ones of all kinds lie in one leaf, and order distinguishes it poorly
// from each. What is disturbed alone, the fourth kind here, still has places where the others never come.
func TestDisturbedKindHasPlacesOfItsOwn(t *testing.T) {
	random := drawn(t)
	disturbed := []float64{.1, .2, .55, 1}
	p := func(_, i int) (int32, float64) {
		if kind := i % 4; random.Float64() < disturbed[kind] {
			return 3, 12 + .6*random.Float64()
		}
		return int32(i % 4), 10 + .4*float64(i%4)
	}
	v := newMade(random, 1).judgedIn(true, 8, 240, 4, p)
	if !slices.Equal(v.Of, []int32{0, 1, 2, 3}) || slices.Contains(v.Pool, true) {
		t.Errorf("kinds %v, pools %v: %+v", v.Of, v.Pool, v.Why)
	}
}

func TestWithout(t *testing.T) {
	const a, b = 1, 2
	for _, c := range []struct {
		name     string
		contexts [][2]int64 // bursts of a and of b
		a, b     float64
	}{
		{"none", nil, 0, 0},
		{"a alone", [][2]int64{{20, 0}}, 0, 0},
		{"in turn", [][2]int64{{20, 0}, {0, 20}}, 1, 1},
		{"as elsewhere", [][2]int64{{20, 20}, {10, 10}}, 0, 0},
		{"a place of b's", [][2]int64{{20, 20}, {0, 20}}, 0, .5},
		{"too few to say", [][2]int64{{20, 20}, {0, 9}}, 0, 0},
		{"hardly", [][2]int64{{100, 50}, {1, 50}}, 0, .5},
		{"not hardly", [][2]int64{{100, 50}, {6, 50}}, 0, 0},
	} {
		k := newCounter(1)
		for context, n := range c.contexts {
			for x, leaf := range []int64{a, b} {
				if n[x] > 0 {
					k.add(n[x], leaf<<contextBits|int64(context+1))
				}
			}
		}
		table := k.table()
		if x, y := table.without(a, b), table.without(b, a); x != c.a || y != c.b {
			t.Errorf("%s: %v of a, %v of b without the other, want %v and %v", c.name, x, y, c.a, c.b)
		}
	}
}

// A kind of which most bursts lost their core has a median that says nothing of how long it takes: the few that nothing
// disturbed are quicker, and of it all the same.
func TestFewUndisturbed(t *testing.T) {
	random := drawn(t)
	m := newMade(random, 1)
	quick := make(map[int]bool)
	n := 0
	d, _ := m.decided(t, 2, 4, 400, 4, func(_, i int) (int32, float64) {
		n++
		switch kind := i % 4; {
		case kind < 3:
			return int32(kind), 10 + .4*float64(kind)
		case random.IntN(6) == 0:
			quick[n-1] = true
			return None, 11.2
		}
		return 3, 12 + .5*random.Float64() + .5*random.Float64()
	})
	missed := 0
	for i := range quick {
		if d.Kind[i] != 3 {
			missed++
		}
	}
	if 10*missed > len(quick) {
		t.Errorf("%d of %d undisturbed bursts of the fourth kind are not of it", missed, len(quick))
	}
}
