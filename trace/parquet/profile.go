package parquet

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

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

// A profileColumn is a column with its way to and from rows. put is not asked where has says that a row has none.
type profileColumn struct {
	name string
	node pq.Node
	unit string
	has  func(r *ProfileRow) bool // nil = every row, and the column is required
	get  func(r *ProfileRow) pq.Value
	set  func(r *ProfileRow, v pq.Value)
	late bool // it was added after format 1: files may lack it
}

func ofThread(r *ProfileRow) bool { return r.Kind == ProfileComputation || r.Kind == ProfileMPI }
func ofRank(r *ProfileRow) bool   { return ofThread(r) || r.Kind == ProfileTraffic }
func ofBursts(r *ProfileRow) bool { return r.Kind == ProfileComputation }
func ofBytes(r *ProfileRow) bool {
	return r.Kind == ProfileMPI && !r.InTraffic || r.Kind == ProfileTraffic
}
func ofCluster(r *ProfileRow) bool    { return r.Kind == ProfileComputation || r.Kind == ProfileDurations }
func ofIterations(r *ProfileRow) bool { return r.Kind == ProfileIterations }

func int32Column(name string, has func(*ProfileRow) bool, field func(*ProfileRow) *int32) profileColumn {
	return profileColumn{
		name: name, node: pq.Encoded(pq.Int(32), &pq.RLEDictionary), has: has,
		get: func(r *ProfileRow) pq.Value { return pq.Int32Value(*field(r)) }, set: func(r *ProfileRow, v pq.Value) { *field(r) = v.Int32() },
	}
}

func int64Column(name, unit string, has func(*ProfileRow) bool, field func(*ProfileRow) *int64) profileColumn {
	return profileColumn{
		name: name, node: pq.Encoded(pq.Int(64), &pq.DeltaBinaryPacked), unit: unit, has: has,
		get: func(r *ProfileRow) pq.Value { return pq.Int64Value(*field(r)) }, set: func(r *ProfileRow, v pq.Value) { *field(r) = v.Int64() },
	}
}

func doubleColumn(name, unit string, has func(*ProfileRow) bool, field func(*ProfileRow) *float64) profileColumn {
	return profileColumn{
		name: name, node: pq.Leaf(pq.DoubleType), unit: unit, has: has,
		get: func(r *ProfileRow) pq.Value { return pq.DoubleValue(*field(r)) }, set: func(r *ProfileRow, v pq.Value) { *field(r) = v.Double() },
	}
}

func textColumn(name string, encoding encoding.Encoding, has func(*ProfileRow) bool, field func(*ProfileRow) *string) profileColumn {
	once := make(interned)
	return profileColumn{
		name: name, node: pq.Encoded(pq.String(), encoding), has: has,
		get: func(r *ProfileRow) pq.Value { return pq.ByteArrayValue([]byte(*field(r))) },
		set: func(r *ProfileRow, v pq.Value) { *field(r) = once.text(v.ByteArray()) },
	}
}

// interned keeps each text once, however many rows have it.
type interned map[string]string

func (t interned) text(b []byte) string {
	s, known := t[string(b)]
	if !known {
		s = string(b)
		t[s] = s
	}
	return s
}

// profileColumns are all columns, in their order. The columns of a counter have its name and what they hold after a
// dot, so that no counter is called like another column.
func profileColumns(counters []trace.Counter) ([]profileColumn, error) {
	list := []profileColumn{
		textColumn(columnOfKind, &pq.RLEDictionary, nil, func(r *ProfileRow) *string { return &r.Kind }),
		int32Column("world", ofRank, func(r *ProfileRow) *int32 { return &r.World }),
		int32Column("rank", ofRank, func(r *ProfileRow) *int32 { return &r.Rank }),
		int32Column("thread", ofThread, func(r *ProfileRow) *int32 { return &r.Thread }),
		textColumn("call_path", &pq.RLEDictionary, ofRank, func(r *ProfileRow) *string { return &r.CallPath }),
		int32Column("cluster", ofCluster, func(r *ProfileRow) *int32 { return &r.Cluster }),
		late(int32Column("of_kind", ofBursts, func(r *ProfileRow) *int32 { return &r.OfKind })),
		textColumn("phase", &pq.RLEDictionary, func(r *ProfileRow) bool { return r.InPhase }, func(r *ProfileRow) *string { return &r.Phase }),
		int32Column("iterations", func(r *ProfileRow) bool { return r.Iterations >= 0 }, func(r *ProfileRow) *int32 { return &r.Iterations }),
		int64Column("first", "", ofIterations, func(r *ProfileRow) *int64 { return &r.First }),
		int64Column("count", "", nil, func(r *ProfileRow) *int64 { return &r.Count }),
		int64Column("records", "", nil, func(r *ProfileRow) *int64 { return &r.Records }),
		int64Column("time_ns", unitTime, nil, func(r *ProfileRow) *int64 { return &r.TimeNS }),
		int64Column("min_ns", unitTime, ofTimes, func(r *ProfileRow) *int64 { return &r.MinNS }),
		int64Column("max_ns", unitTime, ofTimes, func(r *ProfileRow) *int64 { return &r.MaxNS }),
		doubleColumn("squares_ns2", "ns2", ofThread, func(r *ProfileRow) *float64 { return &r.SquaresNS2 }),
		int64Column("elapsed_ns", unitTime, ofIterations, func(r *ProfileRow) *int64 { return &r.ElapsedNS }),
		int64Column(sentBytes, "bytes", ofBytes, func(r *ProfileRow) *int64 { return &r.SentBytes }),
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

func late(c profileColumn) profileColumn {
	c.late = true
	return c
}

func ofTimes(r *ProfileRow) bool { return r.Kind != ProfileIterations && r.Kind != ProfileTraffic }

const (
	columnOfKind = "kind" // of the row
	suffixSum    = ".sum"
	sentBytes    = "sent_bytes"
)

func profileSchema(columns []profileColumn) *pq.Schema {
	r := record{Group: pq.Group{}}
	for _, c := range columns {
		node := c.node
		if c.has != nil {
			node = pq.Optional(node)
		}
		r.Group[c.name] = node
		r.order = append(r.order, c.name)
	}
	return pq.NewSchema("profile", r)
}

// WriteProfile writes every row.
func WriteProfile(w io.Writer, p *Profile) error {
	columns, err := profileColumns(p.Counters)
	if err != nil {
		return err
	}
	options := []pq.WriterOption{
		profileSchema(columns), pq.Compression(codec), pq.CreatedBy("moriens", "", ""), pq.KeyValueMetadata(keyFormat, strconv.Itoa(FormatVersion)),
		pq.SkipPageBounds("call_path"),
	}
	for _, c := range columns {
		if c.unit != "" {
			options = append(options, pq.KeyValueMetadata(keyUnit+c.name, c.unit))
		}
	}
	out := pq.NewGenericWriter[any](w, options...)
	values := make([]pq.Value, rowsPerBatch)
	for from := 0; from < len(p.Rows); from += rowsPerBatch {
		rows := p.Rows[from:min(from+rowsPerBatch, len(p.Rows))]
		for i := range rows {
			if n := len(rows[i].Counters); ofBursts(&rows[i]) && n != len(p.Counters) {
				return fmt.Errorf("row %d has %d counters, not %d", from+i, n, len(p.Counters))
			}
		}
		writers := out.ColumnWriters()
		for place, c := range columns {
			for i := range rows {
				switch {
				case c.has == nil:
					values[i] = c.get(&rows[i])
				case c.has(&rows[i]):
					values[i] = c.get(&rows[i]).Level(0, 1, place)
				default:
					values[i] = pq.NullValue().Level(0, 0, place)
				}
			}
			if _, err := writers[place].WriteRowValues(values[:len(rows)]); err != nil {
				return fmt.Errorf("column %s: %w", c.name, err)
			}
		}
		if (from+rowsPerBatch)%rowsPerGroup == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return out.Close()
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
		columns, places, err := p.columnsOf(f, wanted)
		if err != nil {
			return err
		}
		for _, g := range f.RowGroups() {
			if err := p.scanGroup(g, columns, places, give); err != nil {
				return err
			}
		}
		if f.NumRows() == 0 {
			give(p)
		}
		return nil
	})
}

// columnsOf are the columns that are read, and where they are in the file.
func (p *Profile) columnsOf(f *pq.File, wanted []string) ([]profileColumn, []int, error) {
	columns, err := profileColumns(p.Counters)
	if err != nil {
		return nil, nil, err
	}
	columns = slices.DeleteFunc(columns, func(c profileColumn) bool {
		_, ok := f.Schema().Lookup(c.name)
		return c.late && !ok || len(wanted) > 0 && c.name != columnOfKind && !slices.Contains(wanted, c.name)
	})
	places := make([]int, len(columns))
	for i, c := range columns {
		column, ok := f.Schema().Lookup(c.name)
		if !ok {
			return nil, nil, fmt.Errorf("no column %s", c.name)
		}
		if column.Node.Type().Kind() != c.node.Type().Kind() || column.Node.Optional() != (c.has != nil) {
			return nil, nil, fmt.Errorf("column %s is of type %s", c.name, column.Node.Type())
		}
		places[i] = column.ColumnIndex
	}
	return columns, places, nil
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

func (p *Profile) scanGroup(g pq.RowGroup, columns []profileColumn, places []int, give func(batch *Profile)) error {
	readers := make([]*columnReader, len(columns))
	for i, place := range places {
		readers[i] = newColumnReader(g.ColumnChunks()[place])
		defer readers[i].pages.Close()
	}
	for left := g.NumRows(); left > 0; {
		n := int(min(left, rowsPerBatch))
		p.empty(n)
		for i, c := range columns {
			if err := readers[i].read(n); err != nil {
				return err
			}
			for k := range n {
				r := &p.Rows[k]
				v := readers[i].values[k]
				if c.name == sentBytes {
					r.InTraffic = v.IsNull() && r.Kind == ProfileMPI
				}
				if !v.IsNull() {
					c.set(r, v)
					if c.name == "phase" {
						r.InPhase = true
					}
				}
			}
		}
		for k := range p.Rows {
			if !ofBursts(&p.Rows[k]) {
				p.Rows[k].Counters = nil
			}
		}
		give(p)
		left -= int64(n)
	}
	return nil
}

// empty makes so many rows without anything. Their counters are new ones, so that a copy of a row keeps its own.
func (p *Profile) empty(n int) {
	p.Rows = slices.Grow(p.Rows[:0], n)[:n]
	each := len(p.Counters)
	counters := make([]ProfileCounter, n*each)
	for k := range p.Rows {
		p.Rows[k] = ProfileRow{Iterations: -1, Counters: counters[k*each : (k+1)*each : (k+1)*each]}
	}
}
