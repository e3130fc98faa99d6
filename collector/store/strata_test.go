package store

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/mpicall"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// The sums of a chunk are those of its rows, and its strata name rows that are theirs.
func TestSumsOfChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New()
		a, _, err := s.Greet(&moriensv1.Hello{Agent: 1})
		if err != nil {
			t.Fatal(err)
		}
		sequence := uint64(0)
		apply := func(m *moriensv1.ReportRequest) {
			sequence++
			m.Sequence = sequence
			if _, err := s.Apply(a, m); err != nil {
				t.Fatal(err)
			}
		}
		apply(process(1, 0, 1))
		apply(ring(11, 1))
		functions := []mpicall.ID{mpicall.Send, mpicall.Recv, mpicall.Allreduce, mpicall.Wait}[:rapid.IntRange(1, 4).Draw(t, "functions")]
		at, first := uint64(5), uint64(0)
		for range rapid.IntRange(1, 4).Draw(t, "chunks") {
			c := &sectiontest.Rows{Ring: 11, First: first, Origin: at}
			rows := rapid.IntRange(1, 3*timedRows).Draw(t, "rows")
			without := rapid.IntRange(1, 9).Draw(t, "without")
			for row := range rows {
				x := rapid.Uint64Range(0, 1<<20).Draw(t, "row")
				c.Add(uint32(functions[x%uint64(len(functions))]), 0, x%1000, x/1000%1000)
				if x%10 >= uint64(without) {
					c.NoBurst = append(c.NoBurst, uint32(row))
				}
				at += x%1000 + x/1000%1000
			}
			apply(c.Message())
			first += uint64(rows)
		}
		before := uint32(0)
		for _, c := range s.Rings()[0].Chunks {
			before = checkSums(t, &c, s.Places(), before)
		}
	})
}

func checkSums(t *rapid.T, c *Chunk, places []uint32, before uint32) (after uint32) {
	t.Helper()
	type between struct{ before, after uint32 }
	want, rows, longest := make(map[between]Stratum), make(map[between][]uint32), make(map[between]uint64)
	var order []between
	var computing, mpi uint64
	at := c.Origin
	for row := range c.Path {
		if start := c.Start(row); start != at {
			t.Fatalf("row %d starts at %d, want %d", row, start, at)
		}
		after = places[c.Path[row]]
		if _, none := slices.BinarySearch(c.NoBurst, uint32(row)); !none {
			k := between{before, after}
			x := want[k]
			if x.Bursts == 0 {
				order = append(order, k)
			}
			x.Bursts++
			x.Ticks += c.Burst[row]
			want[k], rows[k], longest[k] = x, append(rows[k], uint32(row)), max(longest[k], c.Burst[row])
			computing += c.Burst[row]
		}
		mpi += c.Call[row]
		at += c.Burst[row] + c.Call[row]
		before = after
	}
	if c.Computing != computing || c.MPI != mpi || c.End() != at || len(c.Strata) != len(order) {
		t.Fatalf("%d, %d, until %d in %d strata; want %d, %d, %d, %d", c.Computing, c.MPI, c.End(), len(c.Strata), computing, mpi, at, len(order))
	}
	for i, x := range c.Strata {
		k := between{x.Before, x.After}
		w := want[k]
		if k != order[i] || x.Bursts != w.Bursts || x.Ticks != w.Ticks {
			t.Fatalf("stratum %d is %+v, want %+v", i, x, w)
		}
		if !slices.Contains(rows[k], x.Row) || !slices.Contains(rows[k], x.Longest) || c.Burst[x.Longest] != longest[k] {
			t.Fatalf("stratum %+v has the rows %v, and a longest burst of %d", x, rows[k], longest[k])
		}
	}
	return after
}

// The row of a stratum is not always its first or its last.
func TestRowsByChance(t *testing.T) {
	s := summer{}
	seen := make(map[uint32]bool)
	for origin := range uint64(200) {
		c := Chunk{Origin: origin, Burst: make([]uint64, 8), Call: make([]uint64, 8), Path: make([]uint32, 8)}
		s.sum(&c, 0, []uint32{0})
		seen[c.Strata[0].Row] = true
	}
	if len(seen) != 8 {
		t.Errorf("of 8 rows of a stratum only %d are ever taken", len(seen))
	}
}

// BenchmarkSum is what a row costs, of a loop of calls and of calls in no order.
func BenchmarkSum(b *testing.B) {
	const rows, places = 4096, 50
	for _, name := range []string{"loop", "no order"} {
		b.Run(name, func(b *testing.B) {
			c := Chunk{Burst: make([]uint64, rows), Call: make([]uint64, rows), Path: make([]uint32, rows)}
			lead := make([]uint32, places)
			for i := range lead {
				lead[i] = uint32(i)
			}
			for i := range rows {
				c.Burst[i], c.Call[i], c.Path[i] = mix(uint64(i))%1000, 5, uint32(i%places)
				if name != "loop" {
					c.Path[i] = uint32(mix(uint64(i)) % places)
				}
			}
			var s summer
			b.ReportAllocs()
			for b.Loop() {
				x := c
				s.sum(&x, 0, lead)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
