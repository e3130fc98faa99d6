package kinds

import (
	"slices"
	"testing"
)

func (m *made) strata(t *testing.T, workers int) ([]int32, int) {
	t.Helper()
	l, c := newLocal(&m.Bursts), alone(workers)
	l.order(c)
	n := l.stratify(c, true)
	for i, s := range l.stratum {
		if s < 0 || int(s) >= n {
			t.Fatalf("burst %d is in stratum %d of %d", i, s, n)
		}
	}
	return l.stratum, n
}

// One pair of calls, another kind on each half of the ranks, and durations that overlap.
func TestStrataByThread(t *testing.T) {
	m := newMade(drawn(t), 1)
	for thread := range 8 {
		for range 200 {
			m.add(0, 10+.2*float64(thread/4), .07)
		}
		m.end()
	}
	of, n := m.strata(t, 2)
	if n != 2 {
		t.Fatalf("%d strata", n)
	}
	for i, s := range of {
		if (s == of[0]) != (i < 800) {
			t.Fatalf("burst %d is in stratum %d", i, s)
		}
	}
	for workers := 1; workers < 6; workers++ {
		if again, _ := m.strata(t, workers); !slices.Equal(again, of) {
			t.Errorf("other strata with %d workers", workers)
		}
	}
}

// What comes between two groups, and what between others, are two kinds of one group.
func TestStrataByWhatIsAround(t *testing.T) {
	m := newMade(drawn(t), 3)
	for range 4 {
		for range 150 {
			m.add(1, 14, .01)
			m.add(0, 10, .07)
			m.add(2, 15, .01)
			m.add(0, 10.2, .07)
		}
		m.end()
	}
	of, n := m.strata(t, 3)
	if n != 4 || of[1] == of[3] {
		t.Fatalf("%d strata, of the first bursts %v", n, of[:4])
	}
	for i, s := range of {
		if i%600 < 599 && s != of[i%4] { // the last of a thread has no context
			t.Fatalf("burst %d is in stratum %d, others of its place in %d", i, s, of[i%4])
		}
	}
}

func TestNoStrata(t *testing.T) {
	random := drawn(t)
	for _, c := range []struct {
		name            string
		threads, bursts int
		apart, scatter  float64
	}{
		{"alike", 8, 300, 0, .02}, {"too few in each context", 8, 20, 1, .02}, {"one thread", 1, 1000, 1, .02}, {"one burst a thread", 1000, 1, 1, .02},
		{"none", 0, 0, 0, .02}, {"empty threads", 5, 0, 0, .02},
		{"two threads, hardly any spread", 2, 900, .01, .0005}, {"eight of these", 8, 300, .03, .001},
		{"unevenly spread work", 8, 300, .13, .01},
	} {
		m := newMade(random, 1)
		for thread := range c.threads {
			for range c.bursts {
				m.add(0, 10+c.apart*float64(thread%2), c.scatter)
			}
			m.end()
		}
		if _, n := m.strata(t, 2); n != 1 {
			t.Errorf("%s: %d strata", c.name, n)
		}
	}
	m := newMade(random, 1)
	for range 1000 {
		m.add(0, 10, 0)
	}
	m.Ends = []int{500, 1000}
	if _, n := m.strata(t, 2); n != 1 {
		t.Errorf("all the same: %d strata", n)
	}
}

// The first and the last burst of a thread, and those beside a gap, are next to no context.
func TestEndsAreNoContext(t *testing.T) {
	m := newMade(drawn(t), 2)
	for range 600 { // each first burst is of another kind: as a context that would be a stratum
		m.add(0, 12, .01)
		for range 3 {
			m.add(1, 15, .01)
			m.add(0, 10, .01)
		}
		m.add(1, 15, .01)
		m.end()
	}
	if _, n := m.strata(t, 2); n != 2 {
		t.Errorf("%d strata", n)
	}
}

// More groups than a key has room for are left whole.
func TestMoreGroupsThanCodes(t *testing.T) {
	m := newMade(drawn(t), 3*codeMost)
	for range 300 {
		for g := range 3 {
			m.add(g*codeMost+codeMost/2, 10, .1)
		}
	}
	m.end()
	if _, n := m.strata(t, 2); n != m.Groups {
		t.Errorf("%d strata of %d groups", n, m.Groups)
	}
}
