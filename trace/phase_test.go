package trace

import (
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// nested draws phases that nest, by begin.
func nested(t *rapid.T, phases *[]Phase, depth int32, from, to int64) {
	for from < to && rapid.IntRange(0, 3).Draw(t, "more") > 0 {
		p := Phase{Depth: depth, BeginNS: rapid.Int64Range(from, to).Draw(t, "begin")}
		p.EndNS = rapid.Int64Range(p.BeginNS, to).Draw(t, "end")
		*phases = append(*phases, p)
		if depth < 3 {
			nested(t, phases, depth+1, p.BeginNS, p.EndNS)
		}
		from = p.EndNS
	}
}

// The phase of each burst is the one that a count of all its nanoseconds gives.
func TestLocatePhases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var th Thread
		nested(t, &th.Phases, 0, 0, 60)
		for now := int64(0); now < 60; {
			start := now + rapid.Int64Range(0, 8).Draw(t, "call")
			d := rapid.Int64Range(0, 20).Draw(t, "burst")
			th.Bursts.StartNS, th.Bursts.DurationNS = append(th.Bursts.StartNS, start), append(th.Bursts.DurationNS, d)
			now = start + d
		}
		th.LocatePhases()
		if len(th.Phases) == 0 {
			if th.Bursts.Phase != nil {
				t.Fatal("phases where there are none")
			}
			return
		}
		for k, begin := range th.Bursts.StartNS {
			held := make(map[int32]int)
			for ns := begin; ns < begin+th.Bursts.DurationNS[k]; ns++ {
				held[innermostAt(th.Phases, ns)]++
			}
			most := 0
			for _, n := range held {
				most = max(most, n)
			}
			if got := th.Bursts.Phase[k]; held[got] != most {
				t.Fatalf("burst %d, %d to %d, is in phase %d; its nanoseconds: %v; phases %+v", k, begin, begin+th.Bursts.DurationNS[k], got, held, th.Phases)
			}
		}
	})
}

// Time goes on, what begins lies in as many others as it says, and what ends is the innermost.
func TestEachPhase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var th Thread
		nested(t, &th.Phases, 0, 0, 60)
		var open, begun []*Phase
		now := int64(0)
		moveTo := func(ns int64) {
			if ns < now {
				t.Fatalf("back from %d to %d", now, ns)
			}
			now = ns
		}
		th.EachPhase(func(p *Phase) {
			moveTo(p.BeginNS)
			if len(open) != int(p.Depth) {
				t.Fatalf("%+v begins in %d others", p, len(open))
			}
			open, begun = append(open, p), append(begun, p)
		}, func(p *Phase) {
			moveTo(p.EndNS)
			if n := len(open); n == 0 || open[n-1] != p {
				t.Fatalf("%+v ends, of %d", p, n)
			}
			open = open[:len(open)-1]
		})
		if len(open) > 0 || len(begun) != len(th.Phases) {
			t.Fatalf("%d of %d phases begin, %d do not end", len(begun), len(th.Phases), len(open))
		}
		for i, p := range begun {
			if p != &th.Phases[i] {
				t.Fatalf("%+v begins as number %d", p, i)
			}
		}
	})
}

func TestInnermostPhase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var th Thread
		nested(t, &th.Phases, 0, 0, 60)
		at := th.InnermostPhase()
		for ns := int64(0); ns < 60; ns += rapid.Int64Range(0, 9).Draw(t, "later") {
			if got, want := at(ns), innermostAt(th.Phases, ns); got != want {
				t.Fatalf("at %d: phase %d, want %d of %+v", ns, got, want, th.Phases)
			}
			if ns == 59 {
				break
			}
		}
	})
}

// innermostAt is the phase that holds a nanosecond and lies deepest.
func innermostAt(phases []Phase, ns int64) int32 {
	innermost := int32(-1)
	for i, p := range phases {
		if p.BeginNS <= ns && ns < p.EndNS {
			innermost = int32(i)
		}
	}
	return innermost
}

func TestLocatePhasesAtEdges(t *testing.T) {
	th := Thread{
		Phases: []Phase{{BeginNS: 10, EndNS: 50}, {Depth: 1, BeginNS: 10, EndNS: 20}, {Depth: 1, BeginNS: 20, EndNS: 20}, {Depth: 1, BeginNS: 20, EndNS: 40}},
		Bursts: Bursts{StartNS: []int64{0, 10, 20, 20, 38, 45, 50}, DurationNS: []int64{10, 10, 0, 18, 5, 10, 3}},
	}
	th.LocatePhases()
	// 38 to 43: two in the inner one, three in the outer one; 45 to 55: as much inside as outside, the earlier counts.
	if want := []int32{-1, 1, 3, 3, 0, 0, -1}; !slices.Equal(th.Bursts.Phase, want) {
		t.Errorf("phases %v, want %v", th.Bursts.Phase, want)
	}
}

// The names of a path, and the paths that end with them, are those that it was made of. The paths are parts of its
// text.
func TestPhasesOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[ab/\\ö]{0,4}`), 1, 9).Draw(t, "names")
		path := PhasePath(names...)
		n := 0
		for name, to := range PhasesOf(path) {
			if name != names[n] || to != PhasePath(names[:n+1]...) || unsafe.StringData(to) != unsafe.StringData(path) && to != "" {
				t.Fatalf("%q: name %d is %q, of %q", path, n, name, to)
			}
			if n++; n == 5 {
				break
			}
		}
		if n != min(len(names), 5) || !slices.Equal(PhaseNames(path), names) {
			t.Fatalf("%q: %d names, %q", path, n, PhaseNames(path))
		}
	})
}
