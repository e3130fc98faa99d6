package clock

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"moriens/internal/team"
)

// What the members of a team exchange while they solve: of a bound no more than what would count if one of them had
// all.

// shareNodes puts together what the bounds of all members say of the nodes.
func (s *solver) shareNodes() error {
	first, last, refused := make([]int64, len(s.clocks)), make([]int64, len(s.clocks)), []int64{int64(s.refused)}
	for i := range s.clocks {
		first[i], last[i] = s.clocks[i].baseNS, s.clocks[i].lastNS
	}
	for _, share := range []struct {
		values []int64
		op     team.Op
	}{{first, team.Min}, {last, team.Max}, {refused, team.Sum}} {
		if err := s.in.Team.AllReduce(share.values, share.op); err != nil {
			return err
		}
	}
	for i := range s.clocks {
		s.clocks[i].baseNS, s.clocks[i].lastNS = first[i], last[i]
	}
	s.refused = int(refused[0])
	return nil
}

// sharePairs makes the pairs from what all members have found, in the order of their nodes.
func (s *solver) sharePairs() error {
	byNodes := func(a, b pairKey) int { return cmp.Or(cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b)) }
	var own []int32
	for _, key := range slices.SortedFunc(maps.Keys(s.index), byNodes) {
		own = append(own, key.a, key.b)
	}
	all, err := team.Gather(s.in.Team, own)
	if err != nil {
		return err
	}
	for _, list := range all {
		for ; len(list) >= 2; list = list[2:] {
			s.index[pairKey{list[0], list[1]}] = 0
		}
	}
	for i, key := range slices.SortedFunc(maps.Keys(s.index), byNodes) {
		s.index[key] = i
		s.pairs = append(s.pairs, &pair{a: int(key.a), b: int(key.b), wander: firstWander})
	}
	return nil
}

// sharePoints keeps of the points that members have found at each knot those that are worth most; at says where a knot
// lies. Each member looks through those of some pairs, and sends them to all.
func (s *solver) sharePoints(at func(knot int) float64) error {
	members := s.in.Team.Size()
	if members == 1 || len(s.pairs) == 0 {
		return nil
	}
	part := func(member int) []*pair {
		return s.pairs[member*len(s.pairs)/members : (member+1)*len(s.pairs)/members]
	}
	parts := make([][]float64, members)
	for i := range parts {
		for _, p := range part(i) {
			parts[i] = p.encode(parts[i])
		}
	}
	theirs, err := team.Exchange(s.in.Team, parts)
	if err != nil {
		return err
	}
	mine := part(s.in.Team.Rank())
	for _, list := range theirs {
		for _, p := range mine {
			list = p.decode(list, at)
		}
	}
	var best []float64
	for _, p := range mine {
		best = p.encode(best)
	}
	all, err := team.Gather(s.in.Team, best)
	if err != nil {
		return err
	}
	for i, list := range all {
		for _, p := range part(i) {
			list = p.decode(list, at)
		}
	}
	return nil
}

// encode appends a pair's points.
func (p *pair) encode(list []float64) []float64 {
	for k := range p.lower {
		list = append(list, p.lower[k].x, p.lower[k].value, p.upper[k].x, p.upper[k].value)
	}
	return list
}

// decode adds points that another member has reported, and returns what follows them.
func (p *pair) decode(list []float64, at func(knot int) float64) []float64 {
	for k := range p.lower {
		if low := (point{list[0], list[1]}); !math.IsInf(low.value, 0) {
			p.atLeast(k, at(k), low)
		}
		if high := (point{list[2], list[3]}); !math.IsInf(high.value, 0) {
			p.atMost(k, at(k), high)
		}
		list = list[4:]
	}
	return list
}
