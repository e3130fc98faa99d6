package dbscan

import "testing"

// GatherUpTo makes members gather up to so many points until the end of a test.
func GatherUpTo(t testing.TB, points int64) {
	before := gatheredPoints
	gatheredPoints = points
	t.Cleanup(func() { gatheredPoints = before })
}

// Crowds are points of kinds that differ in width.
var Crowds = crowds

// ClusterOnGrid is Cluster through cells, even where nearly nothing is decided by counts; it returns nil where these
// cannot be numbered.
func (x *Shared) ClusterOnGrid(eps float64, minPts int) (*Result, error) {
	s, err := x.newSharedGrid(eps, minPts)
	if s == nil || err != nil {
		return nil, err
	}
	return s.cluster()
}

// ClusterOnTree is Cluster by regions of space.
func (x *Shared) ClusterOnTree(eps float64, minPts int) (*Result, error) {
	return x.onTree(eps, minPts)
}

// PileUp makes piles of so many places until the end of a test.
func PileUp(t testing.TB, places int) {
	before := pilePlaces
	pilePlaces = places
	t.Cleanup(func() { pilePlaces = before })
}
