package parquet

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pq "github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"moriens/trace"
	"moriens/trace/tracetest"
)

// bursts is what of a run is in the file: call paths as text.
type bursts struct {
	World, Rank, Thread int
	StartNS, DurationNS []int64
	Before, After       []string
	Cluster, Kind       []int32
	Counters            [][]int64
	Weight              []float64
	Nodes               []string
}

func content(run *trace.Run) (all []bursts) {
	names := run.Names()
	for _, t := range run.Threads {
		b := t.Bursts
		if b.Len() == 0 {
			continue
		}
		x := bursts{t.World, t.Rank, t.Thread, b.StartNS, b.DurationNS, nil, nil, b.Cluster, b.Kinds(), b.Counters, b.Weight, nil}
		for k := range b.StartNS {
			x.Before = append(x.Before, names[b.Before[k]])
			x.After = append(x.After, names[b.After[k]])
			nodes := ""
			if b.Lineage != nil {
				nodes = run.Lineages[b.Lineage[k]]
			}
			x.Nodes = append(x.Nodes, nodes)
		}
		all = append(all, x)
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		if rapid.Bool().Draw(t, "weighted") {
			for i := range run.Threads {
				b := &run.Threads[i].Bursts
				for range b.Len() {
					b.Weight = append(b.Weight, 1.5)
				}
			}
		}
		if rapid.Bool().Draw(t, "refined") {
			tracetest.Refine(t, run)
		}
		var file bytes.Buffer
		n, err := Write(&file, run)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(content(run), content(back), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("read back (+) differs from what was written (-):\n%s", d)
		}
		if d := cmp.Diff(run.Counters, back.Counters, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		rows := 0
		for _, b := range content(back) {
			rows += len(b.StartNS)
		}
		if int64(rows) != n {
			t.Fatalf("Write reports %d rows, %d are there", n, rows)
		}
	})
}

func TestSeveralRowGroups(t *testing.T) {
	run := large(3, rowsPerGroup/2+rowsPerBatch/2+1)
	var file bytes.Buffer
	if _, err := Write(&file, run); err != nil {
		t.Fatal(err)
	}
	back, err := Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(content(run), content(back)) {
		t.Fatal("read back differs from what was written")
	}
}

// What other readers see: null for a value not measured, and row groups of bounded size.
func TestNullsAndRowGroups(t *testing.T) {
	run := large(2, rowsPerGroup-5)
	run.Threads[0].Bursts.Counters[1][7] = trace.NoCount
	var file bytes.Buffer
	if _, err := Write(&file, run); err != nil {
		t.Fatal(err)
	}
	f, err := pq.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	groups := f.Metadata().RowGroups
	if len(groups) != 2 || groups[0].NumRows != rowsPerGroup || groups[1].NumRows != rowsPerGroup-10 {
		t.Fatalf("%d row groups, the first of %d rows", len(groups), groups[0].NumRows)
	}
	if n := groups[0].Columns[firstCounter+1].MetaData.Statistics.NullCount; n != 1 {
		t.Errorf("%d nulls, want 1", n)
	}
	for i, name := range append(slices.Clone(leading), "PAPI_TOT_INS", "PAPI_TOT_CYC") {
		if got := f.Schema().Columns()[i][0]; got != name {
			t.Errorf("column %d is %s, want %s", i, got, name)
		}
	}
}

// A counter may be called like a column of the bursts: it is read back under its own name, and the column is not
// touched.
func TestCountersNamedAsColumns(t *testing.T) {
	names := []string{"rank", "counter.rank", "counter.counter.rank", "counter.x", "weight"}
	run := large(2, 10)
	run.Counters = nil
	for _, name := range names {
		run.Counters = append(run.Counters, trace.Counter{Name: name, Unit: "of " + name})
	}
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		b.Counters = nil
		for k := range names {
			column := make([]int64, b.Len())
			for j := range column {
				column[j] = int64(100*k + j)
			}
			b.Counters = append(b.Counters, column)
		}
	}
	var file bytes.Buffer
	if _, err := Write(&file, run); err != nil {
		t.Fatal(err)
	}
	back, err := Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(run.Counters, back.Counters); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(content(run), content(back)); d != "" {
		t.Error(d)
	}
}

func TestRefusesBadRuns(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*trace.Run)
		want  string
	}{
		{"order of threads", func(r *trace.Run) { r.Threads[0].Rank = 1; r.Threads[1].Rank = 0 }, "not in order"},
		{"order of bursts", func(r *trace.Run) { r.Threads[0].Bursts.StartNS[0] = 1 << 60 }, "starts before"},
		{"column lengths", func(r *trace.Run) { r.Threads[1].Bursts.Cluster = nil }, "rank 1 thread 0: columns"},
		{"call path", func(r *trace.Run) { r.Threads[1].Bursts.After[3] = 99 }, "burst 3: no call path"},
		{"counter names", func(r *trace.Run) { r.Counters[1].Name = r.Counters[0].Name }, "two columns"},
		{"counter without name", func(r *trace.Run) { r.Counters[1].Name = "" }, "without a name"},
	} {
		run := large(2, 10)
		c.spoil(run)
		_, err := Write(new(bytes.Buffer), run)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestRefusesBadFiles(t *testing.T) {
	var file bytes.Buffer
	if _, err := Write(&file, large(2, 1000)); err != nil {
		t.Fatal(err)
	}
	good := file.Bytes()
	for n := range good {
		if n%97 == 0 {
			if _, err := Read(bytes.NewReader(good[:n]), int64(n)); err == nil {
				t.Errorf("cut to %d of %d bytes: no error", n, len(good))
			}
		}
	}
}

// large makes a run of loops of three kinds of bursts with two counters.
func large(ranks, perRank int) *trace.Run {
	random := rand.New(rand.NewPCG(1, 2))
	run := &trace.Run{
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Send", Frames: []trace.Frame{{Module: "app", Offset: 0x1200}}}, {Function: "MPI_Recv"}},
		Counters:  []trace.Counter{{Name: "PAPI_TOT_INS", Unit: "instructions"}, {Name: "PAPI_TOT_CYC", Unit: "cycles"}},
		Worlds:    []trace.World{{Size: ranks}},
	}
	for r := range ranks {
		t := trace.Thread{Rank: r}
		b := &t.Bursts
		b.Counters = make([][]int64, 2)
		now := int64(0)
		for i := range perRank {
			d := int64(1000*(1+i%3)) + random.Int64N(100)
			b.StartNS = append(b.StartNS, now)
			b.DurationNS = append(b.DurationNS, d)
			b.Before = append(b.Before, uint32(1+i%2))
			b.After = append(b.After, uint32(2-i%2))
			b.Cluster = append(b.Cluster, int32(1+i%3))
			b.Counters[0] = append(b.Counters[0], 3*d+random.Int64N(50))
			b.Counters[1] = append(b.Counters[1], 2*d)
			now += d + 500
		}
		run.Threads = append(run.Threads, t)
	}
	return run
}

type counting int64

func (c *counting) Write(p []byte) (int, error) { *c += counting(len(p)); return len(p), nil }

func BenchmarkWrite(b *testing.B) {
	run := large(10, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		var n counting
		if _, err := Write(&n, run); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n)/1e6, "B/row")
	}
	b.ReportMetric(1e6*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkRead(b *testing.B) {
	var file bytes.Buffer
	if _, err := Write(&file, large(10, 100_000)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Read(bytes.NewReader(file.Bytes()), int64(file.Len())); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1e6*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
