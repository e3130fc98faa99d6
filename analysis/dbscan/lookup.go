package dbscan

import (
	"cmp"
	"fmt"
	"slices"
)

// A Lookup gives places the label of the nearest of some points. It may be asked by several goroutines at once.
type Lookup struct {
	labels []int32
	eps    float64
	runs   []labelled // in 1-D
	tree   *tree      // in more
	eps2   float64    // in the scale of the tree
}

// NewLookup makes one of points with labels, which looks no farther than eps, ≥ 0, up to threads threads at work.
func NewLookup(p Points, labels []int32, eps float64, threads int) (*Lookup, error) {
	if err := checkParameters(eps, 1); err != nil {
		return nil, err
	}
	if err := checkShape(p); err != nil {
		return nil, err
	}
	if err := checkFinite(p); err != nil {
		return nil, err
	}
	if len(labels) != p.Len() {
		return nil, fmt.Errorf("dbscan: %d labels for %d points", len(labels), p.Len())
	}
	l := &Lookup{labels: labels, eps: eps}
	if p.Dims == 1 {
		l.line(p.Coords)
		return l, nil
	}
	l.tree = newTree(p, smallLeaf, max(1, threads)).scaled(scaleFor(eps, 0))
	l.eps2 = eps * l.tree.scale * (eps * l.tree.scale)
	return l, nil
}

// Label returns the label of the point that is nearest to a place and no farther from it than Eps, the first of those
// that are as near; Noise: there is none.
func (l *Lookup) Label(at []float64) int32 {
	row := int32(-1)
	if l.tree == nil {
		row = l.onLine(at[0])
	} else if len(l.tree.nodes) > 0 {
		s := looking{Lookup: l, at: at, least: l.eps2, row: -1}
		if l.tree.least2(pointBox(at), l.tree.box(0)) <= s.least {
			s.look(0)
		}
		row = s.row
	}
	if row < 0 {
		return Noise
	}
	return l.labels[row]
}

// labelled is a run of points on a line with one label, each no farther than Eps from the next: whatever lies between
// them has that label. There are few.
type labelled struct {
	begin, end  float64
	first, last int32 // the first points, in their order, at both ends
}

func (l *Lookup) line(places []float64) {
	order := make([]int32, len(places))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(places[a], places[b]), cmp.Compare(a, b)) })
	for _, i := range order {
		x := places[i]
		if n := len(l.runs); n > 0 {
			r := &l.runs[n-1]
			if x == r.end { // the first one at a place counts
				continue
			}
			if l.labels[r.last] == l.labels[i] && x-r.end <= l.eps {
				r.end, r.last = x, i
				continue
			}
		}
		l.runs = append(l.runs, labelled{x, x, i, i})
	}
}

func (l *Lookup) onLine(x float64) int32 {
	next, _ := slices.BinarySearchFunc(l.runs, x, func(r labelled, x float64) int {
		if r.begin <= x {
			return -1
		}
		return 1
	})
	row, least := int32(-1), l.eps
	if next > 0 {
		r := &l.runs[next-1]
		if x <= r.end {
			return r.first // of all in it the label is the same
		}
		if d := x - r.end; d <= least {
			row, least = r.last, d
		}
	}
	if next < len(l.runs) {
		r := &l.runs[next]
		if d := r.begin - x; d < least || d == least && (row < 0 || r.first < row) {
			row = r.first
		}
	}
	return row
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
