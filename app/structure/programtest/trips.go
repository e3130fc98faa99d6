package programtest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"moriens/analysis/program"
)

var inTurn = regexp.MustCompile(`^([\d,]+) in turn$`)

// cycleOf reads "3,4,5 in turn"; nil = it is something else.
func cycleOf(text string) (cycle []int64) {
	if found := inTurn.FindStringSubmatch(text); found != nil {
		for n := range strings.SplitSeq(found[1], ",") {
			x, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				return nil
			}
			cycle = append(cycle, x)
		}
	}
	return cycle
}

// anyTrips stands for trips that are not planted.
const anyTrips = "*"

// trips are the least and the most that a line of an outline can have in a scope.
func (w *wanted) trips(l *line, s *scope) trips {
	if l.trips == anyTrips {
		return trips{least: 2, most: manyTrips}
	}
	if cycle := cycleOf(l.trips); cycle != nil {
		return trips{least: slices.Min(cycle), most: slices.Max(cycle)}
	}
	e, err := parse(l.trips)
	if err != nil {
		w.err = fmt.Errorf("line %d: %w", l.number, err)
		return trips{}
	}
	n := trips{least: -1, most: -1}
	s.each(e.uses, func(v variables) bool {
		x, err := e.eval(v)
		if err != nil {
			w.err = fmt.Errorf("line %d: %w", l.number, err)
			return false
		}
		if n.most < 0 {
			n = trips{least: x, most: x}
		}
		n = trips{least: min(n.least, x), most: max(n.most, x)}
		return true
	})
	return n
}

// tripFaults says what is wrong with the trips of an inferred loop.
func tripFaults(l *line, t *program.Trips, w *wanted, s *scope) (faults []string) {
	if l.trips == anyTrips {
		return nil
	}
	wrong := func() []string {
		return []string{fmt.Sprintf("trips are %s (%s, %d to %d)", t.Expression, t.Kind, t.Least, t.Most)}
	}
	n := w.trips(l, s)
	if t.Least != n.least || t.Most != n.most {
		return wrong()
	}
	if cycle := cycleOf(l.trips); cycle != nil {
		if t.Kind != program.TripsCycle || !slices.Equal(t.Cycle, cycle) {
			return wrong()
		}
		return nil
	}
	e, err := parse(l.trips)
	if err != nil {
		return []string{err.Error()}
	}
	kind := program.TripsConstant
	switch {
	case n.least == n.most:
	case e.uses["i"] || e.uses["j"]:
		kind = program.TripsLinear
	case e.uses["rank"]: // affine in the rank is reported as such, or by classes of ranks
		if t.Kind == program.TripsVaries || t.Kind == program.TripsCycle {
			return wrong()
		}
		kind = t.Kind
	}
	if t.Kind != kind {
		return wrong()
	}
	said, err := parse(t.Expression)
	is := func(variables) (int64, bool) { return 0, true }
	switch {
	case t.Linear != nil:
		name := s.name(t.Linear.Variable)
		is = func(v variables) (int64, bool) {
			return t.Linear.Slope*v[name] + t.Linear.Offset, name != ""
		}
	case len(t.ByRank) > 0:
		is = func(v variables) (int64, bool) {
			for _, r := range t.ByRank {
				if slices.Contains(r.Ranks, int(v["rank"])) {
					return r.Count, true
				}
			}
			return 0, false
		}
	case err == nil && !said.uses["i"] && !said.uses["j"]:
		is = func(v variables) (int64, bool) {
			x, err := said.eval(v)
			return x, err == nil
		}
	default:
		return nil
	}
	if !s.each(e.uses, func(v variables) bool {
		a, err := e.eval(v)
		b, ok := is(v)
		return err == nil && ok && a == b
	}) {
		return wrong()
	}
	return nil
}
