package microcell

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/analysis/grouping"
)

// floor is the least Eps that is clustered with. Points of cells that are next to each other by their corners are then
// well within Eps, so that most cells decide by themselves.
func (s *Set) floor() float64 { return 4 * s.Side * math.Sqrt(float64(len(s.Dims))) }

func (s *Set) check(o *grouping.Options, from Source) error {
	if from == nil {
		return errors.New("microcell: no source of sequences and places")
	}
	if d := len(s.Dims); d < 1 || d > dbscan.MaxDims {
		return fmt.Errorf("microcell: %d dimensions: want 1 to %d", d, dbscan.MaxDims)
	}
	if floor := s.floor(); !(s.Side > 0) || math.IsInf(floor, 0) {
		return fmt.Errorf("microcell: side %v: want a number above 0", s.Side)
	}
	if err := s.checkOptions(o); err != nil {
		return err
	}
	if err := s.checkGroups(o.By); err != nil {
		return err
	}
	return s.checkUnits()
}

// checkOptions refuses what units cannot show.
func (s *Set) checkOptions(o *grouping.Options) error {
	switch err := o.Check(); {
	case err != nil:
		return err
	case o.Dims != nil && !slices.Equal(o.Dims, s.Dims):
		return fmt.Errorf("microcell: the units have the dimensions %v: want these, not %v", s.Dims, o.Dims)
	case o.Normalise || o.Strict:
		return errors.New("microcell: coordinates scaled to the range of all bursts, and a strict refinement, which has them so: want axes that are the same from the first burst on, as micro-cells are cut along them")
	case len(o.Filter.Ranges) > 0:
		return fmt.Errorf("microcell: the range %v: want none, as units do not tell it of each burst", o.Filter.Ranges[0])
	case o.Filter.MinNS < 0:
		return fmt.Errorf("microcell: minimal duration %d ns: want one ≥ 0", o.Filter.MinNS)
	case o.Filter.Auto && o.Filter.MinNS != 0:
		return fmt.Errorf("microcell: a minimal duration of %d ns and an automatic one: want one of them", o.Filter.MinNS)
	case o.Team.Size() > 1:
		return fmt.Errorf("microcell: a team of %d: want one process, which has all units", o.Team.Size())
	}
	return nil
}

func (s *Set) checkGroups(by grouping.By) error {
	seen := make(map[Group]bool)
	for i, g := range s.Groups {
		if seen[g] {
			return fmt.Errorf("microcell: group %d is between call paths %d and %d, as one before it", i, g.Before, g.After)
		}
		seen[g] = true
	}
	if by == grouping.ByNone && (len(s.Groups) > 1 || len(s.Groups) == 1 && s.Groups[0] != Group{}) {
		return fmt.Errorf("microcell: all bursts together, but the units are of %d groups by call paths", len(s.Groups))
	}
	return nil
}

func (s *Set) checkUnits() error {
	if len(s.Units) > math.MaxInt32 {
		return fmt.Errorf("microcell: %d units: want at most %d", len(s.Units), math.MaxInt32)
	}
	if s.Threads < 0 {
		return fmt.Errorf("microcell: %d threads", s.Threads)
	}
	bursts, left := s.Bursts, s.TimeNS
	for _, t := range []grouping.Tally{s.Missing, s.Short} {
		if t.Bursts < 0 || t.TimeNS < 0 || t.Bursts > bursts || t.TimeNS > left {
			return fmt.Errorf("microcell: %d bursts of %d ns are set aside, of all %d of %d ns", t.Bursts, t.TimeNS, s.Bursts, s.TimeNS)
		}
		bursts, left = bursts-t.Bursts, left-t.TimeNS
	}
	for i := range s.Units {
		u := &s.Units[i]
		if err := u.check(s); err != nil {
			return fmt.Errorf("microcell: unit %d %w", i, err)
		}
		if u.Cell.Count > int64(bursts) || u.timeNS() > left {
			return fmt.Errorf("microcell: unit %d has %d bursts of %d ns, which are more than all, with those before it: %d of %d ns", i, u.Cell.Count, u.timeNS(), s.Bursts, s.TimeNS)
		}
		bursts, left = bursts-int(u.Cell.Count), left-u.timeNS()
	}
	return nil
}

// check says what is wrong with a unit.
func (u *Unit) check(s *Set) error {
	switch {
	case u.Group < 0 || u.Group >= len(s.Groups):
		return fmt.Errorf("is of group %d of %d", u.Group, len(s.Groups))
	case u.Cell.Count < 0 || u.Duration.N != u.Cell.Count:
		return fmt.Errorf("has %d bursts and %d durations", u.Cell.Count, u.Duration.N)
	case u.Duration.Total[1] != 0 || u.Duration.Total[0] > math.MaxInt64:
		return errors.New("lasts over 292 years")
	case len(u.Counters) != len(s.Counters) && u.Cell.Count > 0:
		return fmt.Errorf("has %d counters: want %d", len(u.Counters), len(s.Counters))
	}
	for i := range u.Counters {
		if n := u.Counters[i].N; n < 0 || n > u.Cell.Count {
			return fmt.Errorf("has %s of %d bursts, and %d bursts", s.Counters[i], n, u.Cell.Count)
		}
	}
	for j := range s.Dims {
		lo, hi := u.Cell.Lo[j], u.Cell.Hi[j]
		if u.Cell.Count > 0 && (!(lo <= hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) || u.Place && lo != hi) {
			return fmt.Errorf("is from %v to %v in dimension %s", lo, hi, s.Dims[j])
		}
	}
	return nil
}

func (u *Unit) timeNS() int64 { return int64(u.Duration.Total[0]) }

func (u *Unit) meanNS() int64 { return u.timeNS() / u.Cell.Count }
