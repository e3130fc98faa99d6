package kinds

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"moriens/internal/team"
)

// decided has planted leaves of one group decided.
func (m *made) decided(t *testing.T, workers, threads, bursts, leaves int, p planting) (*Decision, []int32) {
	t.Helper()
	leafOf := m.planted(threads, bursts, p)
	return m.decide(t, workers, leaves, leafOf), leafOf
}

func (m *made) decide(t *testing.T, workers, leaves int, leafOf []int32) *Decision {
	t.Helper()
	l, c := newLocal(&m.Bursts), alone(workers)
	l.order(c)
	list := make([]Leaf, leaves)
	for _, leaf := range leafOf {
		if leaf != None {
			list[leaf].Bursts++
		}
	}
	d, err := (&Proposal{local: l, exec: c, strata: 1}).Decide(list, slices.Clone(leafOf))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Disturbed bursts get the kind of their place, whichever leaf density gave them, or none.
func TestDisturbedGetTheKindOfTheirPlace(t *testing.T) {
	m := newMade(drawn(t), 1)
	disturbed := make(map[int]bool)
	n := 0
	p := func(_, i int) (int32, float64) {
		n++
		leaf := int32(i % 2)
		if m.random.IntN(12) > 0 {
			return leaf, 10 + .3*float64(leaf)
		}
		disturbed[n-1] = true
		switch m.random.IntN(3) {
		case 0:
			return None, 10.9 + 2*m.random.Float64()
		case 1:
			return 2, 11.2
		}
		return leaf, 10 + .3*float64(leaf)
	}
	d, _ := m.decided(t, 2, 4, 500, 3, p)
	wrong := 0
	for i, k := range d.Kind {
		if want := int32(i % 2); k != want {
			wrong++
			if !disturbed[i] {
				t.Errorf("burst %d is of kind %d, want %d", i, k, want)
			}
		}
	}
	if wrong*20 > len(disturbed) {
		t.Errorf("%d of %d disturbed bursts have another kind than their place", wrong, len(disturbed))
	}
	for workers := 1; workers <= 8; workers++ {
		leafOf := slices.Clone(d.Cluster)
		a, b := m.decide(t, 1, 3, leafOf), m.decide(t, workers, 3, leafOf)
		if !slices.Equal(a.Kind, b.Kind) || !slices.Equal(a.Cluster, b.Cluster) {
			t.Errorf("%d workers decide otherwise", workers)
		}
	}
}

// Nothing makes a burst quicker: one that is shorter than the kind of its place keeps its kind.
func TestShorterOnesStay(t *testing.T) {
	m := newMade(drawn(t), 1)
	odd := make(map[int]bool)
	n := 0
	d, leafOf := m.decided(t, 2, 4, 500, 2, func(_, i int) (int32, float64) {
		n++
		if leaf := int32(i % 2); leaf == 0 || m.random.IntN(15) > 0 {
			return leaf, 10 + .4*float64(leaf)
		}
		odd[n-1] = true // quick in the place of the slow one
		return 0, 10
	})
	moved := 0
	for i, k := range d.Kind {
		switch {
		case k > leafOf[i]:
			t.Errorf("burst %d, in the place of another: %v, is of the slower kind", i, odd[i])
		case k < leafOf[i]: // a quick one before it makes its place that of quick ones
			moved++
		}
	}
	if moved > 4 {
		t.Errorf("%d slow bursts are of the quick kind", moved)
	}
}

// A kind that only other ranks predict, once in 20 times, is kept, except a few bursts next to noise.
func TestRareKindsStay(t *testing.T) {
	m := newMade(drawn(t), 1)
	at := make([]bool, 500)
	for i := range at {
		at[i] = m.random.IntN(20) == 0
	}
	d, leafOf := m.decided(t, 2, 4, 500, 2, func(_, i int) (int32, float64) {
		if at[i] {
			return 1, 10.5
		}
		return 0, 10
	})
	if !slices.Equal(d.Kind, leafOf) {
		moved := 0
		for i, k := range d.Kind {
			if k != leafOf[i] {
				moved++
			}
		}
		if moved > 4 { // those beside a burst that is noise, as tails are
			t.Errorf("%d bursts moved", moved)
		}
	}
}

// Where the order is chance, no burst moves.
func TestChanceMovesNothing(t *testing.T) {
	m := newMade(drawn(t), 1)
	d, leafOf := m.decided(t, 2, 4, 500, 2, func(int, int) (int32, float64) {
		leaf := m.random.Int32N(2)
		return leaf, 10 + .5*float64(leaf)
	})
	if !slices.Equal(d.Kind, leafOf) || !(d.Predicted[0] <= .02) {
		t.Errorf("bursts move though their places tell %v", d.Predicted)
	}
}

// Bursts are decided on without order, without bursts, and of one.
func TestDecisionsOfLittle(t *testing.T) {
	for _, c := range []struct {
		name   string
		group  []int32
		ends   []int
		leaves int
		leafOf []int32
	}{
		{"nothing", nil, []int{}, 0, nil},
		{"empty threads", nil, []int{0, 0, 0}, 0, nil},
		{"one burst", []int32{0}, []int{1}, 1, []int32{0}},
		{"one burst of noise", []int32{0}, []int{0, 1}, 0, []int32{None}},
		{"two groups", []int32{0, 1}, []int{1, 2}, 2, []int32{0, 1}},
		{"no threads known", []int32{0, 1, 1}, nil, 2, []int32{0, 1, 1}},
	} {
		b := Bursts{Dims: 1, Timed: true, Side: .005, Group: c.group, Groups: 2, Cell: make([]int32, len(c.group)), Length: make([]int32, len(c.group)), Ends: c.ends}
		p, err := Propose(b, Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		leaves := make([]Leaf, c.leaves)
		for k := range leaves {
			leaves[k] = Leaf{Stratum: int32(k), Bursts: 1}
		}
		d, err := p.Decide(leaves, c.leafOf)
		if err != nil || !slices.Equal(d.Kind, c.leafOf) || len(d.KindOf) != c.leaves {
			t.Errorf("%s: %+v, %v", c.name, d, err)
		}
	}
}

func TestBadBursts(t *testing.T) {
	good := func() Bursts {
		return Bursts{Dims: 1, Timed: true, Side: .005, Group: []int32{0, 0}, Groups: 1, Cell: []int32{1, 2}, Length: []int32{1, 2}, Ends: []int{1, 2}}
	}
	for name, spoil := range map[string]func(*Bursts){
		"a cell too few":           func(b *Bursts) { b.Cell = b.Cell[:1] },
		"no side":                  func(b *Bursts) { b.Side = 0 },
		"a side that is no number": func(b *Bursts) { b.Side = math.NaN() },
		"a side over a speed's":    func(b *Bursts) { b.Side = .03 },
		"too many dimensions":      func(b *Bursts) { b.Dims, b.Timed, b.Cell = 16, false, make([]int32, 32) },
		"a group too many":         func(b *Bursts) { b.Group[1] = 1 },
		"a thread too long":        func(b *Bursts) { b.Ends[1] = 3 },
		"a thread too short":       func(b *Bursts) { b.Ends[1] = 1 },
		"threads backwards":        func(b *Bursts) { b.Ends = []int{2, 1, 2} },
		"gaps of others":           func(b *Bursts) { b.Gaps = make([][]int32, 3) },
	} {
		b := good()
		spoil(&b)
		if _, err := Propose(b, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Propose(good(), Options{}); err != nil {
		t.Error(err)
	}
}

// One member without time ends the work of all, whenever that is, and nothing else happens.
func TestHaltedAtAnyMoment(t *testing.T) {
	m := newMade(drawn(t), 1)
	const threads, bursts = 6, 200
	of := []int32{0, 2, 1, 1, 0, 2}
	leafOf := m.planted(threads, bursts, func(_, i int) (int32, float64) { return int32(i % 3), 10 + .2*float64(i%3) })
	for after := int64(0); ; after++ {
		errs := make([]error, 3)
		var asked atomic.Int64
		together(3, func(rank int, member team.Team) {
			s := m.shareOf(of, member)
			halt := func() bool { return rank == 1 && asked.Add(1) > after }
			p, err := Propose(s.Bursts, Options{Halt: halt, Workers: 2})
			if errs[rank] = err; err != nil {
				return
			}
			mine, begin := []int32{}, 0
			for thread, end := range m.Ends {
				if int(of[thread]) == rank {
					mine = append(mine, leafOf[begin:end]...)
				}
				begin = end
			}
			_, errs[rank] = p.Decide([]Leaf{{0, 400}, {0, 400}, {0, 400}}, mine)
		})
		if errs[0] == nil && errs[1] == nil && errs[2] == nil {
			if after < 5 {
				t.Errorf("asked %d times only", after)
			}
			return
		}
		for rank, err := range errs {
			if !errors.Is(err, ErrHalted) {
				t.Fatalf("halted when asked %d times: member %d has %v", after, rank, err)
			}
		}
	}
}
