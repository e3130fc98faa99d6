package grouping

import (
	"slices"

	"moriens/analysis/refine"
)

// A Curve is the distances of a group's bursts to their k-th neighbour, as a *dbscan.Curve is.
type Curve interface {
	refine.Curve
	Len() int
}

// Densities are what a group is clustered with.
type Densities struct {
	MinPts int
	From   EpsFrom
	Knee   float64   // as in Group
	Eps    []float64 // by step of the refinement
}

// FindDensities finds the densities of a group of so many bursts: the Eps of each step, the given one alone or those
// from the knee on, none below the resolution. curve gives the group's curve of distances to the k-th neighbour, of so
// many bursts; 0 = as many as its accuracy needs.
func (o *Options) FindDensities(bursts int, resolution float64, curve func(k, queries int) (Curve, error)) (Densities, error) {
	s := &seeker{options: o, bursts: bursts, resolution: resolution, curve: curve, found: Densities{MinPts: o.minPts(bursts)}}
	switch d := &s.found; {
	case bursts < d.MinPts:
		d.From, d.Eps = FromNone, []float64{0}
	case o.Fixed != nil:
		d.From, d.Eps = FromFixed, []float64{o.Fixed.Eps}
	default:
		if err := s.chooseLadder(); err != nil {
			return Densities{}, err
		}
	}
	return s.found, nil
}

// A seeker seeks the densities of a group.
type seeker struct {
	options    *Options
	bursts     int
	resolution float64
	curve      func(k, queries int) (Curve, error)
	found      Densities
}

// chooseLadder finds MinPts, and the Eps from the knee on.
func (s *seeker) chooseLadder() error {
	o, d := s.options, &s.found
	curve, err := s.curveNow()
	if err != nil {
		return err
	}
	if o.MinPts == 0 && !o.Strict {
		if curve, err = s.lookForSmallKinds(curve); err != nil {
			return err
		}
	}
	outliers := d.MinPts
	if o.Strict {
		outliers = 0
	}
	if d.Eps, err = refine.Ladder(curve, outliers*curve.Len()/s.bursts); err != nil {
		return err
	}
	if len(d.Eps) > 0 {
		d.Knee = d.Eps[0]
	}
	d.From = FromKnee
	if d.Knee <= s.resolution {
		d.From = FromFloor
		d.Eps = slices.DeleteFunc(d.Eps, func(eps float64) bool { return eps <= s.resolution })
		d.Eps = append([]float64{s.resolution}, d.Eps...)
	}
	if !o.Strict {
		d.Eps = slices.Compact(d.Eps)
	}
	return nil
}

// curveNow is the curve for the MinPts found so far.
func (s *seeker) curveNow() (Curve, error) {
	queries := 0 // as many as the curve's accuracy needs
	if s.options.Strict {
		queries = s.bursts
	}
	return s.curve(s.found.MinPts, queries)
}

// Where MinPts is above the size of the kinds that an inSmall-th of the bursts are of, the distance to the MinPts-th
// neighbour that an inSmall-th of the bursts exceed falls manyFold when MinPts is halved and comes below that size.
// Where bursts lie evenly it falls to a half in one dimension, and less in more.
const (
	inSmall  = 8
	manyFold = 3
)

// lookForSmallKinds lowers MinPts, by halves, to where it is below the size of the kinds of nearly all bursts, if there
// is such a place; n/200 is above it where there are over 200 kinds. It returns the curve of distances for MinPts,
// given that of the MinPts so far.
func (s *seeker) lookForSmallKinds(curve Curve) (Curve, error) {
	d := &s.found
	least, most := s.options.minPts(0), d.MinPts
	if curve.Len() == 0 {
		return curve, nil
	}
	distance := func(curve Curve) (float64, error) {
		at, err := curve.At(curve.Len() / inSmall)
		if err != nil {
			return 0, err
		}
		return max(at[0], s.resolution), nil
	}
	before, err := distance(curve)
	if err != nil || before <= manyFold*s.resolution { // so also where it is 0
		return curve, err
	}
	for d.MinPts/2 >= least {
		d.MinPts /= 2
		lower, err := s.curveNow()
		if err != nil {
			return nil, err
		}
		after, err := distance(lower)
		if err != nil {
			return nil, err
		}
		if before >= manyFold*after {
			return lower, nil
		}
		before = after
	}
	d.MinPts = most
	return curve, nil
}
