package grouping_test

import (
	"slices"
	"strings"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds/plant"
	"moriens/analysis/space"
	"moriens/internal/testenv"
)

// counted are how many bursts have each kind.
func counted(kinds []int32) map[int32]int {
	n := make(map[int32]int)
	for _, k := range kinds {
		n[k]++
	}
	return n
}

// What there is little of, or what is all alike, has kinds all the same, or is one.
func TestLittleToGoBy(t *testing.T) {
	seed := testenv.Seed(t)
	alone := plant.FourKinds(seed, 100, plant.Load4)
	alone.Ranks, alone.Slow = 1, nil
	lossy := plant.FourKinds(seed, 100, plant.Load4)
	lossy.Lost = 6
	for _, c := range []struct {
		name   string
		p      plant.Params
		purity float64 // where there are several
		kinds  int
		noise  int // bursts at most
	}{
		{"one rank", alone, .95, 4, 4},
		{"ranks that lost records", lossy, .95, 4, 20},
		{"fewer than 30 bursts", plant.One(seed, 2, 12, plant.LogNormal(.03)), 1, 1, 4},
		{"fewer than 30 of one rank", plant.One(seed, 1, 24, plant.LogNormal(.03)), 1, 1, 4},
		{"one burst of a pair", plant.One(seed, 2, 1, plant.LogNormal(.03)), 1, 1, 0},
		{"all equal", plant.One(seed, 4, 100, nil), 1, 1, 0},
		{"all equal on one rank", plant.One(seed, 1, 100, nil), 1, 1, 0},
	} {
		r := c.p.Run()
		result := compute(t, r.Bursts(), plantOptions(r, grouping.ByCalls))
		requireKinds(t, result)
		n := counted(result.Kinds)
		noise := n[grouping.LabelNoise]
		delete(n, grouping.LabelNoise)
		if a := plant.Compare(r.Truth, result.Kinds, nil); len(n) != c.kinds || noise > c.noise || c.kinds > 1 && a.Purity < c.purity {
			t.Errorf("%s: kinds of %v bursts, %d of none, purity %.3f", c.name, n, noise, a.Purity)
		}
		if warned := strings.Contains(strings.Join(result.Warnings, "\n"), "separates no bursts"); warned != strings.Contains(c.name, "equal") {
			t.Errorf("%s: warnings %q", c.name, result.Warnings)
		}
	}
}

// Bursts whose counters say nothing are of no kind; those of the other ranks have theirs.
func TestCountersThatSayNothing(t *testing.T) {
	r := plant.ByCounters(testenv.Seed(t), 60, plant.Quiet).Run()
	b := r.Bursts()
	for name, value := range map[string]int64{"0": 0, "missing": space.NotRead} {
		for ranks := range 3 { // that have none
			without := 0
			if ranks == 2 {
				ranks = len(b.ThreadEnds)
			}
			if ranks > 0 {
				without = b.ThreadEnds[ranks-1]
			}
			b.Counters = nil
			for _, column := range r.Counters {
				b.Counters = append(b.Counters, append(slices.Repeat([]int64{value}, without), column[without:]...))
			}
			result := compute(t, b, plantOptions(r, grouping.ByNone))
			requireKinds(t, result)
			if of := counted(result.Kinds[:without]); without > 0 && (len(of) != 1 || of[grouping.LabelMissing]+of[grouping.LabelFiltered] != without) {
				t.Errorf("%s on %d ranks: kinds of %v bursts that have no value", name, ranks, of)
			}
			if a := plant.Compare(r.Truth[without:], result.Kinds[without:], nil); without < len(r.Truth) && a.Purity < .98 {
				t.Errorf("%s on %d ranks: purity %.3f of the others", name, ranks, a.Purity)
			}
		}
	}
}
