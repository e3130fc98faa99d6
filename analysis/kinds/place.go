package kinds

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/mix"
	"moriens/internal/team"
)

// How bursts get the kind of their place: kinds.md, step 7.
const (
	placeBursts = 12  // of a context, at least
	placeDoubt  = 2   // bursts that a context is taken to have besides, of other kinds
	placeSlack  = .03 // that a burst may be shorter than the kind of its place
	placeOrder  = .2  // how far a place must distinguish two kinds
	placeSteady = .1  // that what is steady may differ
	placeOdds   = .3  // logarithm of how much likelier than usual a place must make one kind than another: by a third
	oddsDoubt   = 8   // bursts of each kind that are taken to be as usual besides
	placeShare  = .02 // of a group's bursts that a kind has which noise must be distinguished from
)

// placeRounds are the shares of a context that the kind must have, round after round.
var placeRounds = []float64{.9, .9, .8, .8, .7, .7, .6, .6, .6}

// More ways to know a place than grams have.
const (
	threeAround = iota + waysCount
	twoAndOthers
	threadOneEach
	threadTwoBefore
	placeWays
)

// placeFactor makes one word of two, as in a hash by multiplying: different contexts that occur get different words.
const placeFactor = 0xd6e8feb86659fd93

// placeKeys are a burst's contexts, by way; 0 = none. salts are those of its group.
func (l *local) placeKeys(salts *[placeWays]uint64, thread, i int) (keys [placeWays]uint64) {
	before, each, others := l.context(twoBefore, i), l.context(oneEach, i), l.others(i)
	for way, with := range [placeWays][2]int64{
		twoBefore: {before, 1}, twoAfter: {l.context(twoAfter, i), 1}, oneEach: {each, 1}, othersNow: {others, 1}, itsCall: {l.context(itsCall, i), 1},
		threeAround: {before, int64(l.after(i))}, twoAndOthers: {before, others}, threadOneEach: {each, int64(thread) + 1}, threadTwoBefore: {before, int64(thread) + 1},
	} {
		if with[0] != 0 && with[1] != 0 {
			keys[way] = max(mix.Bits(uint64(with[0])*placeFactor+uint64(with[1])+salts[way]), 1)
		}
	}
	return keys
}

// saltsOf distinguishes the contexts of groups.
func saltsOf(groups int) [][placeWays]uint64 {
	salts := make([][placeWays]uint64, groups)
	for group := range salts {
		for way := range salts[group] {
			salts[group][way] = mix.Bits(uint64(group)<<8 | uint64(way))
		}
	}
	return salts
}

// A placing is the bursts of groups with several kinds, and what comes in their contexts.
type placing struct {
	*local
	c        *executor
	kindOf   []int32 // per burst; None = noise
	salts    [][placeWays]uint64
	kinds    []kindAt
	number   []int32   // by kind: among those of its group
	of       [][]int32 // by group: its kinds
	here     *slots    // of this member's bursts
	shared   *slots    // of all members'
	tops     []slotTop // by slot that all members share
	grams    *grams
	distinct map[[2]int32]bool
	spread   [][]spread // by kind: along each dimension, and in length
}

// A kindAt is where the bursts of a kind lie.
type kindAt struct {
	group  int32
	bursts int64
	share  float64   // of its group's bursts
	length float64   // median, in sides
	broad  bool      // density sees no peak of it: most of its bursts are disturbed, and its median says nothing of how long it takes
	steady []float64 // medians of steady dimensions, in sides
}

// place gives bursts the kinds that their places predict, in kindOf. It returns by kind how far places distinguish it
// from the next, NaN for one that is alone.
func (l *local) place(c *executor, kindOf []int32, kinds int) []float64 {
	p := &placing{local: l, c: c, kindOf: kindOf, distinct: make(map[[2]int32]bool)}
	p.measure(kinds)
	predicted := slices.Repeat([]float64{math.NaN()}, kinds)
	if !p.noiseOfSingles() {
		return predicted
	}
	wanted := make([]bool, codeMost+1)
	for _, list := range p.of {
		if len(list) > 1 {
			for _, k := range list {
				wanted[l.codes.leaf(k)] = true
			}
		}
	}
	p.grams = l.grams(c, wanted)
	p.predict(predicted)
	p.begin()
	open := p.candidates()
	for round, least := range placeRounds {
		if round > 0 {
			c.halted()
		}
		moves := p.propose(open, least)
		if !team.Must(team.Any(c.Panicking, slices.ContainsFunc(open, func(list []int32) bool { return len(list) > 0 }))) {
			for _, x := range moves {
				p.kindOf[x.burst] = x.kind
			}
			break // contexts are not needed any more
		}
		p.apply(moves)
	}
	return predicted
}

// predict finds how far places distinguish each kind from the nearest others of its group. Where other calls or
// instructions distinguish two order is not needed.
func (p *placing) predict(predicted []float64) {
	j := &evaluator{dims: p.Dims, side: p.Side, places: placesOf(p.spread, p.Dims, p.Side), grams: p.grams, codes: p.codes, steady: p.Steady}
	for k := range p.kinds {
		j.bursts = append(j.bursts, p.kinds[k].bursts)
	}
	j.timeNS = timesOf(p.spread, p.Side)
	for _, group := range p.of {
		if len(group) < 2 {
			continue
		}
		for _, pair := range j.nearest(group) {
			if j.differ(pair[0], pair[1]) {
				continue
			}
			u := p.foretold(pair[0], pair[1])
			for _, k := range pair {
				if math.IsNaN(predicted[k]) || u < predicted[k] {
					predicted[k] = u
				}
			}
		}
	}
}

func (p *placing) foretold(a, b int32) float64 {
	return p.grams.foretold(p.codes.leaf(a), p.codes.leaf(b))
}

// measure finds where the kinds lie, and which a group has.
func (p *placing) measure(kinds int) {
	var columns []func(i int) int32
	for d := range p.Dims {
		columns = append(columns, func(i int) int32 { return p.Cell[i*p.Dims+d] })
	}
	if !p.Timed {
		columns = append(columns, func(i int) int32 { return p.Length[i] })
	}
	p.spread = p.spreads(p.c, func(i int) int32 { return p.kindOf[i] }, kinds, columns...)
	p.salts = saltsOf(p.Groups)
	p.kinds, p.number, p.of = make([]kindAt, kinds), make([]int32, kinds), make([][]int32, p.Groups)
	groups := p.groupsOf(p.c, p.kindOf, kinds)
	for k := range p.kinds {
		x := &p.kinds[k]
		length := len(columns) - 1 // the one coordinate, or behind all
		x.group, x.bursts, x.length = groups[k], p.spread[k][0].bursts, p.spread[k][length].quantile(.5)
		x.broad = (p.spread[k][length].quantile(.75)-p.spread[k][length].quantile(.25))*p.Side > narrow
		for d := range p.Dims {
			if p.Steady != nil && p.Steady[d] {
				x.steady = append(x.steady, p.spread[k][d].quantile(.5))
			}
		}
		if x.group >= 0 {
			p.number[k] = int32(len(p.of[x.group]))
			p.of[x.group] = append(p.of[x.group], int32(k))
		}
	}
	for _, list := range p.of {
		if len(list) == 1 { // no place says that a short burst is of it
			p.kinds[list[0]].broad = false
		}
	}
}

// noiseOfSingles gives noise in groups of one kind that kind. It reports whether there are groups of several.
func (p *placing) noiseOfSingles() bool {
	workers.Chunks(p.n, p.c.workers, func(_, from, to int) {
		for i := from; i < to; i++ {
			if list := p.of[p.Group[i]]; p.kindOf[i] == None && len(list) == 1 && p.mayBe(i, list[0]) {
				p.kindOf[i] = list[0]
			}
		}
	})
	for _, list := range p.of {
		sum := int64(0)
		for _, k := range list {
			sum += p.kinds[k].bursts
		}
		for _, k := range list {
			p.kinds[k].share = float64(p.kinds[k].bursts) / float64(sum)
		}
	}
	p.relabel(p.c, p.code)
	return slices.ContainsFunc(p.of, func(list []int32) bool { return len(list) > 1 })
}

func (p *placing) code(i int) int32 {
	if p.kindOf[i] == None {
		return p.codes.noise(p.Group[i])
	}
	return p.codes.leaf(p.kindOf[i])
}

// mayBe reports whether a burst is no shorter than a kind, and like it in what nothing disturbs.
func (p *placing) mayBe(i int, kind int32) bool {
	if p.shorter(i, kind) {
		return false
	}
	x, k := &p.kinds[kind], 0
	for d := range p.Dims {
		if p.Steady != nil && p.Steady[d] {
			if math.Abs(float64(p.Cell[i*p.Dims+d])+.5-x.steady[k])*p.Side > placeSteady {
				return false
			}
			k++
		}
	}
	return true
}

// shorter reports whether a burst is shorter than a kind. One that has no kind yet is not shorter than a broad one: it
// may be of the few that nothing disturbed.
func (p *placing) shorter(i int, kind int32) bool {
	return !(p.kindOf[i] == None && p.kinds[kind].broad) && (float64(p.Length[i])+.5-p.kinds[kind].length)*p.Side <= -placeSlack
}

// count adds a burst's contexts to slots, n times.
func (p *placing) count(s *slots, thread, i int, n int32) {
	kind := p.kindOf[i]
	if kind == None || len(p.of[p.Group[i]]) < 2 {
		return
	}
	for _, key := range p.placeKeys(&p.salts[p.Group[i]], thread, i) {
		if key != 0 {
			s.add(key, p.number[kind], n)
		}
	}
}

// begin counts all bursts.
func (p *placing) begin() {
	parts := make([]*slots, max(1, p.c.workers))
	workers.Chunks(p.n, p.c.workers, func(w, from, to int) {
		s := newSlots()
		p.eachThread(from, to, func(t, from, to int) {
			for i := from; i < to; i++ {
				p.count(s, t, i, 1)
			}
		})
		parts[w] = s
	})
	p.here = newSlots()
	for i, s := range parts {
		switch {
		case i == 0 && s != nil:
			p.here = s
		case s != nil:
			p.here.merge(s)
		}
	}
}

// share adds up what all members have in their contexts.
func (p *placing) share() {
	if p.c.Alone() {
		p.shared = p.here
		return
	}
	k := newCounter(2)
	s := p.here
	for slot, key := range s.contexts.keys {
		s.each(int32(slot), func(kind, n int32) { k.add(int64(n), int64(key), int64(kind)) })
	}
	t := p.c.all(k.table())
	p.shared = newSlots()
	for i, n := range t.Counts {
		p.shared.add(uint64(t.Key(i)[0]), int32(t.Key(i)[1]), int32(n))
	}
}

// findTops finds what comes most often in each context that says something: most are those of many bursts.
func (p *placing) findTops() {
	s := p.shared
	p.tops = make([]slotTop, len(s.at))
	workers.Chunks(len(s.at), p.c.workers, func(_, from, to int) {
		for slot := from; slot < to; slot++ {
			if s.at[slot].sum >= placeBursts {
				p.tops[slot] = s.top(int32(slot))
			}
		}
	})
}

// fewCandidates is the reciprocal of the share of bursts up to which candidates need no second place.
const fewCandidates = 4

// candidates are the bursts, by worker, that another kind of their group is quick enough for.
func (p *placing) candidates() [][]int32 {
	quickest := make([][]int32, len(p.of)) // by group: its kinds, the quickest first
	for g, kinds := range p.of {
		if len(kinds) > 1 {
			quickest[g] = slices.Clone(kinds)
			slices.SortStableFunc(quickest[g], func(a, b int32) int { return cmp.Compare(p.kinds[a].length, p.kinds[b].length) })
		}
	}
	parts := make([][]int32, max(1, p.c.workers))
	workers.Chunks(p.n, p.c.workers, func(w, from, to int) {
		parts[w] = make([]int32, 0, (to-from)/fewCandidates)
		for i := from; i < to; i++ {
			for _, other := range quickest[p.Group[i]] {
				if other == p.kindOf[i] {
					continue
				}
				if p.mayBe(i, other) {
					parts[w] = append(parts[w], int32(i))
					break
				}
				if p.kindOf[i] != None && p.shorter(i, other) { // than all that follow too
					break
				}
			}
		}
	})
	return parts
}

// propose returns the open bursts, by worker, that get other kinds, and leaves those open that may change in a later
// round. A burst of the kind that its place predicts is not moved.
func (p *placing) propose(open [][]int32, least float64) (moves []change) {
	p.share()
	p.findTops()
	wanted := make([][]change, len(open))
	workers.Chunks(len(open), len(open), func(_, from, to int) {
		for w := from; w < to; w++ {
			undecided := open[w][:0]
			for _, i := range open[w] {
				kind, share := p.best(int(i))
				switch {
				case kind == None:
					undecided = append(undecided, i)
				case kind == p.kindOf[i]:
				case share >= least && p.mayBe(int(i), kind):
					wanted[w] = append(wanted[w], change{i, kind})
				default:
					undecided = append(undecided, i)
				}
			}
			open[w] = undecided
		}
	})
	n := 0
	for _, list := range wanted {
		n += len(list)
	}
	moves = make([]change, 0, n)
	for _, list := range wanted {
		for _, x := range list {
			if p.distinguishes(x.kind, p.kindOf[x.burst]) {
				moves = append(moves, x)
			}
		}
	}
	return moves
}

// best is the kind that is most probable in the context that predicts best: in which it is most above its share of the
// group. The burst itself is left out. Where what shows most of that kind and the burst's own speaks for its own, that
// is best; None is, where it speaks for neither.
func (p *placing) best(i int) (kind int32, share float64) {
	kind = None
	group := p.of[p.Group[i]]
	highest := math.Inf(-1)
	contexts, known := p.contexts(i)
	for _, x := range contexts[:known] {
		top, most := p.tops[x.slot].kind, p.tops[x.slot].n
		if group[top] == p.kindOf[i] {
			most--
		}
		v, usual := float64(most)/float64(x.n+placeDoubt), p.kinds[group[top]].share
		if score := (v - usual) * math.Abs(v-usual) / usual; score > highest {
			kind, share, highest = group[top], v, score
		}
	}
	if own := p.kindOf[i]; own != None && kind != None && kind != own {
		most := 0.
		for _, x := range contexts[:known] {
			lift := func(k, self int32) float64 {
				return (float64(p.shared.count(x.slot, p.number[k])-self) + oddsDoubt) / (float64(x.n)*p.kinds[k].share + oddsDoubt)
			}
			if odds := math.Log(lift(kind, 0) / lift(own, 1)); math.Abs(odds) > math.Abs(most) {
				most = odds
			}
		}
		switch {
		case most <= -placeOdds:
			return own, 1
		case most < placeOdds:
			return None, 0
		}
	}
	return kind, share
}

// A placeContext is a context that says something, and how many bursts it has besides the one that is asked about.
type placeContext struct{ slot, n int32 }

// contexts are those of a burst that say something, and how many they are.
func (p *placing) contexts(i int) (list [placeWays]placeContext, known int) {
	for _, key := range p.placeKeys(&p.salts[p.Group[i]], p.threadOf(i), i) {
		if key == 0 {
			continue
		}
		slot := p.shared.find(key)
		if slot < 0 {
			continue
		}
		n := p.shared.at[slot].sum
		if p.kindOf[i] != None {
			n--
		}
		if n >= placeBursts {
			list[known] = placeContext{slot, n}
			known++
		}
	}
	return list, known
}
