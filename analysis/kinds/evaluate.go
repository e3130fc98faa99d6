package kinds

import (
	"cmp"
	"math"
	"slices"
)

// When leaves next to each other are two kinds: kinds.md, step 5.
const (
	apartByOrder   = .25
	apartSurely    = .6 // from which on a thread's own order suffices, and no places of its own are asked for
	apartIfFew     = .5 // where one has fewer bursts than
	few            = 25
	ownPlaces      = .25 // of the bursts of one of two, at places where the other never comes: where ranks share cores
	apartShare     = .2  // of the bursts of both
	steadyApart    = .7  // of medians of what nothing disturbs: twice as many instructions
	apartOfAll     = .1  // of the bursts of the stratum
	apartDistance  = .2  // of the medians, durations
	apartWithMore  = .05
	narrow         = .15 // quartile range of the slower one
	narrowToOther  = 2.  // times that of the quicker one
	nearestOnALine = 2
	poolDistance   = .1
	imbalance      = .15 // of the medians of what each thread has one of: up to it the same work, unevenly spread
)

// A Leaf is a cluster of density: bursts of one stratum.
type Leaf struct {
	Stratum int32
	Bursts  int64
}

// A Join made one kind of two.
type Join struct {
	Round    int   // from 0
	From, To int32 // leaves that stood for the kinds; To stands for both
	Reason
}

// A Verdict is the result of the evaluation of the leaves.
type Verdict struct {
	Of []int32 // per leaf: the leaf that stands for its kind
	// Pool says of a leaf that its bursts are disturbed ones of several kinds: each has the kind of its place, and, where
	// that is not known, that which Of says.
	Pool   []bool
	Joins  []Join
	Why    []Reason // per leaf: why it is a kind of its own, or what it is a variant of and why
	Rounds int
}

// An evaluator aggregates leaves.
type evaluator struct {
	leaves  []Leaf
	spreads [][]spread        // per leaf: along each dimension
	wide    []spread          // per leaf that stands for a kind: of all its bursts, along the first
	places  []float64         // per leaf: its median along each dimension, in units of the coordinates
	members map[int32][]int32 // by stratum: its leaves
	strata  map[int32]*spread
	all     map[int32]int64 // by stratum: bursts, tails included
	crowded bool
	steady  []bool    // as in Bursts
	bursts  []int64   // per leaf that stands for a kind
	timeNS  []float64 // by leaf, as its cells have it
	grams   *grams    // by codes of what stands for each kind
	*episodes
	known    map[[2]int32]float64 // how well order predicts pairs of kinds, valid as long as grams do not change
	distinct map[int32][]int32    // per kind, in a round: up to two kinds that its place distinguishes it from
	side     float64
	dims     int
	codes    codes
	groups   int
	of       []int32
	v        *Verdict
}

// A pair is two kinds that are next to each other.
type pair struct {
	a, b     int32
	foretold float64
	share    float64 // of the bursts of both that the smaller has
	distance float64
	compact  bool
	apart    bool
	// everywhere says that order distinguishes them, as far as the scheduler's slices do: neither has places of its own.
	everywhere bool
	mixed      bool // the slower one is disturbed bursts of several kinds
}

func (j *evaluator) run() *Verdict {
	n := len(j.leaves)
	j.v = &Verdict{Of: make([]int32, n), Pool: make([]bool, n), Why: make([]Reason, n)}
	j.of, j.strata, j.members = j.v.Of, make(map[int32]*spread), make(map[int32][]int32)
	j.places, j.known = placesOf(j.spreads, j.dims, j.side), make(map[[2]int32]float64)
	for i := range j.of {
		j.of[i] = int32(i)
		j.members[j.leaves[i].Stratum] = append(j.members[j.leaves[i].Stratum], int32(i))
		j.wide = append(j.wide, j.spreads[i][0])
		j.bursts = append(j.bursts, j.leaves[i].Bursts)
	}
	j.timeNS = timesOf(j.spreads, j.side)
	for {
		j.distinct = make(map[int32][]int32)
		pairs := j.pairs(j.nearest)
		joins := j.choose(pairs)
		if len(joins) == 0 {
			joins = j.choose(j.pairs(j.slower))
		}
		if len(joins) == 0 {
			joins = j.choose(j.mixed())
		}
		if len(joins) == 0 {
			j.explain(pairs)
			return j.v
		}
		j.join(joins)
		j.v.Rounds++
	}
}

// pairs are some of those among the kinds of each stratum.
func (j *evaluator) pairs(some func(kinds []int32) [][2]int32) (list []pair) {
	for _, leaves := range j.members {
		kinds := j.standing(leaves)
		if len(kinds) < 2 {
			continue
		}
		for _, p := range some(kinds) {
			list = append(list, j.weigh(p[0], p[1]))
		}
	}
	slices.SortFunc(list, j.comparePairs)
	return list
}

// standing are those of some leaves that stand for their kinds.
func (j *evaluator) standing(leaves []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(leaves), func(leaf int32) bool { return j.of[leaf] != leaf })
}

// comparePairs puts those that are least foretold first, and of several those of the largest kinds.
func (j *evaluator) comparePairs(x, y pair) int {
	xa, xb := j.ordered(x.a, x.b)
	ya, yb := j.ordered(y.a, y.b)
	return cmp.Or(cmp.Compare(x.foretold, y.foretold), j.compare(xa, ya), j.compare(xb, yb))
}

// compare puts that of two leaves of a stratum first that takes more time, then the larger, then the quicker one.
// Leaves are numbered by their time, which one process knows to the nanosecond and agents do not, while all know the
// cells: so numbers decide only about what is alike in all else.
func (j *evaluator) compare(a, b int32) int {
	return cmp.Or(cmp.Compare(j.timeNS[b], j.timeNS[a]), cmp.Compare(j.bursts[b], j.bursts[a]), j.comparePlaces(a, b), cmp.Compare(a, b))
}

func (j *evaluator) comparePlaces(a, b int32) (order int) {
	for d := 0; d < j.dims && order == 0; d++ {
		order = cmp.Compare(j.place(a, d), j.place(b, d))
	}
	return order
}

func (j *evaluator) ordered(a, b int32) (first, second int32) {
	if j.compare(b, a) < 0 {
		return b, a
	}
	return a, b
}

// nearest pairs each kind with the nearest one, on a line with the two nearest.
func (j *evaluator) nearest(kinds []int32) (pairs [][2]int32) {
	add := func(a, b int32) { pairs = append(pairs, [2]int32{min(a, b), max(a, b)}) }
	if j.dims == 1 {
		byPlace := slices.Clone(kinds)
		slices.SortFunc(byPlace, func(a, b int32) int { return cmp.Or(cmp.Compare(j.place(a, 0), j.place(b, 0)), j.compare(a, b)) })
		for i, a := range byPlace {
			from, to := max(0, i-nearestOnALine), min(len(byPlace), i+nearestOnALine+1)
			around := slices.Concat(byPlace[from:i], byPlace[i+1:to])
			slices.SortStableFunc(around, func(x, y int32) int { return cmp.Compare(j.distance(a, x), j.distance(a, y)) })
			for _, b := range around[:min(nearestOnALine, len(around))] {
				add(a, b)
			}
		}
	} else {
		for _, a := range kinds {
			best, least := int32(-1), 0.
			for _, b := range kinds {
				if b == a {
					continue
				}
				if d := j.distance(a, b); best < 0 || d < least || d == least && j.compare(b, best) < 0 {
					best, least = b, d
				}
			}
			add(a, best)
		}
	}
	slices.SortFunc(pairs, func(x, y [2]int32) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) })
	return slices.Compact(pairs)
}

// slower pairs each kind with all that are larger and quicker: it may come in the place of one of these, as the same
// work does that was kept waiting for always the same time.
func (j *evaluator) slower(kinds []int32) (pairs [][2]int32) {
	if j.dims > 1 {
		return nil
	}
	for _, a := range kinds {
		for _, b := range kinds {
			if j.bursts[a] < j.bursts[b] && j.place(a, 0) > j.place(b, 0) {
				pairs = append(pairs, [2]int32{min(a, b), max(a, b)})
			}
		}
	}
	return pairs
}

// mixed pairs kinds with the next quicker one that come in the places of all quicker ones together by chance: disturbed
// bursts of several kinds, which are foretold beside each of these alone.
func (j *evaluator) mixed() (list []pair) {
	if j.dims > 1 {
		return nil
	}
	for _, leaves := range j.members {
		kinds := j.standing(leaves)
		slices.SortFunc(kinds, func(a, b int32) int { return cmp.Or(cmp.Compare(j.place(a, 0), j.place(b, 0)), j.compare(a, b)) })
		quicker, bursts := new(gathered), int64(0)
		for i, a := range kinds {
			if i > 1 && j.bursts[a] < bursts {
				if p := j.weigh(kinds[i-1], a); p.foretold >= apartByOrder {
					p.foretold = quicker.foretold(j.grams, j.codes.leaf(a))
					if p.apart = p.foretold >= apartByOrder && (j.bursts[a] >= few || p.foretold >= apartIfFew); !p.apart {
						p.mixed = true
						list = append(list, p)
						continue
					}
				}
			}
			quicker.add(j.grams, j.codes.leaf(a))
			bursts += j.bursts[a]
		}
	}
	slices.SortFunc(list, j.comparePairs)
	return list
}

// place is a leaf's median along a dimension, in units of the coordinates. That of a kind is that of the leaf that
// stands for it.
func (j *evaluator) place(leaf int32, dim int) float64 { return j.places[int(leaf)*j.dims+dim] }

func placesOf(spreads [][]spread, dims int, side float64) []float64 {
	places := make([]float64, 0, len(spreads)*dims)
	for _, s := range spreads {
		for d := range dims {
			places = append(places, s[d].quantile(.5)*side)
		}
	}
	return places
}

// timesOf are the times of leaves, by the last of their columns: how long bursts are.
func timesOf(spreads [][]spread, side float64) []float64 {
	times := make([]float64, len(spreads))
	for i, columns := range spreads {
		length := &columns[len(columns)-1]
		for k, cell := range length.cells {
			times[i] += float64(length.counts[k]) * math.Exp((float64(cell)+.5)*side)
		}
	}
	return times
}

func (j *evaluator) distance(a, b int32) float64 {
	sum := 0.
	for d := range j.dims {
		x := j.place(a, d) - j.place(b, d)
		sum += x * x
	}
	return math.Sqrt(sum)
}

// weigh reports whether two kinds are two.
func (j *evaluator) weigh(a, b int32) pair {
	p := pair{a: a, b: b, foretold: j.foretold(a, b), distance: j.distance(a, b)}
	x, y := j.codes.leaf(a), j.codes.leaf(b)
	others := j.grams.byProgram(othersNow, x, y)
	slowAlone := j.grams.othersKnown(x, y) && others.foretold(x, y) < leastByOthers
	if p.foretold < apartSurely && others.alone(x, y) || slowAlone && j.episode(a, b) || j.imbalance(&p) {
		p.foretold = 0
	}
	smaller, larger := min(j.bursts[a], j.bursts[b]), max(j.bursts[a], j.bursts[b])
	p.share = float64(smaller) / float64(smaller+larger)
	p.compact = j.compact(a, b)
	far := apartDistance
	if j.dims > 1 {
		far = apartWithMore
	}
	switch {
	case j.differ(a, b):
		p.apart, p.foretold = true, 1
	case j.crowded && p.foretold >= apartByOrder && p.foretold < apartSurely && !j.ownPlaces(a, b):
		p.everywhere = true
	case smaller < few:
		p.apart = p.foretold >= apartIfFew
	default:
		p.apart = p.foretold >= apartByOrder || !j.crowded && p.share >= apartShare && p.distance >= far && p.compact && j.large(a) && j.large(b) && j.valley(a, b) && !j.placed(a, b)
	}
	return p
}

// ownPlaces reports whether one of two kinds has places at which the other never comes. The scheduler's slices give
// bursts an order too where ranks share cores, but not one that always holds. What other threads do is no witness:
// threads that share cores get their slices together.
func (j *evaluator) ownPlaces(a, b int32) bool {
	x, y := j.codes.leaf(a), j.codes.leaf(b)
	for _, way := range []int{twoBefore, twoAfter, oneEach, itsCall} {
		t := j.grams.byProgram(way, x, y)
		if t.without(x, y) >= ownPlaces || t.without(y, x) >= ownPlaces {
			return true
		}
	}
	return false
}

// episode reports whether two kinds come in long runs, and whether nothing but others that do distinguishes them: all
// that a core does is slow for a while.
func (j *evaluator) episode(a, b int32) bool {
	return j.inRuns(j.kind(a), j.kind(b)) && j.byCalls(j.grams, j.codes.leaf(a), j.codes.leaf(b)) < apartByOrder
}

// imbalance reports whether two kinds that take nearly the same time are on threads of their own, and whether the calls
// round them do not distinguish them: the same work, of which some threads have more.
func (j *evaluator) imbalance(p *pair) bool {
	return j.dims == 1 && p.distance < imbalance && j.onOwnThreads(j.kind(p.a), j.kind(p.b)) && j.byCalls(j.grams, j.codes.leaf(p.a), j.codes.leaf(p.b)) < apartByOrder
}

// kind is the leaves of one, without those whose bursts are of several.
func (j *evaluator) kind(of int32) []int32 {
	members := j.members[j.leaves[of].Stratum]
	return slices.DeleteFunc(slices.Clone(members), func(leaf int32) bool { return j.of[leaf] != of || j.v.Pool[leaf] })
}

// differ reports whether two kinds are two whatever comes round them: no burst of one is between the calls of a burst
// of the other, or what nothing disturbs differs.
func (j *evaluator) differ(a, b int32) bool {
	for d := range j.dims {
		if j.steady != nil && j.steady[d] && math.Abs(j.place(a, d)-j.place(b, d)) >= steadyApart {
			return true
		}
	}
	return j.otherCalls(a, b)
}

// otherCalls reports whether no burst of one of two kinds is between the calls of a burst of the other.
func (j *evaluator) otherCalls(a, b int32) bool {
	return j.grams[itsCall].Len() > 0 && j.grams[itsCall].disjoint(j.codes.leaf(a), j.codes.leaf(b))
}

// placed reports whether two kinds have a place in the order of things, which distinguishes them from a third one: so
// they come in each other's place.
func (j *evaluator) placed(a, b int32) bool {
	fromAnother := func(x, but int32) bool {
		return slices.ContainsFunc(j.distinctFrom(x), func(c int32) bool { return c != but })
	}
	return fromAnother(a, b) && fromAnother(b, a)
}

// distinctFrom are the first two kinds of its stratum that a kind's place distinguishes it from: one of them is a third
// one to any pair.
func (j *evaluator) distinctFrom(x int32) []int32 {
	list, known := j.distinct[x]
	if known {
		return list
	}
	for _, c := range j.members[j.leaves[x].Stratum] {
		if c != x && j.of[c] == c && j.foretold(x, c) >= apartIfFew {
			if list = append(list, c); len(list) == 2 {
				break
			}
		}
	}
	j.distinct[x] = list
	return list
}

// foretold is how far order distinguishes two kinds.
func (j *evaluator) foretold(a, b int32) float64 {
	key := [2]int32{min(a, b), max(a, b)}
	u, known := j.known[key]
	if !known {
		u = j.grams.foretoldByProgram(j.codes.leaf(key[0]), j.codes.leaf(key[1]))
		j.known[key] = u
	}
	return u
}

// choose takes the pairs that are one, least foretold first, each kind once.
func (j *evaluator) choose(pairs []pair) (joins []pair) {
	taken := make(map[int32]bool)
	for _, p := range pairs {
		if !p.apart && !taken[p.a] && !taken[p.b] {
			taken[p.a], taken[p.b] = true, true
			joins = append(joins, p)
		}
	}
	return joins
}

// join makes the smaller of each pair a variant of the larger.
func (j *evaluator) join(joins []pair) {
	to := identity(j.codes.leaves + j.groups + 1)
	renamed := false
	joined := make(map[int32]int32)
	for _, p := range joins {
		into, from := p.a, p.b
		if order := cmp.Or(cmp.Compare(j.bursts[from], j.bursts[into]), j.comparePlaces(into, from), cmp.Compare(into, from)); order > 0 {
			into, from = from, into
		}
		if pooled := j.pooled(&p); pooled != None {
			into, from = p.a+p.b-pooled, pooled
			for i, of := range j.of { // what has joined it comes in several places too
				j.v.Pool[i] = j.v.Pool[i] || of == from
			}
		} else if code := j.codes.leaf(from); code < codeMost {
			to[code], renamed = j.codes.leaf(into), true
		}
		joined[from] = into
		why := j.reason(&p)
		why.Other, why.Pool = into, j.v.Pool[from]
		j.v.Joins = append(j.v.Joins, Join{Round: j.v.Rounds, From: from, To: into, Reason: why})
		j.v.Why[from] = why
		if !j.v.Pool[from] {
			j.bursts[into] += j.bursts[from]
			j.wide[into].add(&j.wide[from])
		}
	}
	for i, of := range j.of {
		if into, gone := joined[of]; gone {
			j.of[i] = into
		}
	}
	if renamed {
		j.grams = j.grams.relabel(to)
		clear(j.known)
	}
}

func identity(n int) []int32 {
	to := make([]int32, min(n, codeMost+1))
	for i := range to {
		to[i] = int32(i)
	}
	return to
}

// explain says of the kinds in the end why they are.
func (j *evaluator) explain(pairs []pair) {
	for i := range j.v.Why {
		if j.of[i] == int32(i) {
			j.v.Why[i] = Reason{Other: None}
		}
	}
	for _, p := range pairs {
		for _, leaf := range []int32{p.a, p.b} {
			if why := &j.v.Why[leaf]; why.Other == None || p.foretold < why.Foretold {
				*why = j.reason(&p)
				why.Other = p.a + p.b - leaf
			}
		}
	}
}
