// Package partition groups the bursts of a run into clusters with one density, without refinement:
// what `moriens run` shows while a job runs and what it ends with.
//
// In come columns over all bursts of a run: durations in nanoseconds, counters, and the call paths
// round each burst. Bursts that lack data or are too short are set aside (package space); the others
// are split by call paths where that is asked for, and every group is clustered (package dbscan) with
// an Eps of its own from its k-distance curve. Out come a label per burst, in the input's order, and
// what describes clusters and groups. The package never changes its input, and the answer depends
// neither on the number of workers nor on the order of the bursts, up to that order and to the
// rounding of means.
package partition

import (
	"errors"

	"moriens/analysis/space"
)

// Labels of bursts that are in no cluster; clusters are 1, 2, … (the values of trace.Label…).
const (
	LabelNoise    int32 = -1 // clustered, but in no dense region
	LabelFiltered int32 = -2 // left out by the filter
	LabelMissing  int32 = -3 // lacks data that a dimension needs
)

// Bursts are the columns over bursts. Before and After are the ids of the call paths of the MPI calls
// round a burst; they may be nil under ByNone.
type Bursts struct {
	space.Columns
	Before, After []uint32
}

// By says which bursts are clustered together.
type By uint8

// The ways to split bursts.
const (
	ByCalls By = iota // those between the same pair of call paths
	ByNone            // all
)

// ParseBy reads "calls" or "none".
func ParseBy(s string) (By, error) { return 0, errors.New("partition: not built yet") }

// Options of a clustering. The zero value, with Dims, is what `run` does without counters.
type Options struct {
	Dims   []space.Dim
	By     By
	Filter space.Filter

	// Fixed, if not nil, is the density for all groups (--dbscan).
	Fixed *Density
	// MinPts, if not 0, replaces the automatic MinPts of every group (--min-points).
	MinPts int
	// Resolution is the floor of an automatic Eps, in units of the coordinates: bursts nearer than
	// this are not told apart (--resolution). 0 = DefaultResolution of the dimensions; negative = none.
	Resolution float64

	JobThreads int // threads of the job that is measured; 0 = unknown
	Workers    int // threads to compute with; below 1 means 1
}

// Density is what DBSCAN asks of a neighbourhood.
type Density struct {
	Eps    float64 // in units of the coordinates, ≥ 0
	MinPts int     // ≥ 1
}

// EpsFrom says where a group's Eps comes from.
type EpsFrom uint8

// Where an Eps comes from.
const (
	FromKnee  EpsFrom = iota // the knee of the group's k-distance curve
	FromFloor                // the resolution, since the knee is below it or there is none
	FromFixed                // Options.Fixed
	FromNone                 // none: the group has fewer bursts than MinPts and is one rare cluster
)

// A Result is the clustering of all bursts.
type Result struct {
	Labels   []int32   // per burst: a Cluster's ID or one of the Label constants
	Clusters []Cluster // by total time, descending; Clusters[i].ID is i+1
	Groups   []Group   // by total time, descending
	// Selection says what was set aside, and the duration filter that was found.
	Selection *space.Selection
	Noise     Tally // bursts that were clustered and are in no cluster
	Clustered Tally // bursts in a cluster
	// Warnings are sentences for the user.
	Warnings []string
}

// A Tally counts bursts.
type Tally struct {
	Bursts int
	TimeNS int64
	Share  float64 // of the computing time of all bursts, those set aside included, 0–1
}

// A Cluster is a set of bursts that behave alike.
type Cluster struct {
	ID     int32 // 1, 2, … by total time, descending; ties by group (Before, After), then by smallest core point
	Group  int   // index into Result.Groups
	Bursts int
	TimeNS int64   // total duration
	Share  float64 // of the computing time of all bursts, those set aside included, 0–1
	MeanNS float64
	StdNS  float64 // population standard deviation of the durations
	Eps    float64 // of its group; 0 in a rare cluster
	MinPts int
	Rare   bool // its group has fewer bursts than MinPts: one cluster without a density test
	// Call paths round its bursts, most frequent first, then by id. Empty where the input has none.
	Before, After []PathCount
	// Over the bursts where the counter was read, one per counter column; NaN where it never was.
	CounterMean, CounterStd []float64
}

// A PathCount says how many bursts touch a call path.
type PathCount struct {
	Path   uint32
	Bursts int
}

// A Group is a set of bursts that were clustered together.
type Group struct {
	Before, After uint32 // 0 under ByNone
	Bursts        int    // those clustered
	TimeNS        int64
	Eps           float64 // 0 if From is FromNone
	MinPts        int
	From          EpsFrom
	Knee          float64 // Eps at the knee of the k-distance curve; 0 if there is none or it was not sought
	Clusters      int
	Noise         int // bursts
}

// Compute clusters bursts.
func Compute(b Bursts, o Options) (*Result, error) {
	return nil, errors.New("partition: not built yet")
}

// DefaultResolution is the floor of Eps for the dimensions: 0.1 where one is ln(duration), since
// bursts within 10 % of measured time are not told apart, otherwise 0.02.
func DefaultResolution(dims []space.Dim) float64 { return 0 }
