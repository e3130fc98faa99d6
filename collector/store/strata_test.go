package store

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/mix"
	"moriens/internal/mpicall"
	"moriens/internal/section"
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
			rows := rapid.IntRange(1, 400).Draw(t, "rows")
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
		reader := new(Reader)
		for _, c := range s.Rings()[0].Chunks {
			before = checkSums(t, &c, reader.Calls(&c), s.Places(), before)
		}
	})
}

// checkSums compares what a chunk says of its rows with these.
func checkSums(t fataler, c *Chunk, x *Calls, places []uint32, before uint32) (after uint32) {
	t.Helper()
	type between struct{ before, after uint32 }
	want, rows, longest := make(map[between]Stratum), make(map[between][]uint16), make(map[between]uint64)
	var order []between
	var computing, mpi uint64
	at := c.Origin
	for row := range x.Path {
		after = places[x.Path[row]]
		if _, none := slices.BinarySearch(x.NoBurst, uint32(row)); !none {
			k := between{before, after}
			s := want[k]
			if s.Bursts == 0 {
				order = append(order, k)
			}
			s.Bursts++
			s.Ticks += x.Burst[row]
			want[k], rows[k], longest[k] = s, append(rows[k], uint16(row)), max(longest[k], x.Burst[row])
			computing += x.Burst[row]
		}
		mpi += x.Call[row]
		at += x.Burst[row] + x.Call[row]
		before = after
	}
	if c.Computing != computing || c.MPI != mpi || c.End() != at || len(c.Strata) != len(order) {
		t.Fatalf("%d, %d, until %d in %d strata; want %d, %d, %d, %d", c.Computing, c.MPI, c.End(), len(c.Strata), computing, mpi, at, len(order))
	}
	for i, s := range c.Strata {
		k := between{s.Before, s.After}
		w := want[k]
		if k != order[i] || s.Bursts != w.Bursts || s.Ticks != w.Ticks || s.LongestTicks != longest[k] {
			t.Fatalf("stratum %d is %+v, want %+v, the longest of %d", i, s, w, longest[k])
		}
		first := slices.IndexFunc(rows[k], func(row uint16) bool { return x.Burst[row] == longest[k] })
		if !slices.Contains(rows[k], s.Row) || s.Longest != rows[k][first] {
			t.Fatalf("stratum %+v has the rows %v, and the first of the longest in %d", s, rows[k], rows[k][first])
		}
	}
	return after
}

// fataler is a test, a benchmark or one of rapid.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// The row of a stratum is not always its first or its last.
func TestRowsByChance(t *testing.T) {
	s := summer{}
	seen := make(map[uint16]bool)
	b, ticks := &section.Block{Sites: make([]section.Site, 1)}, make([]uint64, 8)
	b.Grow(8, 0)
	for b.Origin = range uint64(200) {
		strata, _ := s.sum(b, 0, []uint32{0}, []uint16{0, 1, 2, 3, 4, 5, 6, 7}, ticks)
		seen[strata[0].Row] = true
	}
	if len(seen) != 8 {
		t.Errorf("of 8 rows of a stratum only %d are ever taken", len(seen))
	}
}

// BenchmarkSum is what a row costs, of a loop of calls and of calls in no order, whose ticks are sorted.
func BenchmarkSum(b *testing.B) {
	const rows, sites = section.MaxRows, 50
	for _, name := range []string{"loop", "no order"} {
		b.Run(name, func(b *testing.B) {
			block := &section.Block{Sites: make([]section.Site, sites)}
			block.Grow(rows, 0)
			places, bySite := make([]uint32, sites), make([][]uint16, sites)
			for i := range rows {
				site := i % sites
				if name != "loop" {
					site = int(mix.Bits(uint64(i)) % sites)
				}
				block.Site[i], places[site], bySite[site] = uint16(site), uint32(site), append(bySite[site], uint16(i))
			}
			order, burst := slices.Concat(bySite...), make([]uint64, rows)
			for i, row := range order {
				burst[i] = mix.Bits(uint64(row)) % 1000
			}
			var s summer
			b.ReportAllocs()
			for b.Loop() {
				s.sum(block, 0, places, order, burst)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
