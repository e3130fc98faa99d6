// Package efficiency measures what a run makes of its processors: the factors of POP (parallel efficiency, load
// balance, communication efficiency), the seconds that each of them costs, and the same for parts of the run.
//
// In come, per location, its life, bursts and calls, and which parts of its time belong to which region. A location is
// a thread that called MPI. Out come, for each region, exact sums of each location, and from them the factors:
//
//	T               elapsed time of the region, the same for all locations
//	U               computing time of a location in the region
//	parallel        mean(U)/T = balance · communication
//	balance         mean(U)/max(U) = balance in nodes · balance between nodes
//	communication   max(U)/T
//
// The form is Local → Merge → Solve: Local adds up the locations that a member of the team has, Merge makes the sums
// known to all members, Solve needs the sums alone. All sums are whole numbers of nanoseconds or of counts, so that no
// figure depends on the order of locations, on workers, or on members. docs/efficiency.md has definitions and sources.
package efficiency

import "math"

// NotRead stands in a counter column for a value that was not measured.
const NotRead int64 = math.MinInt64

// A Span is a part of a location's time.
type Span struct{ BeginNS, EndNS int64 }

// A Location is what one thread did. Bursts and calls are in the order of time, and no two of them overlap.
type Location struct {
	Life                 Span // from its first to its last record
	StartNS, DurationNS  []int64
	Cluster              []int32  // of bursts: 1…, or in none
	Kind                 []int32  // likewise: the cluster that stands for what a burst computes; nil = Cluster
	Instructions, Cycles []int64  // of bursts, NotRead where a value is missing; nil = not counted
	EnterNS, ExitNS      []int64  // of calls
	Parts                [][]Span // of each region: what is in it of this location, by begin, apart from each other
	Loops                []Loop   // of each phase of iterations
}

// A Loop is what a location has of a phase of iterations: when each iteration begins, and the end of the last; empty:
// none of them.
type Loop struct{ BeginsNS []int64 }

// A Sum is what one location did in a region.
type Sum struct {
	ElapsedNS   int64 // of its parts
	LifeNS      int64 // of these, while the location lived
	ComputingNS int64
	MPINS       int64
	Counted
}

// Counted is what bursts have counted. A burst that is in a region in part has the same part of its counts there.
type Counted struct {
	Instructions, InstructionsNS int64 // of bursts that have them, and the time of these
	Cycles, CyclesNS             int64
	BothInstructions, BothCycles int64 // of bursts that have both
}

// Add adds what other bursts have counted.
func (c *Counted) Add(o *Counted) {
	c.Instructions += o.Instructions
	c.InstructionsNS += o.InstructionsNS
	c.Cycles += o.Cycles
	c.CyclesNS += o.CyclesNS
	c.BothInstructions += o.BothInstructions
	c.BothCycles += o.BothCycles
}

// Totals are what the bursts of many locations have counted. Counts are floats: a week on ten thousand cores has more
// instructions than an int64 holds.
type Totals struct {
	Instructions, Cycles         float64
	InstructionsNS, CyclesNS     int64
	BothInstructions, BothCycles float64
}

// Add adds what a location has counted.
func (t *Totals) Add(c *Counted) {
	t.Instructions += float64(c.Instructions)
	t.InstructionsNS += c.InstructionsNS
	t.Cycles += float64(c.Cycles)
	t.CyclesNS += c.CyclesNS
	t.BothInstructions += float64(c.BothInstructions)
	t.BothCycles += float64(c.BothCycles)
}

// IPC is the number of instructions per cycle; NaN where nothing was counted.
func (t *Totals) IPC() float64 { return t.BothInstructions / nonzero(t.BothCycles) }

// Hertz is the frequency of the processors while they computed; NaN where cycles were not counted.
func (t *Totals) Hertz() float64 { return t.Cycles / nonzero(float64(t.CyclesNS)) * 1e9 }

// extrapolated is what all of a computing time has counted: where some bursts lack the value, they count like the
// others. NaN: not counted.
func extrapolated(count float64, countedNS, computingNS int64) float64 {
	if countedNS == computingNS && count != 0 {
		return count
	}
	return count / nonzero(float64(countedNS)) * float64(computingNS)
}

// ratio is NaN where the whole is nothing.
func ratio(part, whole int64) float64 {
	if whole == 0 {
		return math.NaN()
	}
	return float64(part) / float64(whole)
}

// A ClusterSum is what one location has of a cluster in a region.
type ClusterSum struct {
	Location int32
	Cluster  int32
	Bursts   int64
	TimeNS   int64
	Counted
}

// Sums are what Local makes and Merge completes.
type Sums struct {
	Regions  [][]Sum          // by region, location
	Clusters [][][]ClusterSum // by region and location, of the first regions: by cluster
	Kinds    [][]ClusterSum   // by location, of the first region: by kind; nil: kinds are clusters
	Loops    []LoopSum        // by phase of iterations
}

// A LoopSum has one entry for each iteration of a phase, but for LatestNS, which has the end of the last one too.
type LoopSum struct {
	Locations   int64   // that have iterations
	LatestNS    []int64 // begin of the iteration on the location that begins it last
	ComputingNS []int64 // of all locations
	LongestNS   []int64 // of the location that computes most
}
