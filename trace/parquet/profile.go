package parquet

import (
	"fmt"
	"io"
	"slices"
	"strings"

	pq "github.com/parquet-go/parquet-go"

	"moriens/trace"
)

// A Profile is the rows of profile.parquet: docs/format/profile.md.
type Profile struct {
	Format   int // of the file that was read; 1: phases are names, not paths, and time is not cut at their borders
	Counters []trace.Counter
	Rows     []ProfileRow
	// Classes says that of some places from which MPI is called the rows of threads are by place, and those by whole call
	// path are summed over classes of threads.
	Classes bool
}

// Kinds of rows of a profile.
const (
	ProfilePhase       = "phase"       // a phase of a thread
	ProfileComputation = "computation" // the bursts of a thread, call path, cluster and phase
	ProfileMPI         = "mpi"         // the calls of a thread, call path and phase
	ProfilePaused      = "paused"      // time of a thread in a phase in which recording was paused
	ProfileUnrecorded  = "unrecorded"  // time of a thread in a phase of which there is no record
	ProfileDurations   = "durations"   // a bucket of the histogram of a cluster's durations
	ProfileIterations  = "iterations"  // some iterations of a phase
	ProfileTraffic     = "traffic"     // what the calls of a rank and call path have moved, where that is not known by thread and phase

	ProfileClassComputation = "class_computation" // the bursts of a class of threads, call path, cluster and phase
	ProfileClassMPI         = "class_mpi"         // the calls of a class of threads, call path and phase
	ProfileClassTraffic     = "class_traffic"     // what the calls of a class and call path have moved, where that is not known by thread and phase
)

// OfClass reports whether a row is of a class of threads; kind is that of the rows of threads that it is the sum of.
func (r *ProfileRow) OfClass() (kind string, is bool) {
	switch r.Kind {
	case ProfileClassComputation:
		return ProfileComputation, true
	case ProfileClassMPI:
		return ProfileMPI, true
	case ProfileClassTraffic:
		return ProfileTraffic, true
	}
	return r.Kind, false
}

// ClassKind is the kind of rows of classes that are sums of rows of a kind; false: there is none.
func ClassKind(kind string) (string, bool) {
	switch kind {
	case ProfileComputation:
		return ProfileClassComputation, true
	case ProfileMPI:
		return ProfileClassMPI, true
	case ProfileTraffic:
		return ProfileClassTraffic, true
	}
	return kind, false
}

// A ProfileRow is one row. Which fields mean anything depends on its kind; the others are null in the file.
type ProfileRow struct {
	Kind                string
	World, Rank, Thread int32  // of computation and MPI; of traffic but for Thread
	CallPath            string // of MPI and traffic; of computation the one that ends the burst
	Cluster             int32  // of computation and durations
	OfKind              int32  // of computation: the cluster that stands for the kind of the bursts
	Context             int32  // of computation: how many of the outermost functions of CallPath, inlined ones too, the burst lies in; -1 = not known
	InPhase             bool   // in a phase of the program: not directly in the program itself
	Phase               string // its path (trace.PhasePath); in format 1 its name
	Iterations          int32  // index of a phase of iterations, -1 = none; of all kinds but durations
	First               int64  // of iterations: the first one of the row

	Count        int64   // bursts, calls, iterations, or of traffic sends, receives and the like
	Records      int64   // calls where each run of polls is one; of iterations: threads; else Count
	TimeNS       int64   // of iterations: in bursts; of phases with all that lies in them
	ExclusiveNS  int64   // of phases: without the phases in them
	WholeNS      int64   // of computation and MPI: how long the records that count here took in all, in this phase or not
	EstimatedNS  int64   // of computation: of TimeNS, in bursts that cross a border of phases; counters of these are shared by time
	MinNS, MaxNS int64   // of durations: the bounds of the bucket
	SquaresNS2   float64 // sum of the squares of the times of records
	ElapsedNS    int64   // of iterations: from each one's begin to the next one's

	SentBytes, ReceivedBytes int64            // of MPI and traffic
	InTraffic                bool             // of MPI: those bytes are in a row of traffic
	Counters                 []ProfileCounter // of computation, one per Profile.Counters

	// Where the profile has rows of classes:
	Class   int32 // that it is of, or the class of its thread, of traffic of its rank's first thread; -1 = none
	Threads int32 // of rows of classes: how many threads it sums
	Paths   int32 // of rows of threads that are by place: how many call paths of the run lead to CallPath, the place; 0 = CallPath is a call path
}

// A ProfileCounter is a counter over the bursts of a row.
type ProfileCounter struct {
	Sum, Min, Max int64 // of the bursts that have a value: Count less Missing
	Squares       float64
	Missing       int64
}

func isCalls(r *ProfileRow) bool   { return r.Kind == ProfileMPI || r.Kind == ProfileClassMPI }
func isMoved(r *ProfileRow) bool   { return r.Kind == ProfileTraffic || r.Kind == ProfileClassTraffic }
func ofClass(r *ProfileRow) bool   { _, is := r.OfClass(); return is }
func ofRecords(r *ProfileRow) bool { return ofBursts(r) || isCalls(r) }
func ofPhase(r *ProfileRow) bool   { return r.Kind == ProfilePhase }
func ofThread(r *ProfileRow) bool {
	return ofRecords(r) && !ofClass(r) || ofPhase(r) || r.Kind == ProfilePaused || r.Kind == ProfileUnrecorded
}
func ofPath(r *ProfileRow) bool { return ofRecords(r) || isMoved(r) }
func ofRank(r *ProfileRow) bool { return ofThread(r) || r.Kind == ProfileTraffic }
func ofBursts(r *ProfileRow) bool {
	return r.Kind == ProfileComputation || r.Kind == ProfileClassComputation
}
func ofBytes(r *ProfileRow) bool {
	return isCalls(r) && !r.InTraffic || isMoved(r)
}
func ofCluster(r *ProfileRow) bool    { return ofBursts(r) || r.Kind == ProfileDurations }
func ofIterations(r *ProfileRow) bool { return r.Kind == ProfileIterations }

// profileColumns are all columns, in their order. The columns of a counter have its name and what they hold after a
// dot, so that no counter is called like another column.
func profileColumns(counters []trace.Counter, classes bool) ([]column[ProfileRow], error) {
	list := []column[ProfileRow]{
		textColumn(columnOfKind, &pq.RLEDictionary, nil, func(r *ProfileRow) *string { return &r.Kind }),
		int32Column("world", ofRank, func(r *ProfileRow) *int32 { return &r.World }),
		int32Column("rank", ofRank, func(r *ProfileRow) *int32 { return &r.Rank }),
		int32Column("thread", ofThread, func(r *ProfileRow) *int32 { return &r.Thread }),
		textColumn("call_path", &pq.RLEDictionary, ofPath, func(r *ProfileRow) *string { return &r.CallPath }),
		int32Column("cluster", ofCluster, func(r *ProfileRow) *int32 { return &r.Cluster }),
		late(int32Column("of_kind", ofBursts, func(r *ProfileRow) *int32 { return &r.OfKind })),
		late(int32Column("context", func(r *ProfileRow) bool { return ofBursts(r) && r.Context >= 0 }, func(r *ProfileRow) *int32 { return &r.Context })),
		phaseColumn(),
		int32Column("iterations", func(r *ProfileRow) bool { return r.Iterations >= 0 }, func(r *ProfileRow) *int32 { return &r.Iterations }),
		int64Column("first", "", ofIterations, func(r *ProfileRow) *int64 { return &r.First }),
		int64Column("count", "", nil, func(r *ProfileRow) *int64 { return &r.Count }),
		int64Column("records", "", nil, func(r *ProfileRow) *int64 { return &r.Records }),
		int64Column("time_ns", unitTime, nil, func(r *ProfileRow) *int64 { return &r.TimeNS }),
		late(int64Column("exclusive_ns", unitTime, ofPhase, func(r *ProfileRow) *int64 { return &r.ExclusiveNS })),
		wholeColumn(),
		late(int64Column("estimated_ns", unitTime, func(r *ProfileRow) bool { return ofBursts(r) && r.EstimatedNS > 0 }, func(r *ProfileRow) *int64 { return &r.EstimatedNS })),
		int64Column("min_ns", unitTime, ofTimes, func(r *ProfileRow) *int64 { return &r.MinNS }),
		int64Column("max_ns", unitTime, ofTimes, func(r *ProfileRow) *int64 { return &r.MaxNS }),
		doubleColumn("squares_ns2", "ns2", ofMoments, func(r *ProfileRow) *float64 { return &r.SquaresNS2 }),
		int64Column("elapsed_ns", unitTime, ofIterations, func(r *ProfileRow) *int64 { return &r.ElapsedNS }),
		sentColumn(),
		int64Column("received_bytes", "bytes", ofBytes, func(r *ProfileRow) *int64 { return &r.ReceivedBytes }),
	}
	if classes {
		list = append(list,
			late(int32Column(columnOfClass, func(r *ProfileRow) bool { return r.Class >= 0 && (ofRank(r) || ofClass(r)) }, func(r *ProfileRow) *int32 { return &r.Class })),
			late(int32Column("threads", ofClass, func(r *ProfileRow) *int32 { return &r.Threads })),
			late(int32Column("paths", func(r *ProfileRow) bool { return r.Paths > 0 && ofRank(r) }, func(r *ProfileRow) *int32 { return &r.Paths })),
		)
	}
	names := make(map[string]bool)
	for i, c := range counters {
		if c.Name == "" {
			return nil, errNoName
		}
		if names[c.Name] {
			return nil, fmt.Errorf("two columns are named %q", c.Name)
		}
		names[c.Name] = true
		squared := c.Unit
		if squared != "" {
			squared += "2"
		}
		list = append(list,
			int64Column(c.Name+suffixSum, c.Unit, ofBursts, func(r *ProfileRow) *int64 { return &r.Counters[i].Sum }),
			int64Column(c.Name+".min", c.Unit, ofBursts, func(r *ProfileRow) *int64 { return &r.Counters[i].Min }),
			int64Column(c.Name+".max", c.Unit, ofBursts, func(r *ProfileRow) *int64 { return &r.Counters[i].Max }),
			doubleColumn(c.Name+".squares", squared, ofBursts, func(r *ProfileRow) *float64 { return &r.Counters[i].Squares }),
			int64Column(c.Name+".missing", "", ofBursts, func(r *ProfileRow) *int64 { return &r.Counters[i].Missing }),
		)
	}
	return list, nil
}

// columnOfClass is only there where rows are of classes.
const columnOfClass = "class"

// phaseColumn has a value in rows of a phase.
func phaseColumn() column[ProfileRow] {
	c := textColumn("phase", &pq.RLEDictionary, func(r *ProfileRow) bool { return r.InPhase }, func(r *ProfileRow) *string { return &r.Phase })
	c.then = func(r *ProfileRow) { r.InPhase = true }
	return c
}

// sentColumn has no value in rows of MPI whose bytes are in a row of traffic.
func sentColumn() column[ProfileRow] {
	c := int64Column("sent_bytes", "bytes", ofBytes, func(r *ProfileRow) *int64 { return &r.SentBytes })
	c.null = func(r *ProfileRow) { r.InTraffic = isCalls(r) }
	return c
}

func ofMoments(r *ProfileRow) bool { return ofRecords(r) || ofPhase(r) }
func ofTimes(r *ProfileRow) bool   { return ofMoments(r) && r.Records > 0 || r.Kind == ProfileDurations }

// wholeColumn has a value only where a record that counts in the row crosses a border of phases.
func wholeColumn() column[ProfileRow] {
	return late(int64Column("whole_ns", unitTime, func(r *ProfileRow) bool { return ofRecords(r) && r.WholeNS != r.TimeNS }, func(r *ProfileRow) *int64 { return &r.WholeNS }))
}

// tableOfProfile is the name of the table in its file.
const tableOfProfile = "profile"

const suffixSum = ".sum"

// WriteProfile writes every row.
func WriteProfile(w io.Writer, p *Profile) error {
	columns, err := profileColumns(p.Counters, p.Classes)
	if err != nil {
		return err
	}
	for i := range p.Rows {
		if n := len(p.Rows[i].Counters); ofBursts(&p.Rows[i]) && n != len(p.Counters) {
			return fmt.Errorf("row %d has %d counters, not %d", i, n, len(p.Counters))
		}
	}
	return writeColumns(w, tableOfProfile, columns, p.Rows, "call_path")
}

// ReadProfileFile reads a file that WriteProfile wrote.
func ReadProfileFile(path string) (*Profile, error) { return readFile(path, ReadProfile) }

// ReadProfile reads what WriteProfile wrote. Columns of a later version are left out.
func ReadProfile(in io.ReaderAt, bytes int64) (p *Profile, err error) {
	p = new(Profile)
	err = ScanProfile(in, bytes, nil, func(batch *Profile) {
		p.Format, p.Counters, p.Classes = batch.Format, batch.Counters, batch.Classes
		p.Rows = append(p.Rows, batch.Rows...)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// ScanProfile hands out the rows that WriteProfile wrote, some at a time; each call overwrites those of the call
// before. Of the columns it reads the kind and the wanted ones, and the others are 0; where none is wanted, all. Where
// no column of a counter is wanted, rows have no counters.
func ScanProfile(in io.ReaderAt, bytes int64, wanted []string, give func(batch *Profile)) error {
	return withFormats(in, bytes, valuesPerByte, ProfileFormat, func(f *pq.File, format int) error {
		p := &Profile{Format: format, Counters: profileCounters(f), Classes: hasClasses(f)}
		columns, err := profileColumns(p.Counters, p.Classes)
		if err != nil {
			return err
		}
		counters := len(wanted) == 0 || slices.ContainsFunc(wanted, func(name string) bool { return strings.Contains(name, ".") })
		return scanColumns(f, columns, wanted, func(rows []ProfileRow) { p.empty(rows, counters) }, func(rows []ProfileRow) error {
			for k := range rows {
				rows[k].settle()
			}
			p.Rows = rows
			give(p)
			return nil
		})
	})
}

// asTime stands for a WholeNS that is null in the file: it is TimeNS.
const asTime = -1

// settle fills in what follows from other columns, and clears what the kind of the row does not have.
func (r *ProfileRow) settle() {
	if !ofBursts(r) {
		r.Counters, r.Context = nil, 0
	}
	switch {
	case !ofRecords(r):
		r.WholeNS = 0
	case r.WholeNS == asTime:
		r.WholeNS = r.TimeNS
	}
}

func hasClasses(f *pq.File) bool {
	_, there := f.Schema().Lookup(columnOfClass)
	return there
}

// profileCounters finds the counters in the names of the columns.
func profileCounters(f *pq.File) []trace.Counter {
	var list []trace.Counter
	for _, field := range f.Schema().Fields() {
		if n := len(field.Name()) - len(suffixSum); n > 0 && field.Name()[n:] == suffixSum {
			unit, _ := f.Lookup(keyUnit + field.Name())
			list = append(list, trace.Counter{Name: field.Name()[:n], Unit: unit})
		}
	}
	return list
}

// empty makes rows without anything. Their counters, where those are read, are new ones, so that a copy of a row keeps
// its own.
func (p *Profile) empty(rows []ProfileRow, counted bool) {
	each := 0
	if counted {
		each = len(p.Counters)
	}
	counters := make([]ProfileCounter, len(rows)*each)
	class := int32(0)
	if p.Classes {
		class = -1
	}
	for k := range rows {
		rows[k] = ProfileRow{Context: -1, Iterations: -1, WholeNS: asTime, Class: class, Counters: counters[k*each : (k+1)*each : (k+1)*each]}
	}
}
