package dbscan

// An Index answers several questions about one set of points, which it orders once.
// It does not change; its methods may be called from several goroutines.
type Index struct {
	n, threads int
	line       *line // in 1-D
	tree       *tree // from 2-D on
}

// NewIndex orders the points. It keeps no reference to p.Coords. Errors are as for Cluster;
// threads, below 1 meaning 1, is also the number that the methods use.
func NewIndex(p Points, threads int) (*Index, error) {
	if err := checkShape(p); err != nil {
		return nil, err
	}
	if err := checkFinite(p); err != nil {
		return nil, err
	}
	x := &Index{n: p.Len(), threads: max(1, threads)}
	if p.Dims == 1 {
		x.line = newLine(p.Coords, x.threads)
	} else {
		x.tree = newTree(p, x.threads)
	}
	return x, nil
}

// Cluster is Cluster on the points of the index.
func (x *Index) Cluster(eps float64, minPts int) (*Result, error) {
	if err := checkParameters(eps, minPts); err != nil {
		return nil, err
	}
	if x.line != nil {
		return x.line.cluster(eps, minPts, x.threads), nil
	}
	return x.tree.cluster(eps, minPts, x.threads), nil
}
