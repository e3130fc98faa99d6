package trace

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whole call paths are counted as in the plainest way, whoever has which threads; the most frequent are kept.
func TestPathTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const clusters, paths = 3, 2000
		run := Run{Clusters: make([]Cluster, clusters), Threads: make([]Thread, rapid.IntRange(1, 3).Draw(t, "threads"))}
		for i := range run.Threads {
			b := &run.Threads[i].Bursts
			few := rapid.SampledFrom([]int{3, 30, paths}).Draw(t, "paths")
			for range rapid.IntRange(0, 300).Draw(t, "bursts") {
				b.Cluster = append(b.Cluster, int32(rapid.IntRange(-1, clusters).Draw(t, "cluster")))
				b.Before = append(b.Before, uint32(rapid.IntRange(0, few-1).Draw(t, "before")))
				b.After = append(b.After, uint32(rapid.IntRange(0, few-1).Draw(t, "after")))
			}
		}
		run.TallyPaths(run.Threads)
		for id := range int32(clusters) {
			for side, got := range [][]PathCount{run.Clusters[id].WholeBefore, run.Clusters[id].WholeAfter} {
				var want []PathCount
				for path := range uint32(paths) {
					n := 0
					for i := range run.Threads {
						b := &run.Threads[i].Bursts
						for k, label := range b.Cluster {
							if of := [...]uint32{b.Before[k], b.After[k]}; label == id+1 && of[side] == path {
								n++
							}
						}
					}
					if n > 0 {
						want = append(want, PathCount{path, n})
					}
				}
				slices.SortStableFunc(want, func(a, b PathCount) int { return cmp.Compare(b.Bursts, a.Bursts) })
				if want = want[:min(len(want), MostPaths)]; !slices.Equal(got, want) {
					t.Fatalf("cluster %d, side %d: %v, want %v", id+1, side, got, want)
				}
			}
		}
	})
}
