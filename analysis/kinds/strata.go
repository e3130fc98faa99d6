package kinds

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// How groups are cut by what surrounds their bursts: kinds.md, step 2.
const (
	strataQuantiles = 64
	strataApart     = .6  // Kolmogorov distance
	strataShare     = .02 // of the bursts of a group
	strataContexts  = 4096
)

// leastContext is how many bursts a context has at least that says something, of so many contexts.
func leastContext(contexts int) int64 { return int64(30 * (1 + math.Log(float64(max(1, contexts)))/2)) }

// stratify cuts groups, first by the groups of the bursts before and after, then, if asked, by thread. It returns how
// many strata there are.
func (l *local) stratify(c *executor, byThread bool) int {
	strata := l.Groups
	strata = l.cut(c, strata, peakDistance, func(thread, i int) int64 {
		if l.begins[i] || l.begins[i+1] {
			return noContext
		}
		return int64(l.Group[i-1])<<codeBits | int64(l.Group[i+1])
	})
	if !byThread {
		return strata
	}
	return l.cut(c, strata, imbalance, func(thread, _ int) int64 { return int64(thread) })
}

// noContext is the context of a burst that has none.
const noContext = 1<<(2*codeBits) - 1

// cut cuts strata by a context. Contexts whose medians are nearer than this are alike.
func (l *local) cut(c *executor, strata int, near float64, context func(thread, i int) int64) int {
	if strata > codeMost {
		return strata // their numbers do not fit a key
	}
	key := func(thread, i int) int64 { return int64(l.stratum[i])<<(2*codeBits) | context(thread, i) }
	all := c.tally(1, l.n, func(k *counter, from, to int) {
		l.eachThread(from, to, func(t, from, to int) {
			for i := from; i < to; i++ {
				k.one(key(t, i))
			}
		})
	})
	contexts := make([]*stratumContexts, strata)
	index := newCounter(1) // of the contexts that say something, in strata that may be cut
	words := c.decide(all, func(sum *Table) []int64 { return mayBeCut(sum) })
	for len(words) > 0 {
		s := &stratumContexts{bursts: words[1], contexts: int(words[2])}
		contexts[words[0]] = s
		large := words[4 : 4+2*words[3]]
		words = words[4+2*words[3]:]
		for ; len(large) > 0; large = large[2:] {
			s.row, s.of = append(s.row, index.row(large[0])), append(s.of, large[1])
		}
	}
	if len(index.counts) == 0 {
		return strata
	}
	l.quantiles(c, contexts)
	bins := make([][]int64, max(1, c.workers))
	workers.Chunks(l.n, c.workers, func(w, from, to int) {
		sums := make([]int64, len(index.counts)*(strataQuantiles+1))
		l.eachThread(from, to, func(t, from, to int) {
			for i := from; i < to; i++ {
				if s := contexts[l.stratum[i]]; s != nil {
					if row := index.find(key(t, i)); row >= 0 {
						sums[int(row)*(strataQuantiles+1)+s.bin(l.Cell[i])]++
					}
				}
			}
		})
		bins[w] = sums
	})
	for _, sums := range bins[1:] {
		for i, n := range sums {
			bins[0][i] += n
		}
	}
	c.Reduce(team.Sum, bins[0])
	to := make([]int32, len(index.counts)) // by context: its stratum
	cut := false
	for stratum, s := range contexts {
		if s == nil {
			continue
		}
		for _, row := range s.row {
			to[row] = int32(stratum)
			s.bins = append(s.bins, bins[0][int(row)*(strataQuantiles+1):][:len(s.edges)+1])
		}
		for _, class := range s.classes(near / l.Side) {
			for _, at := range class {
				to[s.row[at]] = int32(strata)
			}
			strata++
			cut = true
		}
	}
	if !cut {
		return strata
	}
	was := l.stratum
	l.stratum = l.ownStrata()
	workers.Chunks(l.n, c.workers, func(_, from, end int) {
		copy(l.stratum[from:end], was[from:end])
		l.eachThread(from, end, func(t, from, end int) {
			for i := from; i < end; i++ {
				if contexts[l.stratum[i]] != nil {
					if row := index.find(key(t, i)); row >= 0 {
						l.stratum[i] = to[row]
					}
				}
			}
		})
	})
	return strata
}

// ownStrata is an array for as many numbers as there are bursts: that of their strata, as soon as these are not their
// groups.
func (l *local) ownStrata() []int32 {
	if l.n == 0 || &l.stratum[0] == &l.Group[0] {
		return make([]int32, l.n)
	}
	return l.stratum
}

// stratumContexts are the contexts of the bursts of a stratum that say something.
type stratumContexts struct {
	bursts   int64   // of all contexts
	contexts int     // those that say nothing included
	of       []int64 // bursts
	row      []int32 // among the contexts of all strata
	edges    []int32 // cells where the pooled quantiles are
	lowest   int32   // cell of bins
	binOf    []uint8 // by cell, from lowest on
	bins     [][]int64
}

// mayBeCut finds the strata with several contexts that say something: their number, bursts and contexts, and of those
// that say something how many there are, and of each its key and bursts.
func mayBeCut(all *Table) (words []int64) {
	for from := 0; from < all.Len(); {
		stratum, to, bursts := all.Keys[from]>>(2*codeBits), from, int64(0)
		for ; to < all.Len() && all.Keys[to]>>(2*codeBits) == stratum; to++ {
			bursts += all.Counts[to]
		}
		contexts := to - from
		least := leastContext(contexts)
		var large []int64
		for i := from; i < to; i++ {
			if all.Counts[i] >= least && all.Keys[i]&noContext != noContext {
				large = append(large, all.Keys[i], all.Counts[i])
			}
		}
		if bursts >= 4*least && contexts <= strataContexts && len(large) > 2 {
			words = append(append(words, stratum, bursts, int64(contexts), int64(len(large)/2)), large...)
		}
		from = to
	}
	return words
}

// bin is how many of the quantiles are below a cell.
func (s *stratumContexts) bin(cell int32) int {
	switch i := int(cell) - int(s.lowest); {
	case s.binOf == nil:
		k, _ := slices.BinarySearch(s.edges, cell)
		return k
	case i < 0:
		return 0
	case i < len(s.binOf):
		return int(s.binOf[i])
	}
	return len(s.edges)
}

// quantiles finds those of the bursts of all contexts together.
func (l *local) quantiles(c *executor, contexts []*stratumContexts) {
	cells := c.count(1, l.n, func(k *counter, from, to int) {
		windows := newWindows(k, len(contexts))
		for i := from; i < to; i++ {
			if stratum := l.stratum[i]; contexts[stratum] != nil {
				windows.one(int(stratum), int64(stratum)<<32, l.Cell[i])
			}
		}
		windows.flush()
	})
	below := make([]int64, len(contexts))
	for i, n := range cells.Counts {
		stratum, cell := cells.Keys[i]>>32, int32(uint32(cells.Keys[i])^1<<31)
		s, from := contexts[stratum], below[stratum]
		below[stratum] += n
		for q := range strataQuantiles {
			at := int64((.01 + .98*float64(q)/(strataQuantiles-1)) * float64(s.bursts-1))
			if at >= from && at < from+n {
				s.edges = append(s.edges, cell)
				break
			}
		}
	}
	for _, s := range contexts {
		if s == nil || len(s.edges) == 0 {
			continue
		}
		s.lowest = s.edges[0]
		if width := int64(s.edges[len(s.edges)-1]) - int64(s.lowest) + 1; width <= 1<<16 {
			s.binOf = make([]uint8, width)
		}
		for i := range s.binOf {
			k, _ := slices.BinarySearch(s.edges, s.lowest+int32(i))
			s.binOf[i] = uint8(k)
		}
	}
}

// classes are the contexts, by index, that become strata of their own: all but those with most bursts, which keep the
// stratum. Contexts whose medians are less than near cells apart are alike: where a kind has hardly any spread its
// ranks differ by more than that.
func (s *stratumContexts) classes(near float64) [][]int {
	order, place := make([]int, len(s.of)), make([]float64, len(s.of))
	for i, bursts := range s.of {
		order[i] = i
		sum, below := int64(0), int64(0)
		for _, n := range s.bins[i][:len(s.edges)] {
			below += n
			sum += below
		}
		place[i] = float64(sum) / float64(bursts)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
	var list []stratumClass
	for _, i := range order {
		list = append(list, stratumClass{[]int{i}, slices.Clone(s.bins[i]), s.of[i]})
	}
	distance := func(a, b *stratumClass) float64 {
		if math.Abs(float64(s.edges[a.median()])-float64(s.edges[b.median()])) < near {
			return 0
		}
		return a.distance(b)
	}
	var apart []float64 // each from the next
	for i := range len(list) - 1 {
		apart = append(apart, distance(&list[i], &list[i+1]))
	}
	for len(list) > 1 {
		best := slices.Index(apart, slices.Min(apart))
		if apart[best] >= strataApart {
			break
		}
		list[best].join(&list[best+1])
		list, apart = slices.Delete(list, best+1, best+2), slices.Delete(apart, best, best+1)
		if best > 0 {
			apart[best-1] = distance(&list[best-1], &list[best])
		}
		if best < len(apart) {
			apart[best] = distance(&list[best], &list[best+1])
		}
	}
	enough := max(int64(strataShare*float64(s.bursts)), 2*leastContext(s.contexts))
	list = slices.DeleteFunc(list, func(x stratumClass) bool { return x.bursts < enough })
	if len(list) < 2 {
		return nil
	}
	most := 0
	for i, x := range list {
		if x.bursts > list[most].bursts {
			most = i
		}
	}
	var classes [][]int
	for i, x := range list {
		if i != most {
			classes = append(classes, x.contexts)
		}
	}
	return classes
}

// A stratumClass is contexts whose bursts are alike.
type stratumClass struct {
	contexts []int
	bins     []int64
	bursts   int64
}

// distance is Kolmogorov's.
func (a *stratumClass) distance(b *stratumClass) float64 {
	most := 0.
	x, y := int64(0), int64(0)
	for i := range len(a.bins) - 1 {
		x += a.bins[i]
		y += b.bins[i]
		most = max(most, math.Abs(float64(x)/float64(a.bursts)-float64(y)/float64(b.bursts)))
	}
	return most
}

// median is the edge that the middle one of the bursts is not above; the last of all edges, where it is above these.
func (a *stratumClass) median() int {
	sum, last := int64(0), len(a.bins)-2
	for i, n := range a.bins[:last] {
		if sum += n; 2*sum >= a.bursts {
			return i
		}
	}
	return last
}

func (a *stratumClass) join(b *stratumClass) {
	a.contexts = append(a.contexts, b.contexts...)
	for i, n := range b.bins {
		a.bins[i] += n
	}
	a.bursts += b.bursts
}
