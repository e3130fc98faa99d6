package partition_test

import (
	"fmt"
	"testing"

	"moriens/analysis/partition"
	"moriens/analysis/space"
)

func benchmarkCompute(b *testing.B, n, pairs int) {
	bursts := planted(n, pairs, 7)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := partition.Compute(bursts, partition.Options{
					Dims:   []space.Dim{{Num: space.Duration, Scale: space.Log}},
					Filter: space.Filter{Auto: true}, Workers: workers,
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "bursts/s")
		})
	}
}

func BenchmarkCompute10k(b *testing.B)         { benchmarkCompute(b, 10_000, 20) }
func BenchmarkCompute1M(b *testing.B)          { benchmarkCompute(b, 1_000_000, 20) }
func BenchmarkCompute10M(b *testing.B)         { benchmarkCompute(b, 10_000_000, 20) }
func BenchmarkCompute10MOneGroup(b *testing.B) { benchmarkCompute(b, 10_000_000, 1) }

func BenchmarkCompute1MCounters(b *testing.B) {
	bursts := withCounters(planted(1_000_000, 20, 7))
	dims, err := space.Parse("PAPI_TOT_INS:log,IPC")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o := partition.Options{Dims: dims, By: partition.ByNone, Filter: space.Filter{Auto: true}, Workers: 2}
		if _, err := partition.Compute(bursts, o); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEnd is the end of a run: 10 M bursts on 100 threads, scored and refined.
func BenchmarkEnd10M(b *testing.B) {
	bursts := planted(10_000_000, 20, 7)
	for i := range 100 {
		bursts.ThreadEnds = append(bursts.ThreadEnds, (i+1)*100_000)
	}
	for b.Loop() {
		r, err := partition.Compute(bursts, partition.Options{Dims: logDuration, Filter: space.Filter{Auto: true}, JobThreads: 100, Workers: 2})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(r.Score, "score")
		b.ReportMetric(float64(len(r.Tree.Levels)), "steps")
	}
}
