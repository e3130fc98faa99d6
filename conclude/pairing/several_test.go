package pairing

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"moriens/conclude/blame"
	"moriens/trace/rundir"
)

// A slowLink is a pair whose transfers take so many times what those of others take.
type slowLink struct {
	a, b   int
	factor int64
}

// wideHalo exchanges halos of several sizes on a torus of 6 × 6 ranks, six on a node, with slow links: each call
// completes eight messages.
func wideHalo(t *testing.T, r *rand.Rand, links ...slowLink) *Pairing {
	t.Helper()
	m := newMachine(36, 6)
	m.eager = 2 << 20
	m.slowed(links)
	for i := range 120 {
		for rank := range 36 {
			m.do(rank, compute(500_000+r.Int64N(5000)))
			m.do(rank, exchange(haloSizes[i%len(haloSizes)], around(rank, 6, 6)...)...)
		}
	}
	return measured(t, m.run(t), blame.Options{})
}

func (m *machine) slowed(links []slowLink) {
	for _, l := range links {
		m.apart(l.factor, func(a, b int) bool { return min(a, b) == l.a && max(a, b) == l.b })
	}
}

const someSlow, maybeSlow = "some of the links ", "; whether "

// slowPairs are the pairs of findings about slow links: those that are said to be slow, each list of which some are,
// and each list of which some are and others may be.
func slowPairs(p *Pairing) (slow [][2]int, some, maybe [][][2]int) {
	for _, f := range p.File.Findings {
		switch {
		case f.Kind != rundir.PairsSlowLink:
		case strings.HasPrefix(f.Text, someSlow):
			some = append(some, f.Pairs)
		case strings.Contains(f.Text, maybeSlow):
			maybe = append(maybe, f.Pairs)
		default:
			slow = append(slow, f.Pairs...)
		}
	}
	return slow, some, maybe
}

// sound tests that no pair is said to be slow that is not, and that of pairs of which some are said to be slow some
// are. It gives all pairs of findings about slow links.
func sound(t *testing.T, p *Pairing, links []slowLink) (listed [][2]int) {
	t.Helper()
	is := func(x [2]int) bool {
		return slices.ContainsFunc(links, func(l slowLink) bool { return x == [2]int{l.a, l.b} })
	}
	slow, some, maybe := slowPairs(p)
	for _, x := range slow {
		if !is(x) {
			t.Errorf("%v is said to be slow, of %v", x, links)
		}
	}
	for _, list := range slices.Concat(some, maybe) {
		if !slices.ContainsFunc(list, is) {
			t.Errorf("some of %v are said to be slow, of %v", list, links)
		}
		listed = append(listed, list...)
	}
	return append(listed, slow...)
}

// Slow links at the same ranks do not hide each other. Where calls of both ranks of a pair wait for slow links, it is
// not known whether the pair is slow too: the text says so.
func TestSeveralSlowPairs(t *testing.T) {
	r := random(t)
	for _, c := range []struct {
		what  string
		word  string // of one of the texts
		links []slowLink
	}{
		{"two of a rank, within a node and between nodes", "", []slowLink{{7, 8, 60}, {8, 14, 30}}},
		{"two of a rank between nodes", "7–13 takes ", []slowLink{{7, 13, 30}, {13, 19, 30}}},
		{"all of a rank", "", []slowLink{{13, 14, 30}, {14, 15, 30}, {8, 14, 30}, {14, 20, 30}}},
		{"between ranks with slow links each", "; whether 13–19 is slow too is not known", []slowLink{{7, 13, 30}, {13, 19, 30}, {19, 25, 30}}},
		{"between ranks with less slow links each", "13–19 takes ", []slowLink{{7, 13, 10}, {13, 19, 30}, {19, 25, 10}}},
		{"none between ranks with slow links each", "; whether 13–19 is slow too is not known", []slowLink{{7, 13, 30}, {19, 25, 30}}},
		{"opposite sides of a square", "some of the links 14–15, 14–20, 15–21 and 20–21 are slow", []slowLink{{14, 20, 30}, {15, 21, 30}}},
		{"three sides of a square", "some of the links 14–15, 14–20, 15–21 and 20–21 are slow", []slowLink{{14, 20, 30}, {15, 21, 30}, {14, 15, 60}}},
	} {
		p := wideHalo(t, r, c.links...)
		listed := sound(t, p, c.links)
		for _, l := range c.links {
			if !slices.Contains(listed, [2]int{l.a, l.b}) {
				t.Errorf("%s: %d–%d is in no finding", c.what, l.a, l.b)
			}
		}
		said := false
		for _, f := range p.File.Findings {
			said = said || strings.Contains(f.Text, c.word)
			if f.Kind != rundir.PairsSlowLink && f.Kind != rundir.PairsPlacing {
				t.Errorf("%s: %+v", c.what, f)
			}
		}
		if !said {
			t.Errorf("%s: no finding says %q", c.what, c.word)
		}
	}
	// Nor do they if messages are alone in their calls.
	m, links := newMachine(12, 3), []slowLink{{1, 4, 30}, {4, 5, 60}}
	m.slowed(links)
	talk(m, r, 100, 1, 3)
	if listed := sound(t, measured(t, m.run(t), blame.Options{}), links); len(listed) != 2 {
		t.Errorf("%v", listed)
	}
}

// Whichever links are slow, none is said to be that is not; and of those of which some are, some are.
func TestSlowPairsAtRandom(t *testing.T) {
	r := random(t)
	for range 8 {
		var links []slowLink
		var planted [][2]int
		for range 2 + r.IntN(3) {
			a := r.IntN(36)
			b := around(a, 6, 6)[r.IntN(4)]
			if x := [2]int{min(a, b), max(a, b)}; !slices.Contains(planted, x) {
				links, planted = append(links, slowLink{x[0], x[1], 8 + r.Int64N(30)}), append(planted, x)
			}
		}
		if listed := sound(t, wideHalo(t, r, links...), links); len(listed) == 0 {
			t.Errorf("none of %v is found", links)
		}
	}
}
