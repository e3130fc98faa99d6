package dbscan

import "errors"

// An Index answers several questions about one set of points, which it orders once.
// It does not change; its methods may be called from several goroutines.
type Index struct {
	n, dims, threads int
}

// NewIndex orders the points. It keeps no reference to p.Coords. Errors are as for Cluster;
// threads, below 1 meaning 1, is also the number that the methods use.
func NewIndex(p Points, threads int) (*Index, error) {
	return nil, errors.New("dbscan: not built yet")
}

// Cluster is Cluster on the points of the index.
func (x *Index) Cluster(eps float64, minPts int) (*Result, error) {
	return nil, errors.New("dbscan: not built yet")
}

// KDistance returns the k-distance curve: distances to the k-th nearest neighbour, the point itself
// not counted, in descending order. In 1-D it holds all points. From 2-D on at most queries points,
// or DefaultQueries if queries is below 1, are asked, a deterministic sample; their neighbours are
// always sought among all points. k must be ≥ 1. Where there is no k-th neighbour, k ≥ n, the curve
// is empty.
func (x *Index) KDistance(k, queries int) ([]float64, error) {
	return nil, errors.New("dbscan: not built yet")
}
