// Package phase sums up the phases of a run: named intervals of its threads, which nest. In come, per thread, the
// intervals and what the thread did, in nanoseconds; out come for each phase path its inclusive and exclusive time, in
// which phase each record lies with how much of its time, and what each instance of each phase took.
//
// A phase path is the names of a phase and of those round it. Path 0 is the program itself: a thread from its first
// record to its last. A phase directly in one of the same name has the same path, and is part of its instance.
//
// Everything is a whole number of nanoseconds, and nothing depends on the order of threads or on the number of workers:
// exclusive times of all paths add up to the program's, and records, pauses and what is not recorded add up to the
// exclusive time of their path. The package never changes its input.
//
// Source: Malony, Shende, Morris, "Phase-Based Parallel Performance Profiling" (ParCo 2005). There a phase has to be
// static or dynamic when it is measured; here each interval is known, and both are views of it.
package phase

// An Interval is a named part of a thread's time. Those of a thread are sorted by begin, the outer one first, and nest:
// two of them lie one inside the other or apart.
type Interval struct {
	Name           uint32
	Depth          int32 // 0 = outermost
	BeginNS, EndNS int64
	// Number is the number of the instance, from 0, of intervals that have none inside of the same path. Below 0: it is
	// the next one of its path on its thread.
	Number int32
}

// Records are what a thread did: columns in the order of time. Where records overlap, the later one loses the overlap.
type Records struct {
	EnterNS, ExitNS     []int64 // calls
	Calls               []int64 // how many each is; nil = one each
	StartNS, DurationNS []int64 // bursts
	// CountsIn has for each burst the interval in which it counts, -1 = none; nil: the one at its start.
	CountsIn []int32
	Pauses   []Span
}

// A Span is a part of time.
type Span struct{ BeginNS, EndNS int64 }

// A What is what a thread did in a part of its time.
type What uint8

// What threads do.
const (
	Call What = iota
	Burst
	Paused
	Unrecorded
)
