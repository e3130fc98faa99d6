// Package trace is the one in-memory model of a measured run: the collector builds it from the ranks' records, the
// formats below trace/ write it, and their readers return it.
//
// All times are nanoseconds since the run's time 0: the entry of the earliest MPI_Init or, in a trace that was read,
// the time 0 of its writer. Indices into the slices of a Run are 0-based; CallPath 0 and Module 0 stand for "unknown".
package trace

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"strings"
	"time"
)

// A Run is one launch under measurement, with one or more MPI worlds.
type Run struct {
	Start      time.Time // wall-clock time of time 0; zero where unknown
	DurationNS int64     // time 0 to the last rank's end
	Nodes      []Node
	Worlds     []World
	Threads    []Thread // sorted by world, rank, thread
	CallPaths  []CallPath
	PathNames  []string       // of CallPaths, as a file gave them; nil = Names makes them
	WholePaths bool           // a trace that others wrote: each call path is a place of its own, see Places
	Counters   []Counter      // the columns of every Bursts.Counters
	Clusters   []Cluster      // by time, descending; Clusters[i].ID is i+1
	MarkNames  []string       // of phases and events
	Code       []CodeFunction // that make the calls of CallPaths, as far as their machine code was read
	// The ways that bursts took through the steps of the refinement, "NODE STEP:NODE …": a node from the first step on,
	// and others from the steps with those numbers on, from 1. The first is empty: not known.
	Lineages []string

	Communicators []Communicator
	Messages      []Message // in the order of their logical send
	Traffic       *Traffic  // nil: what Threads and Messages show of what was moved is all that is known

	Windows []Window // what is kept in full detail, by begin; nil where nothing was dropped
}

// RankName distinguishes a rank from the others of the run, as people do: by its world too only where there are
// several.
func (r *Run) RankName(world, rank int) string {
	if len(r.Worlds) > 1 {
		return fmt.Sprintf("world %d rank %d", world, rank)
	}
	return fmt.Sprintf("rank %d", rank)
}

// ThreadName distinguishes a thread from the others of the run likewise: the first of a rank goes by the name of that.
func (r *Run) ThreadName(i int) string {
	t := &r.Threads[i]
	name := r.RankName(t.World, t.Rank)
	if t.Thread != 0 {
		name += fmt.Sprintf(" thread %d", t.Thread)
	}
	return name
}

// Bursts is how many there are of all threads.
func (r *Run) Bursts() int {
	n := 0
	for i := range r.Threads {
		n += r.Threads[i].Bursts.Len()
	}
	return n
}

// BurstColumns are columns of the bursts of all threads of a run, one thread's behind the other's.
type BurstColumns struct {
	DurationNS    []int64
	Before, After []uint32
	Counters      [][]int64 // one column per Run.Counters
}

// BurstColumns are the columns of the threads' bursts, copied into one of each.
func (r *Run) BurstColumns() BurstColumns {
	n := r.Bursts()
	c := BurstColumns{
		DurationNS: make([]int64, 0, n), Before: make([]uint32, 0, n), After: make([]uint32, 0, n), Counters: make([][]int64, len(r.Counters)),
	}
	for k := range c.Counters {
		c.Counters[k] = make([]int64, 0, n)
	}
	for i := range r.Threads {
		b := &r.Threads[i].Bursts
		c.DurationNS = append(c.DurationNS, b.DurationNS...)
		c.Before, c.After = append(c.Before, b.Before...), append(c.After, b.After...)
		for k, column := range b.Counters {
			c.Counters[k] = append(c.Counters[k], column...)
		}
	}
	return c
}

// Calls is how many there are of all threads.
func (r *Run) Calls() int {
	n := 0
	for i := range r.Threads {
		n += r.Threads[i].Calls.Len()
	}
	return n
}

// A Node is one host.
type Node struct {
	Name string
	CPUs int // 0 = unknown
}

// NodeName is the name of a node; one without has that of Paraver, by its place.
func (r *Run) NodeName(i int) string {
	if i < len(r.Nodes) && r.Nodes[i].Name != "" {
		return r.Nodes[i].Name
	}
	return fmt.Sprintf("NODE %d", i+1)
}

// A World is one MPI_COMM_WORLD: a launcher that starts two MPI programs makes two of them.
type World struct {
	Executable string // path; where ranks run different programs, all of them with ProgramSeparator between
	MPILibrary string
	Size       int // ranks that the MPI library reports, present in Threads or not
}

// ProgramSeparator stands between the programs of a world, as on the command line of mpiexec.
const ProgramSeparator = " : "

// ProgramName shortens a World's Executable to file names.
func ProgramName(executable string) string {
	programs := strings.Split(executable, ProgramSeparator)
	for i, p := range programs {
		programs[i] = path.Base(p)
	}
	return strings.Join(programs, ProgramSeparator)
}

// A Thread is one thread of one rank that called MPI.
type Thread struct {
	World, Rank, Thread int
	Node                int   // index into Run.Nodes
	BeginNS, EndNS      int64 // the thread's first call's entry and last call's exit
	Calls               Calls
	Bursts              Bursts
	Transfers           Transfers
	Collectives         Collectives
	Waits               Waits
	// The parts of its time in which the critical path of the run is on the thread, by begin, apart from each other; nil
	// in all threads: it is not known.
	Critical []Stretch

	Phases []Phase // by begin, the outer one first
	Events []Event // by time
	Pauses []Pause // by begin
	// What was counted until phases began and ended inside of bursts; empty where that was not read.
	Readings Readings
	Lost     []Span // by begin: between two calls, others for which there was no room

	// What of the thread's time is here, by begin, apart from each other; all of it where the run has no windows.
	Kept []Span
}

// Name distinguishes a thread from the others of its run.
func (t *Thread) Name() string {
	return fmt.Sprintf("world %d rank %d thread %d", t.World, t.Rank, t.Thread)
}

// Untimed reports whether there is no time at which the thread ran, and no order of what it did: it is known as totals
// only.
func (t *Thread) Untimed() bool { return t.BeginNS == 0 && t.EndNS == 0 }

// Calls are the outermost MPI calls of a thread, one a row, in time order; all columns have one length. A row
// can also be a run of polls: calls of one function from one place that follow each other at once and find
// nothing, from the first one's entry to the last one's exit.
type Calls struct {
	EnterNS, ExitNS []int64
	Path            []uint32 // index into Run.CallPaths
	Count           []int64  // how many calls a row stands for; nil where each is one
	Unfinished      bool     // the process ended inside the last call, whose exit is the thread's end
}

// Len returns the number of rows.
func (c *Calls) Len() int { return len(c.EnterNS) }

// Bursts are the computation bursts of a thread, in time order; all columns have one length.
// A burst is the time between two MPI calls that follow each other on the thread.
type Bursts struct {
	StartNS, DurationNS []int64
	Before, After       []uint32  // call paths round the burst, indices into Run.CallPaths
	Cluster             []int32   // a Cluster's ID, one of the Label constants, or 0 where nothing clustered them
	Kind                []int32   // likewise: the cluster that stands for the burst's kind of computation; nil where that is Cluster. See Kinds.
	Counters            [][]int64 // one column per Run.Counters; NoCount where a burst lacks the value
	Weight              []float64 // how many bursts each stands for; nil where each stands for itself
	Lineage             []uint32  // index into Run.Lineages; nil where none is known
	Phase               []int32   // index into the thread's Phases of the innermost one, -1 = none; nil where it has none
	InCalls             InCalls   // what of Counters was counted in calls; only traces that were read have it
}

// InCalls are what of the counters of some bursts was counted in calls of 0 ns at their ends.
type InCalls struct {
	Burst    []uint32  // ascending
	Counters [][]int64 // one column per Run.Counters; NoCount where nothing was counted
}

// Of is what was counted in calls: 0 where nothing was.
func (c *InCalls) Of(i, counter int) int64 {
	if n := c.Counters[counter][i]; n != NoCount {
		return n
	}
	return 0
}

// NoCount stands in a counter column for a value that was not measured.
const NoCount int64 = math.MinInt64

// Len returns the number of bursts.
func (b *Bursts) Len() int { return len(b.StartNS) }

// Kinds are the kinds of computation that the bursts are. One differs from the cluster where the cluster is a variant
// of another, and where the burst is a disturbed one of its kind.
func (b *Bursts) Kinds() []int32 {
	if b.Kind == nil {
		return b.Cluster
	}
	return b.Kind
}

// Labels of bursts that are in no cluster.
const (
	LabelNoise    int32 = -1 // clustered, but in no dense region
	LabelFiltered int32 = -2 // shorter than the duration filter, or out of a range
	LabelMissing  int32 = -3 // lacks a counter that a dimension needs
)

// A Counter is one column of counter values.
type Counter struct {
	Name string // e.g. PAPI_TOT_INS
	Unit string // e.g. instructions; empty where unknown
}

// A Communicator is a group of ranks of one world, or a window or a file that they have opened together; an
// intercommunicator names no ranks. One that reaches over several worlds is one in each.
type Communicator struct {
	World  int
	ID     int64 // 1, 2, …
	Inter  bool
	Window bool
	File   bool
	Ranks  []int // world ranks in the order of the communicator, those of its world
}

// A Message is one point-to-point transfer. The logical times are those of the calls that posted it: the entry of
// the send, the entry of the receive, or of the matched probe that took it. The physical ones are those of the
// data: when they may have left, and the exit of the call that completed the receive, when they are known to be there.
// A source that knows only one of them gives it twice.
type Message struct {
	From, To               int // indices into Run.Threads
	SendNS, PhysicalSendNS int64
	RecvNS, PhysicalRecvNS int64
	Bytes, Tag             int64
	// LateNS is how long the call that completed the receive was inside MPI before the send was called: the sender was
	// late. It is as true as the clocks of the two nodes agree.
	LateNS int64
}

// Compare gives the order in which a Run has its messages, which does not depend on who has found them.
func (m Message) Compare(o Message) int {
	return cmp.Or(cmp.Compare(m.SendNS, o.SendNS), cmp.Compare(m.From, o.From), cmp.Compare(m.To, o.To), cmp.Compare(m.RecvNS, o.RecvNS),
		cmp.Compare(m.PhysicalRecvNS, o.PhysicalRecvNS), cmp.Compare(m.Tag, o.Tag), cmp.Compare(m.Bytes, o.Bytes), cmp.Compare(m.LateNS, o.LateNS),
		cmp.Compare(m.PhysicalSendNS, o.PhysicalSendNS))
}

// A Cluster is a group of bursts that behave alike.
type Cluster struct {
	ID     int32 // 1, 2, … by total time, descending
	Bursts int
	TimeNS int64   // total duration of its bursts
	Share  float64 // of the computing time of all bursts, filtered ones included, 0–1
	MeanNS float64 // mean duration
	StdNS  float64 // standard deviation of the durations (population)
	Eps    float64 // in units of the transformed dimensions; 0 in a rare cluster
	MinPts int
	Rare   bool // its group had fewer bursts than MinPts: one cluster without a density test
	// How far the threads do it at the same time: 1 if all do wherever one does. 0 = not defined or not known.
	Score float64
	Kinship
	Costs *Costs // nil = not known
	// Places of the calls round its bursts, most frequent first.
	Before, After []PathCount
	// Whole call paths of these calls, the most frequent ones; nil = not known.
	WholeBefore, WholeAfter []PathCount
	// One per Run.Counters.
	CounterMean, CounterStd []float64
}

// Kind is the ID of the cluster that stands for its kind of computation: its own, or that of the one of which it is a
// variant.
func (c *Cluster) Kind() int32 { return cmp.Or(c.VariantOf, c.ID) }

// Costs are what a cluster costs the run. NaN: not known.
type Costs struct {
	LostNS          float64 // the most that a location spends in it, less the mean
	CausedNS        float64 // waits of other ranks, summed over them
	PathNS          float64 // on the critical path
	PathImbalanceNS float64 // of that, what is more than the mean over the locations
}

// A Stretch is a part of the run's time.
type Stretch struct{ BeginNS, EndNS int64 }

// A Kinship is what is known of a cluster as a kind of computation; zero where nothing is.
type Kinship struct {
	VariantOf int32   // the cluster in whose place it comes by chance; 0 = it is a kind of its own
	MedianNS  float64 // of the durations, right to a thousandth; 0 = nothing is known
	Core      float64 // half the quartile range of the durations over their median
	// How far its place predicts whether a burst is of this kind or of the next one, 0–1; below 0: nothing does, or it is
	// a variant.
	Predicted    float64
	Valley       float64 // the density between it and the next cluster over that of its peak, 0–1; below 0: there is no other
	DistinctBy   string  // what distinguishes it from the nearest other kind: a word of kinds.Cause; "" = not known
	DistinctFrom int32   // the number of that kind, or of the cluster in whose place a variant comes; 0 = none
	Why          string  // both, in words
	InTime       Stretch // nearly all of its bursts lie in it, though those of DistinctFrom do elsewhere; zero = there is no such stretch
	// All bursts of the kind, whatever their cluster; 0 in a variant.
	KindBursts int
	KindNS     int64
	// Bursts of the kind that are longer than its median, and are of it by their place, not by density; how much longer
	// than the median they are together.
	DisturbedBursts      int
	DisturbedNS, ExtraNS int64
}

// Known reports whether anything is.
func (k *Kinship) Known() bool { return k.MedianNS > 0 }

// A PathCount says how many bursts of a cluster touch a call path.
type PathCount struct {
	Path   uint32
	Bursts int
}
