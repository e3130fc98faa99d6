// Package space makes points out of computation bursts: it reads the specification of the dimensions, separates
// complete bursts from those that lack data or are filtered, and transforms durations and counters into coordinates.
//
// In come columns over bursts: durations in nanoseconds, counter values in their own units. Out come a Status per burst
// and coordinates. The transform is fixed: a burst's coordinates do not depend on the other bursts, so that the
// clusters of a running job remain comparable while bursts arrive. A log dimension is ln(value), in ln units (0.1 ≈ 10
// %), a lin dimension is the value itself. For traces there is also Normalise: coordinates over the range of the
// bursts, as tools that work after the run have them (González, Giménez, Labarta, IPDPS'09, section 3). The package
// never changes its input.
//
// The bursts may be spread over a team: each member has columns over its own bursts, and the automatic filter, the sums
// and the range of the coordinates cover the bursts of all members.
package space

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/analysis/dbscan"
	"moriens/internal/team"
)

// Columns are bursts, one row each. All columns have one length.
type Columns struct {
	DurationNS   []int64   // ≥ 0
	CounterNames []string  // e.g. PAPI_TOT_INS
	Counters     [][]int64 // one column per name; a negative value means that the counter was not read
}

// NotRead stands in a column of Counters where the counter was not read for that burst.
const NotRead int64 = -1

// Len returns the number of bursts.
func (c Columns) Len() int { return len(c.DurationNS) }

// A Space is bursts under a choice of dimensions.
type Space struct {
	// Workers is how many select bursts; below 1 means 1.
	Workers int

	team    team.Team
	columns Columns
	dims    []Dim
	axes    []quantity
	scales  []Scale
	// After Normalise: what every coordinate is less, and divided by. Else nil.
	origin, extent []float64
}

// quantity is what a Dim or a Range is about, in columns. den is nil if nothing divides.
type quantity struct{ num, den []int64 }

// New relates dimensions to columns. It keeps both. Columns of unequal length, a negative duration,
// a dimension whose counter is no column, none and more than dbscan.MaxDims dimensions are errors.
func New(c Columns, dims []Dim) (*Space, error) { return NewShared(team.Solo{}, c, dims) }

// NewShared is New, collectively, for the bursts of all members of a team, of which c are this member's. All give the
// same names of counters and dimensions. The methods Select, Readmit and Normalise are collective too.
func NewShared(t team.Team, c Columns, dims []Dim) (*Space, error) {
	s, err := newSpace(t, c, dims)
	if err := team.Explain(t, err); err != nil {
		return nil, err
	}
	return s, nil
}

func newSpace(t team.Team, c Columns, dims []Dim) (*Space, error) {
	if len(c.CounterNames) != len(c.Counters) {
		return nil, fmt.Errorf("space: %d counters have %d columns", len(c.CounterNames), len(c.Counters))
	}
	for i, column := range c.Counters {
		if len(column) != c.Len() {
			return nil, fmt.Errorf("space: %s has %d values for %d bursts", c.CounterNames[i], len(column), c.Len())
		}
	}
	if c.Len() > math.MaxInt32 {
		return nil, fmt.Errorf("space: %d bursts: want at most %d", c.Len(), math.MaxInt32)
	}
	for i, d := range c.DurationNS {
		if d < 0 {
			return nil, fmt.Errorf("space: burst %d lasts %d ns", i, d)
		}
	}
	if len(dims) < 1 || len(dims) > dbscan.MaxDims {
		return nil, fmt.Errorf("space: %d dimensions: want 1 to %d", len(dims), dbscan.MaxDims)
	}
	s := &Space{team: t, columns: c, dims: dims}
	for _, d := range dims {
		q, err := s.find(d.Num, d.Den)
		if err != nil {
			return nil, fmt.Errorf("space: dimension %s: %w", d, err)
		}
		s.axes = append(s.axes, q)
		s.scales = append(s.scales, d.Scale)
	}
	return s, nil
}

// An UnknownCounterError names a counter that the bursts do not have.
type UnknownCounterError struct {
	Name string
	Have []string
}

func (e *UnknownCounterError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("no counter %s: the bursts have none", e.Name)
	}
	return fmt.Sprintf("no counter %s: the bursts have %s", e.Name, strings.Join(e.Have, ", "))
}

func (s *Space) find(num, den string) (quantity, error) {
	var q quantity
	var err error
	if q.num, err = s.column(num); err != nil || den == "" {
		return q, err
	}
	q.den, err = s.column(den)
	return q, err
}

func (s *Space) column(name string) ([]int64, error) {
	if name == Duration {
		return s.columns.DurationNS, nil
	}
	if i := slices.Index(s.columns.CounterNames, name); i >= 0 {
		return s.columns.Counters[i], nil
	}
	return nil, &UnknownCounterError{Name: name, Have: s.columns.CounterNames}
}

// value is not ok where the burst has no such quantity.
func (q quantity) value(row int) (v float64, ok bool) {
	n := q.num[row]
	if q.den == nil {
		return float64(n), n >= 0
	}
	d := q.den[row]
	return float64(n) / float64(d), n >= 0 && d > 0
}

// Dims returns the dimensions, in the order of the coordinates.
func (s *Space) Dims() []Dim { return s.dims }
