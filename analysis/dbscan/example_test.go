package dbscan_test

import (
	"fmt"

	"moriens/analysis/dbscan"
)

// Two dense groups and a point far from both.
func ExampleCluster() {
	points := dbscan.Points{Dims: 2, Coords: []float64{
		0.0, 0.0,
		0.1, 0.0,
		0.0, 0.1,
		5.0, 5.0,
		5.1, 5.0,
		5.0, 5.1,
		9.0, 0.0,
	}}
	r, err := dbscan.Cluster(points, 0.2, 3, 1)
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Clusters, "clusters")
	for i, label := range r.Labels {
		if label == dbscan.Noise {
			fmt.Println("point", i, "is noise")
		} else {
			fmt.Println("point", i, "is in cluster", label)
		}
	}
	// Output:
	// 2 clusters
	// point 0 is in cluster 0
	// point 1 is in cluster 0
	// point 2 is in cluster 0
	// point 3 is in cluster 1
	// point 4 is in cluster 1
	// point 5 is in cluster 1
	// point 6 is noise
}
