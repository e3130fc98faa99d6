package parquet

import (
	"io"

	pq "github.com/parquet-go/parquet-go"
)

// What a row of instances.parquet is about: docs/format/instances.md.
const (
	InstanceWhole       = "whole"       // the instance itself
	InstanceComputation = "computation" // bursts of a cluster in it
	InstanceMPI         = "mpi"         // calls of a function in it
	InstancePaused      = "paused"      // recording was paused
	InstanceUnrecorded  = "unrecorded"  // there is no record
)

// An InstanceRow is what an instance of a phase, or some instances that follow each other, has of one thing: over all
// threads that have the instance, or of one thread.
type InstanceRow struct {
	What       string
	InPhase    bool   // of a phase; else of the program itself, or of an iteration
	Phase      string // its path (trace.PhasePath)
	Iterations int32  // index of a phase of iterations that were found, whose iteration it is; -1 = of a phase of the program
	Instance   int64  // number of the first, from 0
	Instances  int64  // how many the row is of
	Function   string // of mpi
	Cluster    int32  // of computation: the cluster that stands for the kind of the bursts, or why they are of none

	OfThread            bool  // of one thread; else over threads
	World, Rank, Thread int32 // of one thread

	Count int64 // threads that have one of the instances; of one thread 1
	Calls int64 // calls or bursts; of whole: intervals, with those in an interval of the same phase
	// Times of threads: with what lies in phases within; DirectNS without.
	SumNS, LeastNS, MostNS          int64
	SquaresNS2                      float64
	DirectNS                        int64
	MostWorld, MostRank, MostThread int32 // which thread had MostNS: the first
	LongestNS, LongestInstance      int64 // of whole: the longest instance of the row on one thread, and its number

	// Timed says that BeginNS and EndNS are known: when the first thread begins the first instance of the row, and the
	// last one ends the last, on the clock of the run. Rows of whole over threads have them, in files that have the
	// columns.
	Timed          bool
	BeginNS, EndNS int64
}

func (r *InstanceRow) whole() bool  { return r.What == InstanceWhole }
func (r *InstanceRow) single() bool { return r.OfThread }
func (r *InstanceRow) spread() bool { return !r.OfThread }

// instanceColumns are all columns, in their order.
func instanceColumns() []column[InstanceRow] {
	inPhase := textColumn("phase", &pq.RLEDictionary, func(r *InstanceRow) bool { return r.InPhase }, func(r *InstanceRow) *string { return &r.Phase })
	inPhase.then = func(r *InstanceRow) { r.InPhase = true }
	rank := int32Column("rank", (*InstanceRow).single, func(r *InstanceRow) *int32 { return &r.Rank })
	rank.then = func(r *InstanceRow) { r.OfThread = true }
	timed := func(r *InstanceRow) bool { return r.Timed }
	begin := int64Column("begin_ns", unitTime, timed, func(r *InstanceRow) *int64 { return &r.BeginNS })
	end := int64Column("end_ns", unitTime, timed, func(r *InstanceRow) *int64 { return &r.EndNS })
	end.then = func(r *InstanceRow) { r.Timed = true }
	return []column[InstanceRow]{
		textColumn(columnOfWhat, &pq.RLEDictionary, nil, func(r *InstanceRow) *string { return &r.What }),
		inPhase,
		int32Column("iterations", func(r *InstanceRow) bool { return r.Iterations >= 0 }, func(r *InstanceRow) *int32 { return &r.Iterations }),
		int64Column("instance", "", nil, func(r *InstanceRow) *int64 { return &r.Instance }),
		int64Column("instances", "", nil, func(r *InstanceRow) *int64 { return &r.Instances }),
		textColumn("function", &pq.RLEDictionary, func(r *InstanceRow) bool { return r.What == InstanceMPI }, func(r *InstanceRow) *string { return &r.Function }),
		int32Column("cluster", func(r *InstanceRow) bool { return r.What == InstanceComputation }, func(r *InstanceRow) *int32 { return &r.Cluster }),
		int32Column("world", (*InstanceRow).single, func(r *InstanceRow) *int32 { return &r.World }),
		rank,
		int32Column("thread", (*InstanceRow).single, func(r *InstanceRow) *int32 { return &r.Thread }),
		int64Column("count", "", nil, func(r *InstanceRow) *int64 { return &r.Count }),
		int64Column("calls", "", nil, func(r *InstanceRow) *int64 { return &r.Calls }),
		int64Column("sum_ns", unitTime, nil, func(r *InstanceRow) *int64 { return &r.SumNS }),
		int64Column("direct_ns", unitTime, nil, func(r *InstanceRow) *int64 { return &r.DirectNS }),
		int64Column("least_ns", unitTime, (*InstanceRow).spread, func(r *InstanceRow) *int64 { return &r.LeastNS }),
		int64Column("most_ns", unitTime, (*InstanceRow).spread, func(r *InstanceRow) *int64 { return &r.MostNS }),
		int32Column("most_world", (*InstanceRow).spread, func(r *InstanceRow) *int32 { return &r.MostWorld }),
		int32Column("most_rank", (*InstanceRow).spread, func(r *InstanceRow) *int32 { return &r.MostRank }),
		int32Column("most_thread", (*InstanceRow).spread, func(r *InstanceRow) *int32 { return &r.MostThread }),
		doubleColumn("squares_ns2", "ns2", (*InstanceRow).spread, func(r *InstanceRow) *float64 { return &r.SquaresNS2 }),
		int64Column("longest_ns", unitTime, (*InstanceRow).whole, func(r *InstanceRow) *int64 { return &r.LongestNS }),
		int64Column("longest_instance", "", (*InstanceRow).whole, func(r *InstanceRow) *int64 { return &r.LongestInstance }),
		late(begin), late(end),
	}
}

const columnOfWhat = "what"

// WriteInstances writes every row.
func WriteInstances(w io.Writer, rows []InstanceRow) error {
	return writeColumns(w, "instances", instanceColumns(), rows)
}

// Instances are the rows of instances.parquet.
type Instances struct{ Rows []InstanceRow }

// ReadInstancesFile reads a file that WriteInstances wrote.
func ReadInstancesFile(path string) (*Instances, error) { return readFile(path, ReadInstances) }

// ReadInstances reads what WriteInstances wrote. Columns of a later version are left out.
func ReadInstances(in io.ReaderAt, bytes int64) (*Instances, error) {
	all := new(Instances)
	if err := ScanInstances(in, bytes, func(batch []InstanceRow) { all.Rows = append(all.Rows, batch...) }); err != nil {
		return nil, err
	}
	return all, nil
}

// ScanInstances hands out the rows that WriteInstances wrote, some at a time; each call overwrites those of the call
// before.
func ScanInstances(in io.ReaderAt, bytes int64, give func(batch []InstanceRow)) error {
	return withFile(in, bytes, func(f *pq.File) error {
		empty := func(rows []InstanceRow) {
			for k := range rows {
				rows[k] = InstanceRow{Iterations: -1}
			}
		}
		return scanColumns(f, instanceColumns(), nil, empty, func(rows []InstanceRow) error {
			for k := range rows {
				rows[k].settle()
			}
			give(rows)
			return nil
		})
	})
}

// settle fills in what one thread's row does not have of its own.
func (r *InstanceRow) settle() {
	if r.OfThread {
		r.LeastNS, r.MostNS, r.SquaresNS2 = r.SumNS, r.SumNS, float64(r.SumNS)*float64(r.SumNS)
		r.MostWorld, r.MostRank, r.MostThread = r.World, r.Rank, r.Thread
	}
}
