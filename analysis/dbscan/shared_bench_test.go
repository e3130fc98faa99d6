package dbscan_test

import (
	"fmt"
	"testing"

	"moriens/analysis/dbscan"
	"moriens/internal/mpix"
)

// Members in one process, one thread each, beside an index on as many threads.
func BenchmarkShared(b *testing.B) {
	for _, c := range []struct {
		dims, n int
		eps     float64
	}{{2, 1_000_000, .006}, {4, 200_000, .02}, {6, 20_000, .1}} {
		p := burstLike(c.n, c.dims)
		for _, size := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("%dD-%d/members=%d", c.dims, c.n, size), func(b *testing.B) {
				var bytes int64
				for b.Loop() {
					sent := make([]int64, size)
					err := mpix.Each(size, func(t mpix.Transport) error {
						begin, end := p.Len()*t.Rank()/size, p.Len()*(t.Rank()+1)/size
						x, err := dbscan.NewShared(t, dbscan.Points{Dims: c.dims, Coords: p.Coords[begin*c.dims : end*c.dims]}, 1)
						if err != nil {
							return err
						}
						if _, err = x.Cluster(c.eps, 10); err != nil {
							return err
						}
						for _, cost := range x.Costs() {
							sent[t.Rank()] += cost.Bytes
						}
						return nil
					})
					if err != nil {
						b.Fatal(err)
					}
					bytes = 0
					for _, n := range sent {
						bytes += n
					}
				}
				b.ReportMetric(float64(bytes), "sent-B/op")
			})
		}
	}
}
