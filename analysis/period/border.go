package period

import "slices"

// shareBorder settles where one section ends and the next begins when they touch. Each run reaches as far as it goes,
// so that the first may have taken what is as well the begin of the other. The border is where both together have most
// whole iterations, then at an anchor, then as early as can be.
func (f *folder) shareBorder(first, second *section, t *Thread) {
	a, b := &f.runs[first.runs[len(first.runs)-1]], &f.runs[second.runs[0]]
	if a.to != b.from || a.level != b.level {
		return
	}
	level := f.levels[a.level]
	bodyA, bodyB := f.loop(a.kind).body, f.loop(b.kind).body
	lagA, lagB := int32(len(bodyA)), int32(len(bodyB))
	low, high := a.end, b.begin
	for low-a.begin > 3*lagA && level.kind[low-1] == bodyB[modulo(b.turn-(b.begin-low)-1, lagB)] {
		low--
	}
	for b.end-high > 3*lagB && level.kind[high] == bodyA[modulo(a.turn+high-a.begin, lagA)] {
		high++
	}
	best, bestWhole, bestAnchor := a.end, int32(-1), false
	for cut := low; cut <= high; cut++ {
		whole := (cut-a.begin)/lagA + (b.end-cut)/lagB
		_, anchor := slices.BinarySearch(t.Anchors, level.at[cut])
		if whole > bestWhole || whole == bestWhole && anchor && !bestAnchor {
			best, bestWhole, bestAnchor = cut, whole, anchor
		}
	}
	b.turn = modulo(b.turn+best-b.begin, lagB)
	a.end, b.begin = best, best
	a.to, b.from = level.at[best], level.at[best]
	a.trips, b.trips = (a.end-a.begin)/lagA, (b.end-b.begin)/lagB
	first.to, second.from = a.to, b.from
}

func modulo(a, n int32) int32 { return ((a % n) + n) % n }
