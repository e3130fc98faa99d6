package dbscan

import (
	"math"
	"slices"

	"moriens/internal/mix"
)

// A sharedTree is the tree's way where points have several members: space is cut into regions, one for each member, to
// which the points of the region go, and those within Eps of it, its halo. Where many are at one place, the place goes
// with their number. Of its own points a member finds all neighbours, and so the core points; what the others have
// found of its halo they send, and then all links of its own points are at hand.
//
// Where points crowd, so that regions are narrow against Eps, halos would be all points. So of many places of a halo
// that are surely core points of one cluster a few stand for all, a pile, until it shows that the others are needed.
type sharedTree struct {
	*cells
	*meter
	threads int
	eps     float64
	minPts  int

	points Points  // this member's
	of     []int32 // per point: its place
	places Points  // of these points
	counts []int64 // per place: its points
	home   route   // from places to those of the owners

	limits []limit
	root   int // who has all of space

	all     Points // the places that this member knows, its own first
	weights []int64
	own     int
	halo    route    // from own places to their counterparts in others' halos
	piles   [][]pile // per member: in its halo
	theirs  [][]pile // per member: in this one's
	rows    []int32  // per known place: where the tree has it
	whole   map[int32]part
}

// onTree clusters through a tree.
func (x *Shared) onTree(eps float64, minPts int) (*Result, error) {
	s := &sharedTree{meter: x.team, threads: x.threads, eps: eps, minPts: minPts, points: x.points}
	s.stage("regions")
	s.findPlaces()
	if err := s.cutSpace(); err != nil {
		return nil, err
	}
	if err := s.distribute(); err != nil {
		return nil, err
	}
	s.stage("tree")
	if err := s.solve(); err != nil {
		return nil, err
	}
	s.stage("ask")
	if more, err := s.askForPiles(); err != nil {
		return nil, err
	} else if more {
		s.stage("tree")
		if err := s.solve(); err != nil {
			return nil, err
		}
	}
	s.stage("label")
	return s.label()
}

// solve finds the core points and what is in one cluster, as far as the known places show.
func (s *sharedTree) solve() error {
	n := s.all.Len()
	s.cells = &cells{tree: &tree{dims: s.all.Dims}}
	if n > 0 {
		s.cells = newTree(s.all, smallLeaf, s.threads).weighed(s.weights).newCells(s.eps, s.minPts)
	}
	s.rows = make([]int32, n)
	for at, row := range s.cells.rows {
		s.rows[row] = int32(at)
	}
	s.findAllCores(func(r *run) bool {
		return slices.ContainsFunc(s.cells.rows[r.begin:r.end], func(row int32) bool { return int(row) < s.own })
	}, s.threads)
	err := along(s, s.halo, func(p int32) bool { return s.core[s.rows[p]] }, func(p int32, core bool) { s.core[s.rows[p]] = core })
	if err != nil {
		return err
	}
	for i := range s.runs {
		r := &s.runs[i]
		r.allCore = !slices.Contains(s.core[r.begin:r.end], false)
	}
	s.linkAll(s.threads)
	return s.joinSets()
}

// rootOf is the first cell of the set of a known place.
func (s *sharedTree) rootOf(p int32) int32 { return s.sets.find(s.cells.of[s.rows[p]]) }

// joinSets joins sets of cells that are one by what others know.
func (s *sharedTree) joinSets() error {
	var err error
	s.whole, err = joinParts(s.meter, s.halo, len(s.rows), s.sets, s.rootOf, func(p int32) bool { return s.core[s.rows[p]] })
	return err
}

// findPlaces counts the points of this member by place. What is at one place in two forms, by the sign of a zero, makes
// two.
func (s *sharedTree) findPlaces() {
	p, d := s.points, s.points.Dims
	s.places.Dims = d
	s.of = make([]int32, p.Len())
	slots := make([]int32, 1<<10) // by hash: 1 + place
	hash := func(at []float64) uint64 {
		var h uint64
		for _, v := range at {
			h = mix.Bits(h ^ math.Float64bits(v))
		}
		return h
	}
	same := func(a, b []float64) bool {
		for j, v := range a {
			if math.Float64bits(v) != math.Float64bits(b[j]) {
				return false
			}
		}
		return true
	}
	slot := func(at []float64) *int32 {
		for i := hash(at); ; i++ {
			k := &slots[i&uint64(len(slots)-1)]
			if *k == 0 || same(at, s.places.Coords[int(*k-1)*d:int(*k)*d]) {
				return k
			}
		}
	}
	for i := range s.of {
		at := p.Coords[i*d : (i+1)*d]
		k := slot(at)
		if *k == 0 {
			s.counts = append(s.counts, 0)
			s.places.Coords = append(s.places.Coords, at...)
			*k = int32(len(s.counts))
		}
		s.counts[*k-1]++
		s.of[i] = *k - 1
		if 2*len(s.counts) > len(slots) {
			slots = make([]int32, 2*len(slots))
			for k := range s.counts {
				*slot(s.places.Coords[k*d : (k+1)*d]) = int32(k + 1)
			}
		}
	}
}

// label numbers the clusters and gives this member's points their labels.
func (s *sharedTree) label() (*Result, error) {
	number, roots, least := s.leastCores()
	var mine []part
	var keys []float64
	for i, root := range roots {
		mine = append(mine, wholeOf(s.whole, s.Rank(), root))
		keys = append(keys, s.point(least[i])...)
	}
	list, _, err := leastKeys(s.meter, mine, keys, s.all.Dims)
	if err != nil {
		return nil, err
	}
	order := make(map[part]int32, len(list))
	for i, p := range list {
		order[p] = int32(i)
	}
	for i, root := range roots {
		number[root] = order[mine[i]]
	}
	r := s.labelAll(number, len(list), s.threads)
	labels := make([]int32, s.places.Len())
	err = along(s, s.home.back(), func(p int32) int32 { return packLabel(r.Labels[p], r.Core[p]) }, func(p int32, v int32) { labels[p] = v })
	if err != nil {
		return nil, err
	}
	own := &Result{Labels: make([]int32, len(s.of)), Core: make([]bool, len(s.of)), Clusters: len(list)}
	writeLabels(s.of, labels, own, s.threads)
	return own, nil
}
