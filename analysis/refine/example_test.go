package refine_test

import (
	"fmt"

	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
)

// Two ranks alternate between a short and a long computation. At the larger Eps all bursts are one cluster. At the
// smaller one there are two, and the sequences of both ranks agree on them.
func ExampleRun() {
	var b refine.Bursts
	group := refine.Group{Points: dbscan.Points{Dims: 1}, Eps: []float64{0.5, 5}, MinPts: 3}
	for range 2 { // ranks
		for i := range 8 {
			ms := int64(10 + 2*(i%2)) // 10, 12, 10, 12, …
			group.Rows = append(group.Rows, int32(len(b.DurationNS)))
			group.Points.Coords = append(group.Points.Coords, float64(ms))
			b.DurationNS = append(b.DurationNS, ms*1e6)
		}
		b.Ends = append(b.Ends, len(b.DurationNS))
	}
	b.Groups = []refine.Group{group}
	r, err := refine.Run(b, refine.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println("the first rank:", r.Labels[:b.Ends[0]])
	for _, n := range r.Nodes {
		fmt.Printf("cluster %d: %d bursts, %d ms, Eps %v, score %v\n", n.ID, n.Bursts, n.TimeNS/1e6, n.Eps, n.Score)
	}
	// Output:
	// the first rank: [2 1 2 1 2 1 2 1]
	// cluster 1: 8 bursts, 96 ms, Eps 0.5, score 1
	// cluster 2: 8 bursts, 80 ms, Eps 0.5, score 1
}
