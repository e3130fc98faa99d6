package dbscan

import (
	"fmt"
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// A pile is places of a halo that are core points of one cluster.
type pile struct {
	lo, hi []float64 // the corners of their box
	sample int32     // one that the halo has
	rest   []int32   // with the owner: those that it has not
}

// Places are a pile from as many on, and half as many stand for it.
var pilePlaces = 64

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

// concerned widens a box, nil at first, given by its corners, by those own places below a node about which a pile in a
// box of its own may decide something: of those within reach of it the ones that are no core points, as far as is
// known, or in another cluster than the pile.
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
	return s.sendPiles()
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
				at, behind := workers.Chunk(len(list), shown, k)
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

// sendPiles sends the others the piles in their halos.
func (s *sharedTree) sendPiles() error {
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
