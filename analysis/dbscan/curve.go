package dbscan

import (
	"math"
	"slices"

	"moriens/internal/team"
)

// A Curve is a k-distance curve, distances in descending order, of a Shared. Where it is of all points of several
// members, each has a part of it. Its methods, but Len, are collective.
type Curve struct {
	team  *meter
	whole []float64 // if all members have all of it
	part  []float64 // else this member's, ascending
	first int64     // how many are smaller than these, or other members' equal ones
	n     int64
}

// WholeCurve is a curve of distances in descending order, all of which are here.
func WholeCurve(distances []float64) *Curve {
	return &Curve{whole: distances, n: int64(len(distances))}
}

// Len returns the number of distances.
func (c *Curve) Len() int { return int(c.n) }

// At returns some of the distances, by their places.
func (c *Curve) At(places ...int) ([]float64, error) {
	values := make([]float64, len(places))
	if c.part == nil {
		for i, at := range places {
			values[i] = c.whole[at]
		}
		return values, nil
	}
	found := make([]int64, len(places)) // bits, which from 0 on are in the order of the numbers
	for i, at := range places {
		found[i] = -1
		if own := c.n - 1 - int64(at) - c.first; own >= 0 && own < int64(len(c.part)) {
			found[i] = int64(math.Float64bits(math.Abs(c.part[own]))) // no negative zero
		}
	}
	if err := c.team.AllReduce(found, team.Max); err != nil {
		return nil, err
	}
	for i, bits := range found {
		values[i] = math.Float64frombits(uint64(bits))
	}
	return values, nil
}

// Knee is FindKnee of the curve.
func (c *Curve) Knee() (knee Knee, ok bool, err error) {
	if c.part == nil {
		knee, ok = FindKnee(c.whole)
		return knee, ok, nil
	}
	line, ok := newDescent(c.Len())
	if !ok {
		return Knee{}, false, nil
	}
	top, err := c.At(line.from)
	if err != nil {
		return Knee{}, false, err
	}
	line.top = top[0]
	// This member has the places from n-first-len(part) on, the largest distance last.
	begin := int(c.n - c.first - int64(len(c.part)))
	at, depth := line.farthest(max(line.from, begin), min(line.half, begin+len(c.part)), func(i int) float64 { return c.part[len(c.part)-1-(i-begin)] })
	all, err := team.Gather(c.team, []float64{float64(at), depth})
	if err != nil {
		return Knee{}, false, err
	}
	at, depth = -1, 0
	for _, theirs := range slices.Backward(all) { // the last member has the largest distances
		if theirs[1] > depth {
			at, depth = int(theirs[0]), theirs[1]
		}
	}
	if at < 0 {
		return Knee{}, false, nil
	}
	eps, err := c.At(at)
	if err != nil {
		return Knee{}, false, err
	}
	return Knee{Index: at, Range: at - line.from, Eps: eps[0]}, true, nil
}

// Curve is Index.KDistance on the points of all members. In 1-D, where it is as long as all have points, each member
// has a part of it. From 2-D on points stay where they are, and distances to those that are asked about are exchanged.
func (x *Shared) Curve(k, queries int) (*Curve, error) {
	defer x.team.stage("")
	if x.index == nil && x.points.Dims == 1 && k >= 1 && int64(k) < x.n {
		x.team.stage("k-distance")
		return x.lineCurve(int64(k))
	}
	whole, err := x.wholeCurve(k, queries)
	return WholeCurve(whole), err
}

// lineCurve sorts the points of all members: then the nearest of a point are beside it.
func (x *Shared) lineCurve(k int64) (*Curve, error) {
	sorted, err := sortShared(x.team, slices.Clone(x.points.Coords), x.n, x.threads)
	if err != nil {
		return nil, err
	}
	size, rank := x.team.Size(), x.team.Rank()
	begin := func(m int) int64 { return placeOf(x.n, m, size) }
	parts := make([][]float64, size)
	for m := range parts {
		if begin(m) == begin(m+1) {
			continue
		}
		from, to := max(begin(m)-k, begin(rank)), min(begin(m+1)+k, begin(rank+1))
		if from < to {
			parts[m] = sorted[from-begin(rank) : to-begin(rank)]
		}
	}
	got, err := team.Exchange(x.team, parts)
	if err != nil {
		return nil, err
	}
	var distances []float64
	if own := begin(rank+1) - begin(rank); own > 0 {
		l := &line{x: slices.Concat(got...)}
		before := begin(rank) - max(0, begin(rank)-k)
		distances = l.kDistance(int(k), x.threads)[before : before+own]
	}
	part, err := sortShared(x.team, distances, x.n, x.threads)
	if err != nil {
		return nil, err
	}
	return &Curve{team: x.team, part: part, first: begin(rank), n: x.n}, nil
}

// placeOf is where the part of a member begins of n things that are cut into equal parts.
func placeOf(n int64, member, size int) int64 {
	return n/int64(size)*int64(member) + n%int64(size)*int64(member)/int64(size)
}

// sortShared sorts what the members have together, n numbers of which none is NaN, and returns this member's part, as
// placeOf says. It sorts mine in place.
func sortShared(m *meter, mine []float64, n int64, threads int) ([]float64, error) {
	sortRows(mine, nil, threads)
	size := m.Size()
	// The number at which each part begins is found digit by digit: it is the largest with no more smaller ones than there
	// are in the parts before.
	keys := make([]uint64, size-1)
	upTo := func(key uint64, equal bool) int64 {
		at, _ := slices.BinarySearchFunc(mine, key, func(v float64, key uint64) int {
			if k := radixKey(v); k < key || equal && k == key {
				return -1
			}
			return 1
		})
		return int64(at)
	}
	const step, digits = 4, 1<<4 - 1
	smaller := make([]int64, (size-1)*digits)
	for shift := 64 - step; shift >= 0; shift -= step {
		for i := range smaller {
			smaller[i] = upTo(keys[i/digits]|uint64(i%digits+1)<<shift, false)
		}
		if err := m.AllReduce(smaller, team.Sum); err != nil {
			return nil, err
		}
		for i := range keys {
			left := placeOf(n, i+1, size)
			digit, _ := slices.BinarySearchFunc(smaller[i*digits:(i+1)*digits], left, func(n, left int64) int {
				if n <= left {
					return -1
				}
				return 1
			})
			keys[i] |= uint64(digit) << shift
		}
	}
	// Of equal ones the members before this one come first.
	counts := make([]int64, 0, 2*len(keys))
	for _, key := range keys {
		counts = append(counts, upTo(key, false), upTo(key, true))
	}
	all, err := team.Gather(m, counts)
	if err != nil {
		return nil, err
	}
	parts := make([][]float64, size)
	from := int64(0)
	for i := range parts {
		to := int64(len(mine))
		if i < len(keys) {
			left := placeOf(n, i+1, size)
			for _, theirs := range all {
				left -= theirs[2*i]
			}
			for _, theirs := range all[:m.Rank()] {
				left -= theirs[2*i+1] - theirs[2*i]
			}
			to = counts[2*i] + max(0, min(left, counts[2*i+1]-counts[2*i]))
		}
		parts[i] = mine[from:to]
		from = to
	}
	got, err := team.Exchange(m, parts)
	if err != nil {
		return nil, err
	}
	part := slices.Concat(got...)
	if part == nil {
		part = []float64{}
	}
	sortRows(part, nil, threads)
	return part, nil
}
