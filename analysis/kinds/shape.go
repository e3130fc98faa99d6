package kinds

import "math"

// large reports whether a kind has its part of the stratum: beside what is pooled, too.
func (j *evaluator) large(a int32) bool {
	return float64(j.bursts[a]) >= apartOfAll*float64(j.all[j.leaves[a].Stratum])
}

// valley reports whether there is a valley between two kinds which is no gap by chance.
func (j *evaluator) valley(a, b int32) bool {
	if j.dims > 1 {
		return true
	}
	s := j.stratum(j.leaves[a].Stratum)
	from, to := j.place(a, 0)/j.side, j.place(b, 0)/j.side
	if from > to {
		from, to = to, from
	}
	reach := max(peakReach, (to-from)/8)
	peakA, peakB, pass := int64(0), int64(0), int64(math.MaxInt64)
	for at := from; at <= to; at += reach / 2 {
		n := s.within(at-reach, at+reach)
		if at < from+2*reach {
			peakA = max(peakA, n)
		}
		if at > to-2*reach {
			peakB = max(peakB, n)
		}
		pass = min(pass, n)
	}
	peak := float64(min(peakA, peakB))
	v := float64(pass)
	return peak >= leastPeak && v <= valleyDepth*peak && peak-v >= valleySure*math.Sqrt(peak+v)
}

// stratum is how all leaves of a stratum lie together.
func (j *evaluator) stratum(stratum int32) *spread {
	if s := j.strata[stratum]; s != nil {
		return s
	}
	s := new(spread)
	for _, leaf := range j.members[stratum] {
		s.add(&j.spreads[leaf][0])
	}
	j.strata[stratum] = s
	return s
}

// compact reports whether the slower of two kinds is not the tail of the quicker one.
func (j *evaluator) compact(a, b int32) bool {
	if j.dims > 1 {
		return true
	}
	if j.place(a, 0) > j.place(b, 0) {
		a, b = b, a
	}
	width := func(leaf int32) float64 {
		s := &j.wide[leaf]
		return (s.quantile(.75) - s.quantile(.25)) * j.side
	}
	return width(b) <= max(narrow, narrowToOther*width(a))
}

// pooled is the one of two kinds that may be disturbed bursts of several: much slower than the other and smaller, or
// much broader than a peak beside it. None if neither is.
func (j *evaluator) pooled(p *pair) int32 {
	quick, slow := p.a, p.b
	if j.dims == 1 && j.place(quick, 0) > j.place(slow, 0) {
		quick, slow = slow, quick
	}
	if j.dims > 1 {
		return None
	}
	if p.mixed || p.distance >= poolDistance && j.bursts[slow] < j.bursts[quick] {
		return slow
	}
	if p.compact || j.bursts[quick] < few {
		return None
	}
	_, high := j.spreads[quick][0].peak()
	_, low := j.spreads[slow][0].peak()
	if high <= low {
		return None
	}
	return slow
}
