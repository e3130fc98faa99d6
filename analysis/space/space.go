// Package space makes points out of computation bursts: it reads the specification of the
// dimensions, tells complete bursts from those that lack data or are filtered, and transforms
// durations and counters into coordinates.
//
// In come columns over bursts: durations in nanoseconds, counter values in their own units. Out come
// a Status per burst and coordinates. The transform is fixed, that is, it does not depend on the
// other bursts, so that the clusters of a running job stay comparable as bursts arrive: a log
// dimension is ln(value), in ln units (0.1 ≈ 10 %), a lin dimension the value itself. Normalisation
// over the range of all bursts, as off-line tools do it, is not done here. The package never changes
// its input.
package space

import (
	"errors"
)

// Columns are bursts, one row each. All columns have one length.
type Columns struct {
	DurationNS   []int64   // ≥ 0
	CounterNames []string  // e.g. PAPI_TOT_INS
	Counters     [][]int64 // one column per name; a negative value means that the counter was not read
}

// Len returns the number of bursts.
func (c Columns) Len() int { return len(c.DurationNS) }

// NotRead stands in a column of Counters where the counter was not read for that burst.
const NotRead int64 = -1

// Scale is how a quantity becomes a coordinate.
type Scale uint8

// The scales.
const (
	Lin Scale = iota // the value
	Log              // its natural logarithm
)

// Dim is one dimension: a quantity and its scale.
type Dim struct {
	Num   string // Duration or a counter's name
	Den   string // empty, or what Num is divided by
	Scale Scale
}

// Duration is the name of the burst's duration, in nanoseconds, as a quantity.
const Duration = "duration"

// Parse reads a --dims specification such as "PAPI_TOT_INS:log,IPC": dimensions separated by commas,
// each "duration", a counter's name, a ratio "A/B" of two of those, or "IPC" for
// PAPI_TOT_INS/PAPI_TOT_CYC. Only a trailing ":log" or ":lin" is a scale, since event names hold
// colons. Without one a ratio is lin and everything else is log.
func Parse(spec string) ([]Dim, error) { return nil, errors.New("space: not built yet") }

// Status says whether a burst is clustered, and if not, why. Where several reasons hold the first
// of Missing, Short and OutOfRange is given.
type Status uint8

// The statuses of a burst.
const (
	Complete   Status = iota // has coordinates
	Missing                  // lacks a counter, or a quantity has no value there: 0/0, the log of 0
	Short                    // filtered by duration
	OutOfRange               // filtered by a Range
)

// Filter says which bursts to leave out. The zero Filter leaves out none.
type Filter struct {
	// MinNS leaves out bursts shorter than this.
	MinNS int64
	// Auto finds MinNS: the largest duration such that all shorter bursts together make up less than
	// 1 % of the computing time of all bursts. Bursts of one duration are left out together or not at all.
	Auto   bool
	Ranges []Range
}

// A Range leaves out bursts where a quantity, before its scale is applied, is outside Min … Max.
type Range struct {
	Num, Den string // as in Dim
	Min, Max float64
}

// Selection says which bursts are clustered.
type Selection struct {
	Status []Status
	MinNS  int64 // shorter bursts are Short; 0 = no duration filter
	// By Status: bursts, and their total duration.
	Bursts [4]int
	TimeNS [4]int64
}

// TotalNS is the computing time of all bursts.
func (s *Selection) TotalNS() int64 {
	return s.TimeNS[Complete] + s.TimeNS[Missing] + s.TimeNS[Short] + s.TimeNS[OutOfRange]
}
