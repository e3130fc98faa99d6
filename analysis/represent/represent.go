// Package represent chooses what stands for a whole run: which threads, which stretches of time, and which of those fit
// a budget.
//
// In come plain slices: the sums of each thread (Ranks), when it entered and left the collective calls of all ranks
// (WaitsAt), and its bursts with the phases of iterations that were found in them (Run). Out come classes of threads
// that behave alike, each with an exemplar and outliers (Classify); windows that stand for the phases, and anomalies
// (Find); and the parts of those that fit so many bytes (Choose). Each choice carries its reason in words and figures.
// Times are ns, amounts bytes, threads are counted from 0 in the caller's order.
//
// The reduction of ranks to exemplars and outliers is that of Lee, Mendes and Kalé, "Towards scalable performance
// analysis and visualization through data reduction", HIPS'08.
//
// The package never changes its input, and its answers depend neither on the number of workers nor on the order of
// candidates.
package represent

import "strconv"

// Why says what something is kept for. The order is that of importance: what comes first is kept first.
type Why int

const (
	Representative Why = iota // stands for a phase, done by an exemplar of a class
	Outlier                   // the same windows, done by a thread that is unlike its class
	CriticalPath              // the same windows, done by a thread that the critical path of the run is on
	Anomaly                   // a window in which something unusual happened
	Peer                      // exchanges messages with a thread that is kept, in the same window
	Fallback                  // explains time that nothing else does: clusters in no other window, and all where there are no iterations
)

func (w Why) String() string {
	switch w {
	case Representative:
		return "representative"
	case Outlier:
		return "outlier"
	case CriticalPath:
		return "critical path"
	case Anomaly:
		return "anomaly"
	case Peer:
		return "peer"
	case Fallback:
		return "fallback"
	}
	return "Why(" + strconv.Itoa(int(w)) + ")"
}

// A Namer names a thread in reasons: "rank 5", "rank 5 thread 1", "world 1 rank 5". nil stands for "rank " and the
// index.
type Namer func(thread int) string

func (n Namer) name(thread int) string {
	if n == nil {
		return "rank " + strconv.Itoa(thread)
	}
	return n(thread)
}
