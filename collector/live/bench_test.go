package live

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
)

// BenchmarkLook is what live clusters take of each second of a job without a viewer, in its first minute, and in the
// last 20 s of that: two ranks that make so many calls a second between them, in a loop of 20 with six kinds of bursts.
func BenchmarkLook(b *testing.B) {
	for _, rate := range []int{1_000, 30_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("calls=%d", rate), func(b *testing.B) {
			const looks, last, ranks = 60, 20, 2
			random := rand.New(rand.NewPCG(1, 2))
			var job grouping.Bursts
			job.CounterNames, job.Counters = []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}, make([][]int64, 2)
			for range ranks {
				before := uint32(0)
				for i := range rate * looks / ranks {
					ns := 1000 * math.Exp(float64(i%6)+.02*random.NormFloat64())
					job.DurationNS = append(job.DurationNS, int64(ns))
					job.Before, job.After = append(job.Before, before), append(job.After, uint32(i%20)+1)
					job.Counters[0] = append(job.Counters[0], int64(3*ns))
					job.Counters[1] = append(job.Counters[1], int64(ns*(2+.01*random.NormFloat64())))
					before = uint32(i%20) + 1
				}
				job.ThreadEnds = append(job.ThreadEnds, job.Len())
			}
			var took, later time.Duration
			for b.Loop() {
				d := deliver(b, job)
				l := New(d.store, grouping.Options{By: grouping.ByAuto, Filter: space.Filter{Auto: true}}, slog.New(slog.DiscardHandler))
				for i := range looks {
					d.next(i, looks, 4096)
					now := l.cluster(time.Time{})
					took += now
					if i >= looks-last {
						later += now
					}
				}
			}
			n := float64(b.N)
			b.ReportMetric(float64(took)/n/looks/1e6, "ms/s")
			b.ReportMetric(float64(later)/n/last/1e6, "later-ms/s")
			b.ReportMetric(float64(later)/n/last/float64(rate), "later-ns/call")
		})
	}
}
