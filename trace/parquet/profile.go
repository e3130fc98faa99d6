package parquet

import (
	"fmt"
	"io"
	"slices"

	pq "github.com/parquet-go/parquet-go"

	"moriens/trace"
)

// A Profile is the rows of profile.parquet: docs/format/profile.md.
type Profile struct {
	Counters []trace.Counter
	Rows     []ProfileRow
}

// Kinds of rows of a profile.
const (
	ProfileComputation = "computation" // the bursts of a thread, call path, cluster and phase
	ProfileMPI         = "mpi"         // the calls of a thread, call path and phase
	ProfileDurations   = "durations"   // a bucket of the histogram of a cluster's durations
	ProfileIterations  = "iterations"  // some iterations of a phase
	ProfileTraffic     = "traffic"     // what the calls of a rank and call path have moved, where that is not known by thread and phase
)

// A ProfileRow is one row. Which fields mean anything depends on its kind; the others are null in the file.
type ProfileRow struct {
	Kind                string
	World, Rank, Thread int32  // of computation and MPI; of traffic but for Thread
	CallPath            string // of MPI and traffic; of computation the one that ends the burst
	Cluster             int32  // of computation and durations
	OfKind              int32  // of computation: the cluster that stands for the kind of the bursts
	InPhase             bool   // a phase that the program named, and its
	Phase               string // name: of computation and MPI
	Iterations          int32  // index of a phase of iterations, -1 = none; of all kinds but durations
	First               int64  // of iterations: the first one of the row

	Count        int64   // bursts, calls, iterations, or of traffic sends, receives and the like
	Records      int64   // calls where each run of polls is one; of iterations: threads; else Count
	TimeNS       int64   // of iterations: in bursts
	MinNS, MaxNS int64   // of durations: the bounds of the bucket
	SquaresNS2   float64 // sum of the squares of the times of records
	ElapsedNS    int64   // of iterations: from each one's begin to the next one's

	SentBytes, ReceivedBytes int64            // of MPI and traffic
	InTraffic                bool             // of MPI: those bytes are in a row of traffic
	Counters                 []ProfileCounter // of computation, one per Profile.Counters
}

// A ProfileCounter is a counter over the bursts of a row.
type ProfileCounter struct {
	Sum, Min, Max int64 // of the bursts that have a value: Count less Missing
	Squares       float64
	Missing       int64
}

func ofThread(r *ProfileRow) bool { return r.Kind == ProfileComputation || r.Kind == ProfileMPI }
func ofRank(r *ProfileRow) bool   { return ofThread(r) || r.Kind == ProfileTraffic }
func ofBursts(r *ProfileRow) bool { return r.Kind == ProfileComputation }
func ofBytes(r *ProfileRow) bool {
	return r.Kind == ProfileMPI && !r.InTraffic || r.Kind == ProfileTraffic
}
func ofCluster(r *ProfileRow) bool    { return r.Kind == ProfileComputation || r.Kind == ProfileDurations }
func ofIterations(r *ProfileRow) bool { return r.Kind == ProfileIterations }

// profileColumns are all columns, in their order. The columns of a counter have its name and what they hold after a
// dot, so that no counter is called like another column.
func profileColumns(counters []trace.Counter) ([]column[ProfileRow], error) {
	list := []column[ProfileRow]{
		textColumn(columnOfKind, &pq.RLEDictionary, nil, func(r *ProfileRow) *string { return &r.Kind }),
		int32Column("world", ofRank, func(r *ProfileRow) *int32 { return &r.World }),
		int32Column("rank", ofRank, func(r *ProfileRow) *int32 { return &r.Rank }),
		int32Column("thread", ofThread, func(r *ProfileRow) *int32 { return &r.Thread }),
		textColumn("call_path", &pq.RLEDictionary, ofRank, func(r *ProfileRow) *string { return &r.CallPath }),
		int32Column("cluster", ofCluster, func(r *ProfileRow) *int32 { return &r.Cluster }),
		late(int32Column("of_kind", ofBursts, func(r *ProfileRow) *int32 { return &r.OfKind })),
		phaseColumn(),
		int32Column("iterations", func(r *ProfileRow) bool { return r.Iterations >= 0 }, func(r *ProfileRow) *int32 { return &r.Iterations }),
		int64Column("first", "", ofIterations, func(r *ProfileRow) *int64 { return &r.First }),
		int64Column("count", "", nil, func(r *ProfileRow) *int64 { return &r.Count }),
		int64Column("records", "", nil, func(r *ProfileRow) *int64 { return &r.Records }),
		int64Column("time_ns", unitTime, nil, func(r *ProfileRow) *int64 { return &r.TimeNS }),
		int64Column("min_ns", unitTime, ofTimes, func(r *ProfileRow) *int64 { return &r.MinNS }),
		int64Column("max_ns", unitTime, ofTimes, func(r *ProfileRow) *int64 { return &r.MaxNS }),
		doubleColumn("squares_ns2", "ns2", ofThread, func(r *ProfileRow) *float64 { return &r.SquaresNS2 }),
		int64Column("elapsed_ns", unitTime, ofIterations, func(r *ProfileRow) *int64 { return &r.ElapsedNS }),
		sentColumn(),
		int64Column("received_bytes", "bytes", ofBytes, func(r *ProfileRow) *int64 { return &r.ReceivedBytes }),
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

// phaseColumn has a value in rows of a phase.
func phaseColumn() column[ProfileRow] {
	c := textColumn("phase", &pq.RLEDictionary, func(r *ProfileRow) bool { return r.InPhase }, func(r *ProfileRow) *string { return &r.Phase })
	set := c.set
	c.set = func(r *ProfileRow, v pq.Value) {
		set(r, v)
		r.InPhase = true
	}
	return c
}

// sentColumn has no value in rows of MPI whose bytes are in a row of traffic.
func sentColumn() column[ProfileRow] {
	c := int64Column("sent_bytes", "bytes", ofBytes, func(r *ProfileRow) *int64 { return &r.SentBytes })
	c.null = func(r *ProfileRow) { r.InTraffic = r.Kind == ProfileMPI }
	return c
}

func ofTimes(r *ProfileRow) bool { return r.Kind != ProfileIterations && r.Kind != ProfileTraffic }

const suffixSum = ".sum"

// WriteProfile writes every row.
func WriteProfile(w io.Writer, p *Profile) error {
	columns, err := profileColumns(p.Counters)
	if err != nil {
		return err
	}
	for i := range p.Rows {
		if n := len(p.Rows[i].Counters); ofBursts(&p.Rows[i]) && n != len(p.Counters) {
			return fmt.Errorf("row %d has %d counters, not %d", i, n, len(p.Counters))
		}
	}
	return writeColumns(w, "profile", columns, p.Rows, "call_path")
}

// ReadProfileFile reads a file that WriteProfile wrote.
func ReadProfileFile(path string) (*Profile, error) { return readFile(path, ReadProfile) }

// ReadProfile reads what WriteProfile wrote. Columns of a later version are left out.
func ReadProfile(in io.ReaderAt, bytes int64) (p *Profile, err error) {
	p = new(Profile)
	err = ScanProfile(in, bytes, nil, func(batch *Profile) {
		p.Counters = batch.Counters
		p.Rows = append(p.Rows, batch.Rows...)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// ScanProfile hands out the rows that WriteProfile wrote, some at a time; each call overwrites those of the call
// before. Of the columns it reads the kind and the wanted ones, and the others are 0; where none is wanted, all.
func ScanProfile(in io.ReaderAt, bytes int64, wanted []string, give func(batch *Profile)) error {
	return withFile(in, bytes, func(f *pq.File) error {
		p := &Profile{Counters: profileCounters(f)}
		columns, err := profileColumns(p.Counters)
		if err != nil {
			return err
		}
		return scanColumns(f, columns, wanted, p.empty, func(rows []ProfileRow) error {
			for k := range rows {
				if !ofBursts(&rows[k]) {
					rows[k].Counters = nil
				}
			}
			p.Rows = rows
			give(p)
			return nil
		})
	})
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

// empty makes so many rows without anything. Their counters are new ones, so that a copy of a row keeps its own.
func (p *Profile) empty(n int) []ProfileRow {
	p.Rows = slices.Grow(p.Rows[:0], n)[:n]
	each := len(p.Counters)
	counters := make([]ProfileCounter, n*each)
	for k := range p.Rows {
		p.Rows[k] = ProfileRow{Iterations: -1, Counters: counters[k*each : (k+1)*each : (k+1)*each]}
	}
	return p.Rows
}
