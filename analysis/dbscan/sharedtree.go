package dbscan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/team"
	"moriens/internal/mix"
)

// A sharedTree is the tree's way where points have several members: space is cut into regions, one for each member, to which the points
// of the region go, and those within Eps of it, its halo. Where many are at one place, the place goes with their number. Of its own points a member
// finds all neighbours, and so the core points; what the others have found of its halo they tell, and then all links of its own points are
// at hand.
//
// Where points crowd, so that regions are narrow against Eps, halos would be all points. So of many places of a halo that are surely core points of one
// cluster a few stand for all, a pile, until it shows that the others are needed.
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

// A limit cuts a part of space in two: below is who has what is below at along the axis, above who has the rest, each a member, or the complement
// of another limit.
type limit struct {
	below, above int
	axis         int
	at           float64
}

// A pile is places of a halo that are core points of one cluster.
type pile struct {
	lo, hi []float64 // the corners of their box
	sample int32     // one that the halo has
	rest   []int32   // with the owner: those that it has not
}

// Places are a pile from as many on, and half as many stand for it.
var pilePlaces = 64

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

// solve finds the core points and what is in one cluster, as far as the known places tell.
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

// askForPiles gets what may matter of the rest of piles; more says that some member has asked.
func (s *sharedTree) askForPiles() (more bool, err error) {
	d := s.all.Dims
	asked, boxes := make([][]int32, s.Size()), make([][]float64, s.Size())
	none := true
	for m, piles := range s.theirs {
		for i, p := range piles {
			if s.own == 0 {
				continue
			}
			if about := s.concerned(nil, 0, box{p.lo, p.hi}, s.rootOf(p.sample)); about != nil {
				asked[m], boxes[m] = append(asked[m], int32(i)), append(boxes[m], about...)
				none = false
			}
		}
	}
	if none, err = s.every(none); err != nil || none {
		return false, err
	}
	if asked, err = team.Exchange(s, asked); err != nil {
		return false, err
	}
	if boxes, err = team.Exchange(s, boxes); err != nil {
		return false, err
	}
	out := make([][]int32, s.Size())
	for m, list := range asked {
		for i, k := range list {
			about := box{boxes[m][2*d*i : 2*d*i+d], boxes[m][2*d*i+d : 2*d*(i+1)]}
			for _, p := range s.piles[m][k].rest {
				if s.least2(pointBox(s.point(s.rows[p])), about) <= s.eps2 {
					out[m] = append(out[m], p)
				}
			}
		}
	}
	return true, s.extendHalo(out)
}

// concerned widens a box, nil at first, given by its corners, by those own places below a node about which a pile in a box of its own may decide something: of those
// within reach of it the ones that are no core points, as far as is known, or in another cluster than the pile.
func (s *sharedTree) concerned(about []float64, nd int32, pile box, root int32) []float64 {
	x := &s.nodes[nd]
	if s.least2(pile, s.box(nd)) > s.eps2 {
		return about
	}
	if x.right != 0 && !s.clique[nd] {
		return s.concerned(s.concerned(about, nd+1, pile, root), x.right, pile, root)
	}
	for i := x.begin; i < x.end; i++ {
		if int(s.cells.rows[i]) >= s.own || s.core[i] && s.sets.find(s.cells.of[i]) == root {
			continue
		}
		p := s.point(i)
		if s.least2(pointBox(p), pile) > s.eps2 {
			continue
		}
		if about == nil {
			about = slices.Concat(p, p)
		}
		widen(about[:len(p)], about[len(p):], p)
	}
	return about
}

// findPlaces counts the points of this member by place. What is at one place in two forms, by the sign of a zero, makes two.
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

// regionSamples is how many places a member shows for the regions to be chosen by.
const regionSamples = 1024

// cutSpace cuts space, halving the longest side of what some members shall own, so that each gets about as many places. All members cut
// it alike.
func (s *sharedTree) cutSpace() error {
	n, d := s.places.Len(), s.places.Dims
	var mine []float64
	for i := range min(n, regionSamples) {
		at, _ := chunk(n, min(n, regionSamples), i)
		mine = append(mine, s.places.Coords[at*d:(at+1)*d]...)
	}
	samples, err := team.Gather(s, mine)
	if err != nil {
		return err
	}
	counts, err := team.Gather(s, []int64{int64(n)})
	if err != nil {
		return err
	}
	var all []shownPlace
	for m, list := range samples {
		shown := int64(len(list) / d)
		for ; len(list) > 0; list = list[d:] {
			all = append(all, shownPlace{list[:d], float64(counts[m][0]) / float64(shown)})
		}
	}
	s.root = s.cut(all, 0, s.Size())
	return nil
}

// A shownPlace stands for some number of places.
type shownPlace struct {
	at     []float64
	places float64
}

// cut cuts a part of space for the members from … to-1, and returns who has it.
func (s *sharedTree) cut(shown []shownPlace, from, to int) int {
	if to-from == 1 {
		return from
	}
	l := limit{at: math.Inf(1)}
	var longest, sum float64
	for j := range s.places.Dims {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, p := range shown {
			lo, hi = min(lo, p.at[j]), max(hi, p.at[j])
		}
		if side := hi/2 - lo/2; side > longest {
			l.axis, longest = j, side
		}
	}
	slices.SortFunc(shown, func(a, b shownPlace) int { return cmp.Compare(a.at[l.axis], b.at[l.axis]) })
	for _, p := range shown {
		sum += p.places
	}
	middle := (from + to) / 2
	part := sum * float64(middle-from) / float64(to-from)
	split := 0
	for passed := 0.; split < len(shown) && passed < part; split++ {
		passed += shown[split].places
	}
	if split < len(shown) {
		l.at = shown[split].at[l.axis]
	}
	for split > 0 && shown[split-1].at[l.axis] == l.at {
		split--
	}
	l.below, l.above = s.cut(shown[:split], from, middle), s.cut(shown[split:], middle, to)
	s.limits = append(s.limits, l)
	return ^(len(s.limits) - 1)
}

// near appends the members in whose regions some place within eps of a point may lie; with eps below 0 only the one in whose the point does.
// part is who has the part of space that is looked through.
func (s *sharedTree) near(dst []int, part int, at []float64, eps float64) []int {
	if part >= 0 {
		return append(dst, part)
	}
	l := &s.limits[^part]
	// Rounded differences are in the order of the exact ones, and no distance is below the difference along one axis.
	v := at[l.axis]
	if v < l.at || v-l.at <= eps {
		dst = s.near(dst, l.below, at, eps)
	}
	if v >= l.at || l.at-v <= eps {
		dst = s.near(dst, l.above, at, eps)
	}
	return dst
}

// distribute sends places to the owners of their regions, and those to where they are needed.
func (s *sharedTree) distribute() error {
	d := s.places.Dims
	s.all.Dims = d
	s.home.out = make([][]int32, s.Size())
	var members []int
	for p := range s.counts {
		members = s.near(members[:0], s.root, s.places.Coords[p*d:(p+1)*d], -1)
		s.home.out[members[0]] = append(s.home.out[members[0]], int32(p))
	}
	var err error
	if s.home.in, err = s.send(s.home.out, s.places, s.counts); err != nil {
		return err
	}
	s.own = len(s.weights)
	if err := s.checkPlaces(); err != nil {
		return err
	}
	out := make([][]int32, s.Size())
	s.piles = make([][]pile, s.Size())
	if s.own > 0 {
		s.chooseHalos(out)
	}
	s.halo = route{make([][]int32, s.Size()), make([][]int32, s.Size())}
	if err := s.extendHalo(out); err != nil {
		return err
	}
	return s.tellPiles()
}

func (s *sharedTree) checkPlaces() error {
	var err error
	if n := len(s.weights); n > math.MaxInt32 {
		err = fmt.Errorf("dbscan: %d places to look after for member %d: want at most %d; more members have fewer each", n, s.Rank(), math.MaxInt32)
	}
	return team.Agree(s, err)
}

// chooseHalos lists the own places that the others get, and makes piles.
func (s *sharedTree) chooseHalos(out [][]int32) {
	d := s.all.Dims
	c := newTree(s.all, smallLeaf, s.threads).weighed(s.weights).newCells(s.eps, s.minPts)
	near := make([][]int32, s.Size()) // per member: places of a run
	var members []int
	for i := range c.runs {
		r := &c.runs[i]
		for at := r.begin; at < r.end; at++ {
			members = s.near(members[:0], s.root, c.point(at), s.eps)
			for _, m := range members {
				if m != s.Rank() {
					near[m] = append(near[m], c.rows[at])
				}
			}
		}
		crowd := r.node >= 0 && c.weight(r.begin, r.end) >= s.minPts // all core points, and near each other
		for m, list := range near {
			near[m] = list[:0]
			if !crowd || len(list) < pilePlaces {
				out[m] = append(out[m], list...)
				continue
			}
			p := pile{sample: int32(len(out[m]))}
			shown := pilePlaces / 2
			next := 0
			for k := range shown {
				at, behind := chunk(len(list), shown, k)
				out[m] = append(out[m], list[at])
				p.rest = append(p.rest, list[at+1:behind]...)
				next = behind
			}
			p.rest = append(p.rest, list[next:]...)
			first := s.all.Coords[int(list[0])*d:][:d]
			p.lo, p.hi = slices.Clone(first), slices.Clone(first)
			for _, at := range list {
				widen(p.lo, p.hi, s.all.Coords[int(at)*d:][:d])
			}
			s.piles[m] = append(s.piles[m], p)
		}
	}
}

// tellPiles tells the others of the piles in their halos.
func (s *sharedTree) tellPiles() error {
	d := s.all.Dims
	samples, boxes := make([][]int32, s.Size()), make([][]float64, s.Size())
	for m, piles := range s.piles {
		for _, p := range piles {
			samples[m] = append(samples[m], p.sample)
			boxes[m] = append(append(boxes[m], p.lo...), p.hi...)
		}
	}
	gotSamples, err := team.Exchange(s, samples)
	if err != nil {
		return err
	}
	gotBoxes, err := team.Exchange(s, boxes)
	if err != nil {
		return err
	}
	s.theirs = make([][]pile, s.Size())
	for m, list := range gotSamples {
		if len(gotBoxes[m]) != 2*d*len(list) {
			return misfit(m, len(gotBoxes[m]), 2*d*len(list))
		}
		for i, j := range list {
			b := gotBoxes[m][2*d*i:]
			s.theirs[m] = append(s.theirs[m], pile{lo: b[:d], hi: b[d : 2*d], sample: s.halo.in[m][j]})
		}
	}
	return nil
}

// extendHalo sends own places to others' halos.
func (s *sharedTree) extendHalo(out [][]int32) error {
	in, err := s.send(out, s.all, s.weights)
	if err != nil {
		return err
	}
	for m := range out {
		s.halo.out[m], s.halo.in[m] = append(s.halo.out[m], out[m]...), append(s.halo.in[m], in[m]...)
	}
	return s.checkPlaces()
}

// send sends places with their weights, and adds those that come to the known ones.
func (s *sharedTree) send(out [][]int32, p Points, weight []int64) (in [][]int32, err error) {
	d := p.Dims
	coords, weights := make([][]float64, len(out)), make([][]int64, len(out))
	for m, list := range out {
		for _, i := range list {
			coords[m] = append(coords[m], p.Coords[int(i)*d:(int(i)+1)*d]...)
			weights[m] = append(weights[m], weight[i])
		}
	}
	gotCoords, err := team.Exchange(s, coords)
	if err != nil {
		return nil, err
	}
	gotWeights, err := team.Exchange(s, weights)
	if err != nil {
		return nil, err
	}
	in = make([][]int32, len(out))
	for m, list := range gotWeights {
		if len(gotCoords[m]) != len(list)*d {
			return nil, misfit(m, len(gotCoords[m]), len(list)*d)
		}
		for i := range list {
			in[m] = append(in[m], int32(len(s.weights)+i))
		}
		s.weights = append(s.weights, list...)
		s.all.Coords = append(s.all.Coords, gotCoords[m]...)
	}
	return in, nil
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
