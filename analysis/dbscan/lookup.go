package dbscan

// A Lookup finds which of some points is nearest to a place. It may be asked by several goroutines at once.
type Lookup struct {
	tree *tree
	eps2 float64 // in the scale of the tree
}

// NewLookup makes one that looks no farther than eps, ≥ 0, up to threads threads at work.
func NewLookup(p Points, eps float64, threads int) (*Lookup, error) {
	if err := checkParameters(eps, 1); err != nil {
		return nil, err
	}
	if err := checkShape(p); err != nil {
		return nil, err
	}
	if err := checkFinite(p); err != nil {
		return nil, err
	}
	t := newTree(p, smallLeaf, max(1, threads)).scaled(scaleFor(eps, 0))
	return &Lookup{t, eps * t.scale * (eps * t.scale)}, nil
}

// Nearest returns the index of the point that is nearest to a place and no farther from it than Eps, the first of those that are as near; -1: there is none.
func (l *Lookup) Nearest(at []float64) int32 {
	s := looking{Lookup: l, at: at, least: l.eps2, row: -1}
	if len(l.tree.nodes) > 0 && l.tree.least2(pointBox(at), l.tree.box(0)) <= s.least {
		s.look(0)
	}
	return s.row
}

type looking struct {
	*Lookup
	at    []float64
	least float64
	row   int32
}

func (s *looking) look(nd int32) {
	t := s.tree
	x := &t.nodes[nd]
	if x.right == 0 {
		for i := x.begin; i < x.end; i++ {
			v, row := t.distance2(s.at, t.point(i)), t.rows[i]
			if v < s.least || v == s.least && (s.row < 0 || row < s.row) {
				s.least, s.row = v, row
			}
		}
		return
	}
	left, right := nd+1, x.right
	l, r := t.least2(pointBox(s.at), t.box(left)), t.least2(pointBox(s.at), t.box(right))
	if r < l {
		left, right, l, r = right, left, r, l
	}
	if l <= s.least {
		s.look(left)
	}
	if r <= s.least {
		s.look(right)
	}
}
