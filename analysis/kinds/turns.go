package kinds

import (
	"math"
	"math/bits"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// How kinds that take turns are distinguished: kinds.md, step 6.
const (
	turnBursts  = 200 // of a kind, at least
	turnPairs   = 50  // of bursts that a correlation is of, at least
	longestTurn = 16
	turnPeak    = .4
	turnOver    = .5 // over the worst shorter lag
	nearPeak    = .9
	turnApart   = .2 // of the ranks, between medians of positions
	turnShare   = .02
	turnNoise   = .7 // of a group's bursts that have a kind
	turnD       = .6
	rankUnits   = 1 << 12 // of which ranks are whole numbers: sums do not depend on their order
)

// A turning is a kind at work.
type turning struct {
	ranks byCell // mid-rank less that of the middle, in rankUnits of all
	lag   int
	sums  [longestTurn + 1]int64
	pairs [longestTurn + 1]int64
	power int64
	fresh int32 // the kind of its slower half, if there is one
}

// noiseOf is, by group, the kind of which its noise may be: that which most of its bursts are of; None where none has
// turnNoise of them.
func (l *local) noiseOf(kindOf []int32, spreads [][]spread, c *executor) []int32 {
	group := l.groupsOf(c, kindOf, len(spreads))
	all, of := make([]int64, l.Groups), slices.Repeat([]int32{None}, l.Groups)
	for k, g := range group {
		if g >= 0 {
			all[g] += spreads[k][0].bursts
		}
	}
	for k, g := range group {
		if g >= 0 && float64(spreads[k][0].bursts) >= turnNoise*float64(all[g]) {
			of[g] = int32(k)
		}
	}
	return of
}

// turns finds kinds of which the bursts take turns, quick and slow. kindOf is per burst, of kinds kinds, None for
// noise; the slower half of a kind gets a number from kinds on. It returns, for those, what kind they are of.
func (l *local) turns(c *executor, kindOf []int32, kinds int) (halves []int32) {
	spreads := l.spreads(c, func(i int) int32 { return kindOf[i] }, kinds, func(i int) int32 { return l.Cell[i] })
	work := make([]*turning, kinds)
	some := false
	for k := range work {
		if s := &spreads[k][0]; s.bursts >= turnBursts && len(s.cells) > 1 {
			work[k], some = newTurning(s), true
		}
	}
	if !some {
		return nil
	}
	of := l.byKind(c, kindOf, l.noiseOf(kindOf, spreads, c), work)
	sizes := make([]int, kinds)
	for k, rows := range of {
		sizes[k] = len(rows)
	}
	c.halted()
	workers.Every(sizes, c.workers, func(k int) {
		if work[k] != nil {
			l.correlate(work[k], of[k], kindOf)
		}
	})
	var words []int64
	for _, t := range work {
		if t != nil {
			words = append(append(append(words, t.sums[:]...), t.pairs[:]...), t.power)
		}
	}
	c.Reduce(team.Sum, words)
	for k, t := range work {
		if t == nil {
			continue
		}
		n := copy(t.sums[:], words)
		n += copy(t.pairs[:], words[n:])
		t.power = words[n]
		words = words[n+1:]
		if !t.hasTurns(spreads[k][0].bursts) {
			work[k] = nil
		}
	}
	if !slices.ContainsFunc(work, func(t *turning) bool { return t != nil }) {
		return nil
	}
	slow := make([]bool, l.n)
	workers.Every(sizes, c.workers, func(k int) {
		if work[k] != nil {
			l.positions(work[k], of[k], kindOf, slow)
		}
	})
	half := l.spreads(c, func(i int) int32 {
		if k := kindOf[i]; k >= 0 && work[k] != nil && slow[i] {
			return k
		}
		return None
	}, kinds, func(i int) int32 { return l.Cell[i] })
	for k, t := range work {
		if t == nil {
			continue
		}
		t.fresh = None
		if all, b := &spreads[k][0], &half[k][0]; apart(all, b, l.Side) {
			t.fresh = int32(kinds + len(halves))
			halves = append(halves, int32(k))
		}
	}
	for k, rows := range of {
		if t := work[k]; t != nil && t.fresh != None {
			for _, i := range rows {
				if slow[i] {
					kindOf[i] = t.fresh
				}
			}
		}
	}
	return halves
}

func newTurning(s *spread) *turning {
	ranks := make([]int32, len(s.cells))
	below := int64(0)
	for i := range ranks {
		mid := (float64(below)+float64(s.counts[i])/2)/float64(s.bursts) - .5
		ranks[i] = int32(math.Round(mid * rankUnits))
		below += s.counts[i]
	}
	return &turning{ranks: newByCell(s.cells, ranks)}
}

// byKind lists the bursts of the kinds at work, and among them the noise that may be of them: it has its turn too.
func (l *local) byKind(c *executor, kindOf, noiseOf []int32, work []*turning) [][]int32 {
	return workers.Lists(l.n, len(work), c.workers, func(i int) int32 {
		kind := kindOf[i]
		if kind == None {
			kind = noiseOf[l.Group[i]]
		}
		if kind < 0 || work[kind] == nil {
			return None
		}
		return kind
	})
}

// pieces cuts the bursts of a kind where it is not known what was between them: at the ends of threads, and where
// records were lost.
func (l *local) pieces(rows []int32, do func(rows []int32)) {
	if len(rows) == 0 {
		return
	}
	from := 0
	next, _ := slices.BinarySearch(l.starts, rows[0]+1)
	for k, i := range rows {
		if next == len(l.starts) || i < l.starts[next] {
			continue
		}
		do(rows[from:k])
		from = k
		for next < len(l.starts) && l.starts[next] <= i {
			next++
		}
	}
	do(rows[from:])
}

// correlate adds up products of ranks, of pairs of bursts of which both have a kind.
func (l *local) correlate(t *turning, rows, kindOf []int32) {
	const block = 1<<12 - longestTurn
	var w ranked
	l.pieces(rows, func(rows []int32) {
		for from := 0; from < len(rows); from += block {
			first := min(from, longestTurn) // of those that are not in the block before
			some := rows[from-first : min(from+block, len(rows))]
			w.known = [len(w.known)]uint64{}
			for k, i := range some {
				if w.z[k] = 0; kindOf[i] != None {
					w.z[k] = t.ranks.at(l.Cell[i])
					w.known[k/64] |= 1 << (k % 64)
				}
			}
			for _, v := range w.z[first:len(some)] {
				t.power += int64(v) * int64(v)
			}
			for lag := 1; lag <= longestTurn; lag++ {
				if begin := max(first, lag); begin < len(some) {
					t.sums[lag] += w.products(lag, begin, len(some))
					t.pairs[lag] += w.pairs(lag, begin)
				}
			}
		}
	})
}

// ranked is some bursts of a kind, one after the other.
type ranked struct {
	z     [1 << 12]int32 // ranks; 0 where the burst has no kind
	known [1 << 6]uint64 // a bit each: it has
}

func (w *ranked) products(lag, from, to int) (sum int64) {
	before := w.z[from-lag : to-lag]
	for k, v := range w.z[from:to] {
		sum += int64(v) * int64(before[k])
	}
	return sum
}

// pairs counts those of which both are known, and the later one is no earlier than from, which is below 64.
func (w *ranked) pairs(lag, from int) int64 {
	n := bits.OnesCount64(w.known[0] & (w.known[0] << lag) & (math.MaxUint64 << from))
	for i, word := range w.known[1:] {
		n += bits.OnesCount64(word & (word<<lag | w.known[i]>>(64-lag)))
	}
	return int64(n)
}

// hasTurns finds the lag.
func (t *turning) hasTurns(bursts int64) bool {
	if t.power == 0 {
		return false
	}
	mean := float64(t.power) / float64(bursts)
	r := make([]float64, longestTurn+1)
	for lag := 1; lag <= longestTurn; lag++ {
		if t.pairs[lag] > turnPairs {
			r[lag] = float64(t.sums[lag]) / float64(t.pairs[lag]) / mean
		}
	}
	peak := slices.Max(r[2:])
	if peak < turnPeak {
		return false
	}
	for t.lag = 2; r[t.lag] < nearPeak*peak; t.lag++ {
	}
	return r[t.lag] >= turnPeak && r[t.lag]-slices.Min(r[1:t.lag]) >= turnOver
}

// positions says which bursts are at a position, counted modulo the lag, where they are slow.
func (l *local) positions(t *turning, rows, kindOf []int32, slow []bool) {
	l.pieces(rows, func(rows []int32) {
		z := make([]int32, len(rows))
		for k, i := range rows {
			z[k] = t.ranks.at(l.Cell[i])
		}
		whole := len(z) / t.lag * t.lag
		medians := make([]float64, t.lag)
		for p := range medians {
			var list []int32
			for k := p; k < whole; k += t.lag {
				if kindOf[rows[k]] != None {
					list = append(list, z[k])
				}
			}
			medians[p] = median(list)
		}
		lo, hi := slices.Min(medians), slices.Max(medians)
		for k, i := range rows {
			if hi-lo > turnApart*rankUnits {
				slow[i] = medians[k%t.lag] > (lo+hi)/2
			} else {
				slow[i] = z[k] > 0
			}
		}
	})
}

func median(list []int32) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return float64(list[(len(list)-1)/2]+list[len(list)/2]) / 2
}

// apart reports whether a part of a kind's bursts lies otherwise than the rest.
func apart(all, part *spread, side float64) bool {
	rest := all.bursts - part.bursts
	if float64(min(rest, part.bursts)) < turnShare*float64(all.bursts) {
		return false
	}
	most, k := 0., 0
	var a, b int64
	for i, cell := range all.cells {
		n := all.counts[i]
		if k < len(part.cells) && part.cells[k] == cell {
			b += part.counts[k]
			n -= part.counts[k]
			k++
		}
		a += n
		most = max(most, math.Abs(float64(a)/float64(rest)-float64(b)/float64(part.bursts)))
	}
	if most < turnD {
		return false
	}
	whole := spread{slices.Clone(all.cells), slices.Clone(all.counts), all.bursts}
	whole.take(part)
	return math.Abs(whole.quantile(.5)-part.quantile(.5))*side >= peakDistance
}
