package space

import (
	"math"
	"slices"

	"moriens/internal/team"
)

// Coordinates appends to dst the coordinates of bursts, row-major in the order of rows. The bursts
// must be Complete.
func (s *Space) Coordinates(dst []float64, rows []int32) []float64 {
	first := len(dst)
	dst = slices.Grow(dst, len(rows)*len(s.axes))
	if len(s.axes) == 1 && s.axes[0].den == nil && s.scales[0] == Log {
		for _, row := range rows { // the common case without a branch per value
			dst = append(dst, math.Log(float64(s.axes[0].num[row])))
		}
	} else {
		for _, row := range rows {
			for j := range s.axes {
				dst = append(dst, s.coordinate(j, row))
			}
		}
	}
	if s.origin != nil {
		s.scale(dst[first:])
	}
	return dst
}

// coordinate is the one of an axis, not normalised.
func (s *Space) coordinate(j int, row int32) float64 {
	v, _ := s.axes[j].value(int(row))
	if s.scales[j] == Log {
		return math.Log(v)
	}
	return v
}

// Normalise makes every coordinate (v − min)/(max − min) over rows, of all members, whose bursts must be Complete; 0
// where max is min.
func (s *Space) Normalise(rows []int32) error {
	lo, hi := make([]float64, len(s.axes)), make([]float64, len(s.axes))
	for j := range s.axes {
		lo[j], hi[j] = math.Inf(1), math.Inf(-1)
		for _, row := range rows {
			v := s.coordinate(j, row)
			lo[j], hi[j] = min(lo[j], v), max(hi[j], v)
		}
	}
	if err := team.Bounds(s.team, lo, hi); err != nil {
		return err
	}
	s.origin, s.extent = make([]float64, len(s.axes)), make([]float64, len(s.axes))
	for j := range s.axes {
		if lo[j] > hi[j] { // no rows
			continue
		}
		s.origin[j], s.extent[j] = lo[j], hi[j]-lo[j]
	}
	return nil
}

func (s *Space) scale(coords []float64) {
	for j, lo := range s.origin {
		extent := s.extent[j]
		if extent == 0 {
			extent = 1
		}
		for at := j; at < len(coords); at += len(s.origin) {
			coords[at] = (coords[at] - lo) / extent
		}
	}
}

// Unscaled gives a coordinate of an axis the value that it has without Normalise.
func (s *Space) Unscaled(j int, v float64) float64 {
	if s.origin == nil {
		return v
	}
	return s.origin[j] + v*s.extent[j]
}
