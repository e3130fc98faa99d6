// Package sample draws the bursts that stand for those that are dropped, with a weight each.
//
// In come, per thread, the clusters and durations of its bursts (ns), its class, and which of them are kept anyway. Out
// come the numbers of the bursts drawn, each with a weight. Kept bursts stand for themselves, with weight 1, and are
// not drawn. The weights of the bursts of a stratum (a thread's bursts of a cluster, outside what is kept) add up
// exactly to their number, and the sum of weight times duration estimates their time without bias: within a stratum all
// bursts have the same chance (Cochran, Sampling Techniques, 3rd ed., chapters 2 and 5).
//
// Chance is a hash of the thread's key and the burst's number: the same bursts are drawn with any number of workers and
// in any order of the threads.
package sample

import "moriens/internal/team"

// A Thread is what is known of one thread's bursts, in the order of time.
type Thread struct {
	Key        uint64 // distinguishes threads, e.g. world, rank and thread in one number
	Class      int32  // threads of one class behave alike
	Cluster    []int32
	DurationNS []int64
	Kept       []Range // bursts that are kept, ascending and apart
}

// A Range is the bursts From ≤ i < To.
type Range struct{ From, To int32 }

// Options say how many to draw.
type Options struct {
	Rows    int // bursts to draw at most, kept ones not counted
	Workers int // that share the work; below 1 means 1
	// Team is who has which threads. A member gives Key and Class of all of them, and the rest of its own; the Sample is
	// that of the whole run at all members.
	Team team.Threads
}

// A Stratum says of what the weights are exact.
type Stratum uint8

// Strata: the finest is taken of which each can have a burst.
const (
	ByThread  Stratum = iota // each thread's bursts of each cluster
	ByClass                  // those of all threads of a class
	ByCluster                // those of all threads
	Nothing                  // not even that: no burst is drawn
)

// A Sample is what was drawn.
type Sample struct {
	Threads []Drawn // by thread
	By      Stratum
	// BySize says that strata are divided further, by powers of four of the duration: rare bursts that are long, such as a
	// start-up, have a stratum of their own then, and are drawn for certain.
	BySize bool
	Strata int
	Rows   int   // drawn
	Of     int64 // bursts that they stand for: all that are not kept, or none
	// Relative standard error to expect of the time of all bursts, kept ones aside, estimated from the weights; 0 where
	// all bursts were drawn.
	Error float64
}

// Drawn are bursts of one thread.
type Drawn struct {
	Bursts []int32 // ascending
	Weight []int64 // how many bursts each stands for, itself included
}
