package period

import (
	"cmp"
	"math"
	"slices"

	"moriens/internal/team"
)

// A phase of iterations between delimiters ends where their content changes for good: in most of the nine iterations
// behind it differs from most of the nine before. Fewer than five are disturbances, and so are fewer than nine at the
// begin and at the end.
const (
	around    = 9
	lasting   = around/2 + 1
	changedBy = 1. / 8 // of an iteration's time
)

// A count is how often something occurs.
type count struct {
	symbol uint32
	times  int32
}

// A changes looks for them on one thread.
type changes struct {
	t      *Thread
	begins []int32
	pieces *pieces
	weight []float64 // ns of a burst of the symbol, mean, and one
}

func newChanges(t *Thread, begins []int32) *changes {
	symbols := int(slices.Max(t.Symbols)) + 1
	c := &changes{t, begins, newPieces(symbols), make([]float64, symbols)}
	sums := make([]amount, symbols)
	for i := begins[0]; i < begins[len(begins)-1]; i++ {
		sums[t.Symbols[i]].add(t.DurationNS[i], 1)
	}
	for x, a := range sums {
		c.weight[x] = 1 + float64(a.ns)/float64(max(1, a.bursts))
	}
	return c
}

// most gives what most of the iterations from one to before another hold, by symbol.
func (c *changes) most(from, to int) []count {
	c.pieces.count(c.t.Symbols, c.t.DurationNS, c.begins[from:to+1], 0)
	var list []count
	for _, x := range c.pieces.touched {
		if n := medianCount(c.pieces.counts[x][:to-from]); n > 0 {
			list = append(list, count{x, n})
		}
	}
	slices.SortFunc(list, func(a, b count) int { return cmp.Compare(a.symbol, b.symbol) })
	return list
}

// distance is the share of the time of both that is in one alone.
func (c *changes) distance(a, b []count) float64 {
	apart, all := 0., 0.
	for len(a) > 0 || len(b) > 0 {
		var x, y int32
		var symbol uint32
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].symbol < b[0].symbol:
			symbol, x, a = a[0].symbol, a[0].times, a[1:]
		case len(a) == 0 || b[0].symbol < a[0].symbol:
			symbol, y, b = b[0].symbol, b[0].times, b[1:]
		default:
			symbol, x, y, a, b = a[0].symbol, a[0].times, b[0].times, a[1:], b[1:]
		}
		apart += c.weight[symbol] * float64(max(x-y, y-x))
		all += c.weight[symbol] * float64(max(x, y))
	}
	if all == 0 {
		return 0
	}
	return apart / all
}

// find gives the iterations with which phases begin, but for the first. Iterations that differ by turns, at random or
// more and more are no phases: a change stands out.
func (c *changes) find() []int {
	n := len(c.begins) - 1
	if n < 2*around {
		return nil
	}
	by := make([]float64, n+1)
	for k := around; k <= n-around; k++ {
		by[k] = c.distance(c.most(k-around, k), c.most(k, k+around))
	}
	sorted := slices.Sorted(slices.Values(by[around : n-around+1]))
	least := changedBy + 2*sorted[len(sorted)/2]
	var list []int
	for k := around; k <= n-around; k++ {
		if by[k] < least {
			continue
		}
		from := k
		for k <= n-around && by[k] >= least {
			k++
		}
		at := from
		for i := from; i < k; i++ {
			if by[i] > by[at] {
				at = i
			}
		}
		if at = c.border(at); len(list) == 0 || at-list[len(list)-1] >= lasting {
			list = append(list, at)
		}
	}
	return c.confirm(list)
}

// confirm leaves the changes that do not come by chance: where an iteration may be like most before or like most
// behind, by tosses of a coin, one side has more of these as well.
func (c *changes) confirm(list []int) []int {
	var kept []int
	from := 0
	for i, at := range list {
		to := len(c.begins) - 1
		if i+1 < len(list) {
			to = list[i+1]
		}
		before, behind := c.most(max(from, at-blockPieces), at), c.most(at, min(to, at+blockPieces))
		var table [2][2]int // on this side and on that: iterations like those before, and like those behind
		for k := from; k < to; k++ {
			one := c.most(k, k+1)
			table[truth(k >= at)][truth(c.distance(one, behind) < c.distance(one, before))]++
		}
		if c.distance(before, behind) >= changedBy && surprise(table) >= math.Log(float64(to-from))+math.Log(1000) {
			kept = append(kept, at)
			from = at
		}
	}
	return kept
}

// surprise is how much information the columns of a table give about its rows, in nats.
func surprise(table [2][2]int) float64 {
	nats, all := 0., 0.
	part := func(n int) float64 { return float64(n) * math.Log(float64(max(1, n))) }
	for k := range 2 {
		nats += part(table[k][0]) + part(table[k][1]) - part(table[k][0]+table[k][1]) - part(table[0][k]+table[1][k])
		all += float64(table[k][0] + table[k][1])
	}
	return nats + part(int(all))
}

// border gives the iteration, near the one given, that parts best those like the ones before from those like the ones
// behind.
func (c *changes) border(at int) int {
	n := len(c.begins) - 1
	low, high := at-around, at+around
	before, behind := c.most(low, at), c.most(at, high)
	best, most, sum := at, 0., 0.
	for k := low; k < high; k++ {
		if k == low || sum > most {
			best, most = k, sum
		}
		one := c.most(k, k+1)
		sum += c.distance(one, behind) - c.distance(one, before)
	}
	return min(max(best, around), n-around)
}

// part makes phases of the sections of the reference that change on most threads: what changes on one alone is that
// thread's.
func (f *finder) part() {
	if n := f.reference.sequence; n >= 0 {
		f.sequences[n].sections = f.sequences[n].parts(f.turns(&f.way))
	}
}

// turns are the iterations with which phases begin, of one section of the reference. Sections of other threads are the
// same if they are between the same delimiters, and as many.
type turns struct {
	delimiter, iterations int
	at                    []int
}

// turns finds those of all sections; none where repetition alone shows iterations. It is collective.
func (f *finder) turns(w *way) []turns {
	n := w.reference.sequence
	if n < 0 || len(w.delimiters) == 0 {
		return nil
	}
	s := w.sequences[n]
	first := s.threads[0]
	var words []int64
	if f.Mine(first) {
		for i := range s.sections {
			x, at := &s.sections[i], []int(nil)
			if x.whole != nil {
				at = newChanges(&f.threads[first], x.whole).find()
			}
			words = append(words, int64(x.delimiter), int64(len(x.whole)), int64(len(at)))
			for _, k := range at {
				words = append(words, int64(k))
			}
		}
	}
	if !f.Alone() {
		words = team.Must(team.Gather(f.Threads, words))[f.Owner(first)]
	}
	var list []turns
	for len(words) > 0 {
		x := turns{delimiter: int(words[0]), iterations: int(words[1])}
		for _, k := range words[3 : 3+words[2]] {
			x.at = append(x.at, int(k))
		}
		list, words = append(list, x), words[3+words[2]:]
	}
	f.vote(w, list)
	return list
}

// vote leaves the turns that threads with half of the time or more have too, of those that have the section.
func (f *finder) vote(w *way, list []turns) {
	n := 0
	for i := range list {
		n += len(list[i].at)
	}
	votes := make([]int64, 2*n) // by turn: the time of those that have it, and of all
	for _, s := range w.sequences {
		if !f.Mine(s.threads[0]) {
			continue
		}
		left := votes
		for i := range list {
			if x := s.same(&list[i]); x != nil && len(list[i].at) > 0 {
				for k, has := range newChanges(&f.threads[s.threads[0]], x.whole).at(list[i].at) {
					left[2*k] += int64(truth(has)) * s.timeNS
					left[2*k+1] += s.timeNS
				}
			}
			left = left[2*len(list[i].at):]
		}
	}
	f.Reduce(team.Sum, votes)
	for i := range list {
		var kept []int
		for _, at := range list[i].at {
			if 2*votes[0] >= votes[1] {
				kept = append(kept, at)
			}
			votes = votes[2:]
		}
		list[i].at = kept
	}
}

// same is the section that has the turns; nil: there is none.
func (s *sequence) same(x *turns) *section {
	for i := range s.sections {
		if y := &s.sections[i]; y.whole != nil && y.delimiter == x.delimiter && len(y.whole) == x.iterations {
			return y
		}
	}
	return nil
}

// parts are the sections of the reference, each in as many parts as it has turns.
func (s *sequence) parts(list []turns) []section {
	if list == nil {
		return s.sections
	}
	var parted []section
	for i, x := range s.sections {
		first := 0
		for _, next := range list[i].at {
			parted = append(parted, x.portion(first, next))
			first = next
		}
		if first > 0 {
			x = x.portion(first, x.iterations())
		}
		parted = append(parted, x)
	}
	return parted
}

// at says which changes, by the iterations with which something else begins, this thread has too.
func (c *changes) at(list []int) []bool {
	has := make([]bool, len(list))
	for k, at := range list {
		from, to := 0, len(c.begins)-1
		if k > 0 {
			from = list[k-1]
		}
		if k+1 < len(list) {
			to = list[k+1]
		}
		has[k] = c.distance(c.most(max(from, at-blockPieces), at), c.most(at, min(to, at+blockPieces))) >= changedBy
	}
	return has
}

// portion is the section from one iteration to before another.
func (s *section) portion(first, behind int) section {
	x := *s
	x.first = first
	x.begins = s.whole[first : behind+1]
	x.from, x.to = x.begins[0], x.begins[behind-first]
	if s.anchors != nil {
		x.anchors = s.anchors[first : behind+1]
	}
	x.looseFirst = s.looseFirst && first == 0
	x.looseLast = s.looseLast && behind == len(s.whole)-1
	x.period = medianGap(x.begins)
	return x
}
