package dbscan

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// A limit cuts a part of space in two: below is who has what is below at along the axis, above who has the rest, each a
// member, or the complement of another limit.
type limit struct {
	below, above int
	axis         int
	at           float64
}

// regionSamples is how many places a member shows for the regions to be chosen by.
const regionSamples = 1024

// cutSpace cuts space, halving the longest side of what some members shall own, so that each gets about as many places.
// All members cut it alike.
func (s *sharedTree) cutSpace() error {
	n, d := s.places.Len(), s.places.Dims
	var mine []float64
	for i := range min(n, regionSamples) {
		at, _ := workers.Chunk(n, min(n, regionSamples), i)
		mine = append(mine, s.places.Coords[at*d:(at+1)*d]...)
	}
	samples, err := team.Gather(s, mine)
	if err != nil {
		return err
	}
	counts, err := team.Gather(s, []int64{int64(n)})
	if err != nil {
		return err
	}
	var all []shownPlace
	for m, list := range samples {
		shown := int64(len(list) / d)
		for ; len(list) > 0; list = list[d:] {
			all = append(all, shownPlace{list[:d], float64(counts[m][0]) / float64(shown)})
		}
	}
	s.root = s.cut(all, 0, s.Size())
	return nil
}

// A shownPlace stands for some number of places.
type shownPlace struct {
	at     []float64
	places float64
}

// cut cuts a part of space for the members from … to-1, and returns who has it.
func (s *sharedTree) cut(shown []shownPlace, from, to int) int {
	if to-from == 1 {
		return from
	}
	l := limit{at: math.Inf(1)}
	var longest, sum float64
	for j := range s.places.Dims {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, p := range shown {
			lo, hi = min(lo, p.at[j]), max(hi, p.at[j])
		}
		if side := hi/2 - lo/2; side > longest {
			l.axis, longest = j, side
		}
	}
	slices.SortFunc(shown, func(a, b shownPlace) int { return cmp.Compare(a.at[l.axis], b.at[l.axis]) })
	for _, p := range shown {
		sum += p.places
	}
	middle := (from + to) / 2
	part := sum * float64(middle-from) / float64(to-from)
	split := 0
	for passed := 0.; split < len(shown) && passed < part; split++ {
		passed += shown[split].places
	}
	if split < len(shown) {
		l.at = shown[split].at[l.axis]
	}
	for split > 0 && shown[split-1].at[l.axis] == l.at {
		split--
	}
	l.below, l.above = s.cut(shown[:split], from, middle), s.cut(shown[split:], middle, to)
	s.limits = append(s.limits, l)
	return ^(len(s.limits) - 1)
}

// near appends the members in whose regions some place within eps of a point may lie; with eps below 0 only the one in
// whose the point does. part is who has the part of space that is looked through.
func (s *sharedTree) near(dst []int, part int, at []float64, eps float64) []int {
	if part >= 0 {
		return append(dst, part)
	}
	l := &s.limits[^part]
	// Rounded differences are in the order of the exact ones, and no distance is below the difference along one axis.
	v := at[l.axis]
	if v < l.at || v-l.at <= eps {
		dst = s.near(dst, l.below, at, eps)
	}
	if v >= l.at || l.at-v <= eps {
		dst = s.near(dst, l.above, at, eps)
	}
	return dst
}
