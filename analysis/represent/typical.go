package represent

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// alike is the step in which windows' distances from the median are compared. Where several are as near, the one in the
// middle of the phase is taken: caches are warm there, and the end of the phase does not show yet.
const alike = .001

// typical returns the consecutive iterations that are nearest the phase's median: least sum of |time - median| over its
// clusters as a share of all medians, plus that of the iterations' length. Those with anomalies are taken only where
// there are no others.
func (s *stretch) typical(run *Run, count, maxBursts int) Window {
	count = min(count, len(s.pieces))
	for count > 1 && !s.fitsAnywhere(count, maxBursts) {
		count--
	}
	distance := s.distances()
	type score struct {
		odd    int
		far    int64 // in steps of alike
		middle int   // twice the distance from the phase's middle
	}
	var best score
	from := -1
	for u := 0; u+count <= len(s.pieces); u++ {
		if count > 1 && !s.fits(u, u+count, maxBursts) {
			continue
		}
		var c score
		var sum float64
		for k := u; k < u+count; k++ {
			if s.pieces[k].odd {
				c.odd++
			}
			sum += distance[k]
		}
		c.far = int64(math.Round(sum / float64(count) / alike))
		c.middle = max(2*u+count-len(s.pieces), len(s.pieces)-2*u-count)
		if from < 0 || cmp.Or(cmp.Compare(c.odd, best.odd), cmp.Compare(c.far, best.far), cmp.Compare(c.middle, best.middle)) < 0 {
			best, from = c, u
		}
	}
	w := s.window(run, from, from+count)
	w.Why = Representative
	for _, p := range s.pieces {
		w.ExplainsNS += p.timeNS
	}
	w.Reason = s.name(from, from+count) + ": " + s.nearness(from, from+count, distance)
	if best.odd > 0 {
		w.Reason += fmt.Sprintf("; %d of %d contain something unusual, no others contain less", best.odd, count)
	}
	return w
}

func (s *stretch) fitsAnywhere(count, maxBursts int) bool {
	for u := 0; u+count <= len(s.pieces); u++ {
		if s.fits(u, u+count, maxBursts) {
			return true
		}
	}
	return false
}

// nearness says how near the median iterations are.
func (s *stretch) nearness(from, to int, distance []float64) string {
	if len(s.pieces) == to-from {
		return "all of them"
	}
	var length, far float64
	for u := from; u < to; u++ {
		length += float64(s.pieces[u].endNS-s.pieces[u].beginNS) / float64(to-from)
		far += distance[u] / float64(to-from)
	}
	text := fmt.Sprintf("of %d the closest to the median", len(s.pieces))
	if s.wallNS > 0 {
		text += fmt.Sprintf(" (%.3f of the median time, %s; ", length/float64(s.wallNS), seconds(float64(s.wallNS)))
	} else {
		text += " ("
	}
	return text + percent(far) + " off in clusters and length)"
}

// distances are how far each piece is from the median of all.
func (s *stretch) distances() []float64 {
	far := make([]float64, len(s.pieces))
	column := make([]int64, len(s.pieces))
	var sum float64
	for c := range s.clusters {
		for u := range column {
			column[u] = s.timeNS[u*len(s.clusters)+c]
		}
		median := medianOf(column)
		sum += float64(median)
		for u := range far {
			far[u] += math.Abs(float64(s.row(u)[c] - median))
		}
	}
	for u, p := range s.pieces {
		if sum > 0 {
			far[u] /= sum
		} else { // no cluster in half of the iterations: what is there does not distinguish them
			far[u] = 0
		}
		if s.wallNS > 0 {
			far[u] += math.Abs(float64(p.endNS-p.beginNS-s.wallNS)) / float64(s.wallNS)
		}
	}
	return far
}

// medianOf returns the lower median of values, which it overwrites.
func medianOf(values []int64) int64 {
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
