// Package period finds the iterations of a run: the phases in which its threads repeat what they do, where each
// iteration begins on every thread, and the loops within an iteration.
//
// In come, per thread, its bursts in time order: a symbol each (one number for each cluster and pair of surrounding
// calls), begin and duration in nanoseconds, and the anchors, which are the collective calls that all threads make. Out
// come the phases in the order of time; together they cover every burst once. A stretch without iterations is a phase
// with none.
//
// The input is never changed. The answer depends neither on the number of workers nor on how symbols are numbered.
// docs/design/periods.md describes the method, its sources, and its limits.
package period

import "moriens/internal/team"

// A Thread is what one thread did. Threads may have any number of bursts and of anchors, or none.
type Thread struct {
	// Symbols has one number per burst, equal where cluster, call before and call after are equal. The numbers of all
	// threads of a run are from one table, dense from 0.
	Symbols    []uint32
	BeginNS    []int64 // per burst, ascending
	DurationNS []int64 // per burst, ≥ 0
	// Anchors[k] says how many of the thread's bursts are before the k-th anchor, not descending. A thread that ended
	// early has the first few only.
	Anchors []int32
}

// Options are what the caller may choose.
type Options struct {
	Workers int // that share the work; below 1 means 1
	// Calls has for each symbol the number of its pair of surrounding calls, dense from 0: symbols that differ in their
	// cluster alone have the same. Where clusters are noisy, periods show in the calls alone. nil: only symbols are known.
	Calls []uint32
	// Team says who has which threads. A member gives its own threads, and gets the result for all. Symbols and durations
	// of a thread are sent to members with threads that did the same. The one thread whose phases are taken for the run's
	// is sent to all. Nothing else is sent.
	Team team.Threads
}

// A Result is what was found.
type Result struct {
	Phases   []Phase // in the order of time
	Warnings []string
}

// A Phase is a part of the run: iterations of one kind, or a stretch without.
type Phase struct {
	// FromAnchor is the last anchor at or before the phase's first burst on all threads, -1 where that is the begin of the
	// run. ToAnchor is the first at or after its last burst on all threads; the number of anchors where that is the end of
	// the run.
	FromAnchor, ToAnchor int
	Iterations           int  // 0: a stretch without
	ByCalls              bool // iterations were found by the calls alone (Options.Calls), and then compared by the symbols
	// IterationAnchors are the anchors at which the iterations begin, and the one that ends the last: Iterations+1 of
	// them, where -1 and the number of anchors are as above. nil: iterations begin at no anchors, and threads agree by
	// counting alone.
	IterationAnchors []int32
	Threads          []Loop // by thread
	// Period is the number of bursts of an iteration: the median over the threads' medians.
	Period int
	// Agreement is the share of the bursts of iterations that are what their place in the iteration has on most others of
	// the same thread, loops within counted once, 0 to 1: the mean over threads, weighted by bursts.
	Agreement float64
	// Correlation is the autocorrelation, at one iteration, of the signal of burst durations (-1 to 1) on the thread that
	// the phase was found on, after inner loops are summed up; NaN where durations do not vary.
	Correlation float64
	// IterationNS has for each iteration the time from its begin on the first thread to its end on the last; where they
	// are matched by counting, the longest of the threads' own.
	IterationNS []int64
	MedianNS    int64   // of IterationNS
	Inner       []Inner // loops within the iteration, on the thread that the phase was found on, in the order of their place
	Reason      string  // in words and figures: why these are iterations, or why there are none
}

// A Loop is what one thread has of a phase.
type Loop struct {
	From, To int32 // its bursts of the phase: From ≤ i < To
	// Begins are the bursts at which the iterations begin, and the end of the last: Iterations+1 of them; empty: the
	// thread has none of them. An iteration that a thread lacks, or that lost its records, begins where the next one does.
	Begins    []int32
	Period    int     // bursts of an iteration, median
	Agreement float64 // as in Phase
	Inner     []Inner // loops within the iteration, in the order of their place
}

// An Inner is a loop within an iteration, which at least half of them have.
type Inner struct {
	Offset             int // bursts from the iteration's begin to the loop's first, median
	Period             int // bursts of one trip, median
	Trips              int // median
	MinTrips, MaxTrips int
	Share              float64 // of the iterations that have it; of a loop within a trip, of the trips
	Inner              []Inner // loops within a trip
}
