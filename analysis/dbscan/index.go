package dbscan

import (
	"sync"
	"sync/atomic"
)

// An Index answers several questions about one set of points. What the questions share is made when
// the first of them needs it: up to two copies of the points, one for the k-distance, and one for clusterings from the
// second Eps on. Its methods may be called from several goroutines.
type Index struct {
	points  Points
	threads int
	line    func() *line // in 1-D
	sorted  atomic.Bool  // line is there
	tree    func() *tree // from 2-D on
	asked   func() *tree // about a sample of the points
	nesting nesting      // in 2-D and 3-D
}

// NewIndex keeps p.Coords, which must not change as long as the index is in use. Errors are as for
// Cluster; threads, below 1 meaning 1, is also the number that the methods use.
func NewIndex(p Points, threads int) (*Index, error) {
	if err := checkShape(p); err != nil {
		return nil, err
	}
	if err := checkFinite(p); err != nil {
		return nil, err
	}
	return newIndex(p, threads), nil
}

// newIndex is for points whose shape has been checked.
func newIndex(p Points, threads int) *Index {
	x := &Index{points: p, threads: max(1, threads)}
	x.line = sync.OnceValue(func() *line {
		x.sorted.Store(true)
		return newLine(p.Coords, x.threads)
	})
	x.tree = sync.OnceValue(func() *tree { return newTree(p, smallLeaf, x.threads) })
	x.asked = x.tree
	if p.Dims <= gridDims { // where the tree is the last resort of clustering
		x.asked = sync.OnceValue(func() *tree { return newTree(p, largeLeaf, x.threads) })
	}
	return x
}

// Cluster is Cluster on the points of the index.
func (x *Index) Cluster(eps float64, minPts int) (*Result, error) {
	if err := checkParameters(eps, minPts); err != nil {
		return nil, err
	}
	return x.cluster(eps, minPts)
}

// cluster finds numbers that are not finite.
func (x *Index) cluster(eps float64, minPts int) (*Result, error) {
	if x.points.Dims > 1 {
		if level := x.nesting.levelFor(x.points, eps, x.threads); level != nil {
			if r := level.cluster(eps, minPts, x.threads); r != nil {
				return r, nil
			}
		}
	}
	if !x.sorted.Load() {
		if r, err := clusterOnGrid(x.points, eps, minPts, x.threads); r != nil || err != nil {
			return r, err
		}
	}
	if err := checkFinite(x.points); err != nil {
		return nil, err
	}
	if x.points.Dims == 1 {
		return x.line().cluster(eps, minPts, x.threads), nil
	}
	return x.tree().cluster(eps, minPts, x.threads), nil
}
