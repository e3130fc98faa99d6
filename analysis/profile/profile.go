// Package profile sums up a whole run: level 1 of the detail ladder.
//
// In come, per thread, its bursts in the order of time with their clusters and counters, its MPI calls with their
// bytes, and the phases of iterations. Out come exact sums: per thread, call path, cluster and region (computation),
// per thread, call path and region (MPI); per cluster the distribution of durations; and per phase the time of each
// iteration. Times are nanoseconds, amounts bytes, counters in their own units.
//
// The package never changes its input. Everything is added up as whole numbers, so that no figure depends on the order
// of the threads or on the number of workers.
package profile

import (
	"math"

	"moriens/analysis/moment"
	"moriens/analysis/phase"
	"moriens/internal/team"
)

// NotRead stands in a counter column for a value that was not measured.
const NotRead int64 = math.MinInt64

// A Thread is what one thread did. The columns of its bursts have one length, and so have those of its calls.
type Thread struct {
	StartNS, DurationNS []int64
	After               []uint32    // the call path that ends each burst
	Cluster             []int32     // 1…: a cluster; 0 and below: in none, and why
	OfKind              []int32     // the cluster that stands for each burst's kind, labels like those; nil = clusters are kinds
	Region              []int32     // the phase path in which each counts (analysis/phase); nil = all in 0, the program
	Cuts                []phase.Cut // of bursts that are not all in that; by burst
	Context             []int32     // frames that each lies in, of the call path that ends it; nil = not known
	Counters            [][]int64   // one column per counter of the run, NotRead where a value is missing
	Readings            Readings
	Calls               Calls
	Phases              []Phase // of iterations, the same ones for all threads of a run; nil = not known
}

// Readings are what bursts of a thread had counted at moments in them, since their begin: what a burst that is cut
// there has counted is not shared by time. All columns have one length; without readings there are none.
type Readings struct {
	NS       []int64   // ascending; of several at one moment the last one counts
	Counters [][]int64 // as Thread.Counters
}

// Calls are MPI calls, one record a row.
type Calls struct {
	Path            []uint32
	EnterNS, ExitNS []int64
	Count           []int64     // how many calls a record stands for; nil = one each
	Region          []int32     // as of bursts, and
	Cuts            []phase.Cut // likewise
	Phase           []int32     // index of the phase of iterations, -1 = none; nil = none
	Sent, Received  []int64     // bytes; nil = not known
}

// A Phase is what a thread has of a phase of iterations, as analysis/period finds them.
type Phase struct {
	From, To int32   // its bursts, From ≤ i < To
	Begins   []int32 // the burst at which each iteration begins, and the end of the last; empty = none
}

// Options say how to sum up.
type Options struct {
	Counters int // columns that every thread has
	Buckets  int // of a histogram; 0 = DefaultBuckets
	Points   int // of a curve at most; 0 = DefaultPoints
	Workers  int // that share the work; below 1 means 1
	// Team is who has which threads. A member gives Phases of all of them, and the rest of its own; the Profile is that of
	// the whole run at all members.
	Team team.Threads
	// Fill, if there is one, gives a thread what it lacks yet, but for Phases, before its rows are summed, and returns
	// what lets that go behind it: of a long run it is too much to have of all threads at once.
	Fill func(i int, t *Thread) (done func())
}

// Defaults of Options.
const (
	DefaultBuckets = 40
	DefaultPoints  = 4096
)

// A Profile is the sum of a run.
type Profile struct {
	Rows       []Row       // by thread, kind, path, cluster, kind of computation, region, phase
	Histograms []Histogram // by cluster, ascending; those of labels below 1 first
	Kinds      []Histogram // by kind of computation, likewise
	Curves     []Curve     // by phase; of phases without iterations an empty one
}

// A Kind says what a row is about.
type Kind uint8

// The kinds of rows.
const (
	Computation Kind = iota // bursts
	MPI                     // calls
)

// A Key says whose sum a row is.
type Key struct {
	Thread  int32
	Kind    Kind
	Path    uint32 // of a burst: the call that ends it
	Cluster int32  // of a burst
	OfKind  int32  // of a burst: the cluster that stands for its kind
	Context int32  // of a burst: how many of the outermost frames of Path it lies in; -1 = not known
	Region  int32  // phase path
	Phase   int32  // index of the phase of iterations; -1 = none
}

// A Row is the sum of the bursts or calls of one key.
type Row struct {
	Key
	Count          int64      // bursts or calls that count in the region
	Time           moment.Sum // of these as a whole: of N records, fewer than Count where a record stands for several polls
	MovedNS        int64      // what the region has of records that count in others, less what others have of its own
	EstimatedNS    int64      // time in the region of bursts that are not all in one, unless all that they counted was read at its borders
	Sent, Received int64      // bytes
	Counters       []Counter  // of computation, one per counter
}

// A Counter is one counter over the bursts of a row.
type Counter struct {
	moment.Sum       // of the values that were read
	MovedTotal int64 // what the region has of bursts that count in others, less what others have of its own
	Missing    int64 // bursts without a value
}

// NS is the time of the row: what the region has of all records.
func (r *Row) NS() int64 { return r.Time.Total + r.MovedNS }

// A Histogram says how the durations of a cluster's bursts are distributed: in buckets of equal width in ln(duration),
// from the shortest to the longest. A duration of 0 counts as 1 ns.
type Histogram struct {
	Cluster      int32   // or a kind
	MinNS, MaxNS int64   // bounds of the buckets
	Count        []int64 // per bucket; one bucket where all durations are equal
	TimeNS       []int64 // per bucket
}

// A Curve is the time of the iterations of a phase.
type Curve struct {
	Iterations int
	Group      int     // iterations that a point stands for, the last point for what is left
	Threads    int     // that have iterations
	Computing  []int64 // ns per point: of all threads and all iterations of the group, in bursts
	Elapsed    []int64 // ns per point: likewise, from each iteration's begin to the next one's
}
