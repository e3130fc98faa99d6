package profiling

import (
	"fmt"
	"testing"

	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
	"moriens/trace/rundir/rundirtest"
)

// many is a profile of so many ranks, with 300 rows each: 10 phases, 20 calls and 10 clusters in each.
func many(ranks int) *rundirtest.Profiled {
	p := rundirtest.Profile(4)
	p.Profile.Rows = nil
	for r := range ranks {
		for phase := range 10 {
			path := trace.PhasePath("step", fmt.Sprint("phase ", phase))
			for k := range 30 {
				row := parquet.ProfileRow{
					Kind: parquet.ProfileMPI, Rank: int32(r), CallPath: fmt.Sprintf("MPI_Send@halo.c:%d", 10*phase+k), InPhase: true, Phase: path, Context: -1, Iterations: int32(k%3 - 1),
					Count: 100, Records: 100, TimeNS: int64(1_000_000 + r*31%977*100 + k), MinNS: 1, MaxNS: 100, SquaresNS2: 1e9, SentBytes: 1 << 20,
				}
				if k >= 20 {
					row.Kind, row.Cluster, row.Context, row.Counters = parquet.ProfileComputation, int32(k-19), 1, make([]parquet.ProfileCounter, 2)
				}
				row.WholeNS = row.TimeNS
				p.Profile.Rows = append(p.Profile.Rows, row)
			}
		}
	}
	p.Seal()
	return p
}

// What an answer takes, by ranks with 300 rows each.
func BenchmarkAsk(b *testing.B) {
	for _, ranks := range []int{1_000, 10_000} {
		s := plant(b, many(ranks))
		for _, q := range []Question{{By: ByCall}, {By: ByPhase}, {By: ByCallPath, Nested: true}, {By: ByRank}, {By: ByCall, Metric: metricIPC}} {
			q.Dir, q.Found, q.Top = s.Dir, -1, -1
			b.Run(fmt.Sprintf("%d/%s %s", ranks, q.By, q.Metric), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Ask(q); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("%d/tree", ranks), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tree, err := s.Tree(Exported, nil)
				if err == nil {
					err = tree.Each(func(int, *calltree.Values) error { return nil })
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
