// Package fidelity computes the reconstruction error of a reduced run: it rebuilds the run from what was kept and
// compares it with the exact sums.
//
// In come the exact profile (level 1, nanoseconds), the symbols of each thread (level 2: a kind and the calls around
// it), and the bursts that were kept. The bursts of a kind have parts, each with its own mean: the core, which is the
// cluster that stands for the kind, each variant, and the disturbed bursts, wherever density puts these. The number of
// each part per thread is known exactly, so that the parts are weighted by it (post-stratification: Cochran, Sampling
// Techniques, 3rd ed., section 5A.9). The time of a thread's bursts of a symbol is rebuilt as their number, of level 2,
// times the mean duration of bursts like them, part by part:
//
//   - of the symbol in kept windows: of the thread itself, else of its class, else of all;
//   - of the kind there, likewise;
//   - by weights, of kept windows and sample together: of the thread if the weights add up to its bursts, else of its
//     class if they do there, else of all.
//
// A window holds few bursts, and by chance few or many disturbed ones. So where windows and weights disagree about a
// kind, its parts are rebuilt by weights, starting with those that differ most for their time, until the remaining
// difference is at most the share agreed of the kind's time: if weights are right, windows are then hardly more wrong
// than that. Bursts of no kind have nothing in common and are rebuilt by weights: a single long one, such as a
// start-up, determines their mean. In the curves, which describe the many, the geometric mean of those between the same
// calls stands for each of these.
//
// The times of level 1 serve for comparison only. Out come relative errors, 0 = none, 1 = all of it, and distances
// between distributions. The package never changes its input.
package fidelity

import "moriens/analysis/profile"

// Input is a run, whole and reduced.
type Input struct {
	Exact    *profile.Profile
	Counters int      // of the run
	Clusters []int32  // of the symbols, by symbol: those that stand for their kinds
	Threads  []Thread // by thread
	Phases   []Phase  // of iterations, as in Exact.Curves; nil = no curves are compared
}

// A Thread is what was kept of one thread.
type Thread struct {
	Class int32 // threads of one class behave alike
	// Sequence are the symbols of its bursts as level 2 has them, in the order that it knows.
	Sequence []uint32
	Kept     Bursts // in kept windows
	Sample   Bursts // outside
}

// Bursts are some bursts, a row each; the columns have one length.
type Bursts struct {
	Symbol     []uint32
	Cluster    []int32 // as of the rows of the profile; nil = that of the symbol
	DurationNS []int64
	Counters   [][]int64 // profile.NotRead where a value is missing
	Weight     []float64 // how many bursts each stands for; nil = one
}

// A Phase gives, per thread, the bursts at which the iterations of a phase begin, and the end of the last; empty =
// none.
type Phase struct{ Begins [][]int32 }

// A Result is the reconstruction error of the reduced run. All figures are finite.
type Result struct {
	// Windows is the run rebuilt from level 2 and the kept windows, and from the sample only where no window has bursts
	// alike.
	Windows Errors
	// Weighted is the run as the kept bursts give it by their weights, windows and sample together. It has no curves.
	Weighted Errors
	Sources  Sources
	Inside   float64 // share of the computing time that is in the bursts of kept windows
}

// Sources says what the mean durations of Windows are from, as shares of the exact computing time; within a thread's
// bursts of one cluster by their number.
type Sources struct {
	Thread  float64 // kept windows of the thread itself
	Class   float64 // those of its class
	Run     float64 // those of any thread
	Sample  float64 // the sample
	Nothing float64 // clusters without any kept burst: their time is lacking
}

// Represented is the share of the computing time in bursts of which kept windows have others alike.
func (s Sources) Represented() float64 { return s.Thread + s.Class + s.Run }

// Errors compare a rebuilt run with the exact one. A relative error is |rebuilt - exact| / exact; where exact is 0, 0
// or 1.
type Errors struct {
	ExactNS   int64 // computing time
	RebuiltNS float64
	Time      float64   // relative error of that
	Clusters  []Cluster // of kinds, by label, ascending; those of none (below 1) first
	Worst     int32     // the cluster, of those from 1 on, with the largest error of time; 0 = there is none
	WorstTime float64   // that error
	Counters  []float64 // relative error of each counter's sum over the run
	Curves    []Curve   // by phase of iterations
	Threads   []Time    // by thread; none where it is taken by weights
}

// A Time compares computing times.
type Time struct {
	ExactNS   int64
	RebuiltNS float64
}

// Error is the relative one.
func (t Time) Error() float64 { return relative(t.RebuiltNS, float64(t.ExactNS)) }

// A Cluster compares the bursts of one cluster, with those of its kind.
type Cluster struct {
	Label       int32
	ExactNS     int64
	RebuiltNS   float64
	Time        float64   // relative error of the time
	Counters    []float64 // relative error of each counter's sum
	Wasserstein float64   // distance 1 between the distributions of ln(duration): .01 = durations are off by 1 % on average
	Kolmogorov  float64   // largest difference of the distribution functions, 0 to 1
}

// A Curve compares the computing time of the iterations of a phase, point by point of profile.Curve.
type Curve struct {
	Points int     // 0: the phase has no iterations
	Mean   float64 // mean error of a point, as a share of the mean exact point
	Worst  float64 // the largest one, likewise
	At     int     // iteration at which that point begins
}
