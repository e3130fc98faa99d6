package levels

import (
	"testing"

	"moriens/trace"
	"moriens/trace/rundir/rundirtest"
)

// What call paths by classes cost where there are many ranks: ns and bytes a row.
func BenchmarkByClass(b *testing.B) {
	p := rundirtest.Deep(10_000)
	run := &trace.Run{CallPaths: p.Paths.CallPaths, PathNames: p.Paths.PathNames, Threads: p.Paths.Threads}
	of := make([]int32, len(run.Threads))
	for i := range of {
		of[i] = int32(i % 5)
	}
	rows := 0
	b.ReportAllocs()
	for b.Loop() {
		got, done := ByClass(&p.Profile, run, of)
		if done == nil || len(got.Rows) >= len(p.Profile.Rows) {
			b.Fatal("nothing is by class")
		}
		rows += len(p.Profile.Rows)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
	b.ReportMetric(float64(len(p.Profile.Rows)), "rows")
}
