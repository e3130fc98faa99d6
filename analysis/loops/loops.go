// Package loops compresses what threads did one after the other: level 2 of the detail ladder. Sequences of symbols
// become nested loops, whose size hardly depends on the number of iterations.
//
// In come, per thread, one symbol per burst (a number for each cluster and pair of surrounding calls), the duration of
// the burst and the time until the next one, both in nanoseconds. Out come bodies of loops that all threads share, and
// which of them each thread executes. The sequence of symbols can be rebuilt from that exactly, except where it was too
// long to keep (Sequence.Mixed, Unordered, Blurred); times are means and deviations by place in a body.
//
// Regular sections and their nesting are those of Noeth, Ratn, Mueller, Schulz and de Supinski, "ScalaTrace: Scalable
// compression and replay of communication traces for high-performance computing", JPDC 69 (2009); docs/design/levels.md
// describes how they are found. The package never changes its input, and its answer does not depend on the number of
// workers.
package loops

import (
	"moriens/analysis/moment"
	"moriens/internal/team"
)

// A Thread is what one thread did; the columns have one length.
type Thread struct {
	Symbols    []uint32 // dense from 0, of one table for all threads
	DurationNS []int64  // of each burst
	GapNS      []int64  // from each burst's end to the next one's start: MPI. Of the last: to the thread's end
}

// Options bound the answer.
type Options struct {
	// Items is about how many items all sequences together may have; 0 = DefaultItems. It is shared equally by the
	// different sequences, but each has LeastItems at least and MostItems at most. What exceeds its share is summed up.
	Items int
	// Ratio is how many times as many bursts as items a sequence has to have, if it has more than LeastItems: one that
	// does not get shorter carries little information, and is summed up. 0 = DefaultRatio, 1 = it need not get shorter.
	Ratio int
	// Coarse gives for each symbol one that stands for several alike, such as the bursts of all clusters between two
	// calls. Loops are looked for among these, and each different turn is kept once. A sequence that is too large
	// otherwise is kept in these: noise in the symbols then costs nothing. nil = there are none.
	Coarse  []uint32
	Workers int // that share the work; below 1 means 1
	// Team is who has which threads: a member gives the columns of its own, and gets the Structure of all. What several
	// members have of one sequence they all fold, and of that bodies and sums travel; sequences never do.
	Team team.Threads
}

// Limits of the size of a Structure, and defaults.
const (
	DefaultItems = 1 << 18
	LeastItems   = 64
	MostItems    = 4096
	DefaultRatio = 4
)

// A Structure is the loops of all threads of a run.
type Structure struct {
	Bodies    []Body     // inner ones before those that name them
	Sequences []Sequence // what different threads did, in the order of the first thread of each
	Of        []int32    // per thread: index into Sequences
	Limit     int        // of a sequence's items, by Options

	coarse []uint32
}

// A Body is what is done once.
type Body struct {
	Items  []Item
	Rounds int64 // how often all threads together did it
}

// An Item of a body is a symbol, some times in a row (Turns and Mixed are nil), or a loop (Turns), or what was summed
// up (Mixed), or both.
type Item struct {
	Symbol uint32
	Times  int64
	Turns  []Turn // in the order of time, unless Unordered
	// Unordered says that Turns were summed up: how often there was each is known, in which order is not.
	Unordered bool
	Mixed     []Count // beside Turns: what happened apart from them, in an order that is not known; by symbol
	// Of a symbol: how long its bursts were here, and what followed them, over all threads and all times round. Their N
	// are equal.
	Duration, Gap moment.Sum
}

// A Turn is a body, some times in a row.
type Turn struct {
	Body  int32
	Times int64
}

// A Count says how often there was a symbol.
type Count struct {
	Symbol        uint32
	Times         int64
	Duration, Gap moment.Sum
}

// A Sequence is the whole of what a thread did.
type Sequence struct {
	Root      int32 // index into Bodies
	Symbols   int64 // of one thread
	Mixed     int64 // of these: of which the number alone is known
	Unordered int64 // of these: in loops whose order of turns is not known
	Blurred   int64 // of these: kept as coarse symbols, and which symbol it was at each place is not known
	// Counts say how often there was each symbol, on one thread, where the sequence is kept in coarse symbols; else nil.
	Counts  []Count
	Threads int // that did it
}
