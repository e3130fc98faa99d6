package period

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// Where repetition explains little of the run, a symbol, or a pair of calls, may show where iterations begin: it occurs
// as often on all threads, and what is between two of it, a piece, is as in most pieces. Loops within may differ from
// piece to piece, bursts may be disturbed: pieces are counted and not compared in order.

const (
	// leastDelimiters is how often it comes at least on each thread.
	leastDelimiters = 4
	// alikeOnThreads is how many times the least number on a thread is of the largest.
	alikeOnThreads = .8
	// delimitedMore is by how much more of the run iterations between delimiters must explain than repetition does.
	delimitedMore = 1.05
	// alikePieces is how much of the pieces' time must be of symbols that occur as often as in most: where a phase
	// changes, one block of pieces is not alike.
	alikePieces = .85
	// likeBursts is how many bursts of pieces must be as in most, counted one by one, and likeTime how much of their time,
	// compared with what they have in common by their calls: clusters may be noisy, and disturbed bursts take longer;
	// likeFirst is how many pieces must begin with the same symbol. Of tasks of two kinds by tosses of a coin it is half,
	// and in a block of few .6.
	likeBursts, likeTime, likeFirst = .65, .4, .64
	// tie is how much of the best one's time a number explains that is as good, and is taken if more symbols have it.
	tie = .98
	// leastPart is the share of the computing time that pieces explain at least.
	leastPart = .05
	// mostOfNumber bounds the delimiters of one number, mostTried all that are tried, and mostCounted the bursts that are
	// counted for that: two passes for each of leastTried at least.
	mostOfNumber, mostTried, leastTried, mostCounted = 4, 64, 4, 200_000_000
	// someSequences is how many sequences at most are looked at for that.
	someSequences = 32
)

// A delimiter is a symbol at which iterations begin.
type delimiter struct {
	symbol      uint32
	number      int64 // times on a thread, mean
	alike       int   // symbols that occur as often
	first, last int64 // bursts, means of all threads
	coverNS     int64 // of all threads, from the first to the last
	atAnchors   bool  // one is before seven in eight
	lead        int32 // bursts that come before each: iterations begin with them
	match       match // of all threads
	bySymbols   match // by the symbols, where calls are what is seen
}

// agreement is the share of the pieces' time that is as in most of them.
func (d *delimiter) agreement() float64 {
	return float64(d.match.near.ns) / float64(max(1, d.match.whole().ns))
}

// explained is the time in pieces, as far as they agree.
func (d *delimiter) explained() float64 { return float64(d.match.coverNS) * d.agreement() }

// good reports whether the pieces are alike, and by their symbols not much less so than by their calls.
func (d *delimiter) good() bool {
	calls := shareOf(d.match.same, d.match.whole())
	own, first := shareOf(d.bySymbols.same, d.bySymbols.rest), shareOf(d.bySymbols.usual, d.bySymbols.first)
	return d.agreement() >= alikePieces && calls.bursts >= likeBursts && calls.time >= likeTime &&
		own.bursts >= likeBursts*calls.bursts && own.time >= likeTime*calls.time && first.bursts >= likeFirst
}

// delimit takes iterations between delimiters, by any of the ways that were gone, where they explain clearly more than
// those found so far; or as much in fewer phases, where what repeats is broken; or as much, where iterations found so
// far are loose.
func (f *finder) delimit(ways []way) {
	found := f.summarize(&f.way)
	if found.phases == 1 && found.time*delimitedMore >= 1 && !found.loose {
		return
	}
	more := delimitedMore
	for i := range ways {
		w := &ways[len(ways)-1-i] // calls are never disturbed: they go first
		list := f.seek(w)
		if len(list) == 0 {
			continue
		}
		f.findLeads(w, list)
		d := f.delimited(w, list)
		x := f.summarize(&d)
		if x.time > found.time*more || x.phases > 0 && x.time*explainedMore >= found.time && (found.broken && x.phases < found.phases || found.loose && x.phases <= found.phases) {
			f.way, found, more = d, x, explainedMore
		}
	}
}

// A summary of what was found: the share of the time that is in whole iterations of the reference, as far as others
// have them too, and its phases.
type summary struct {
	time   float64
	phases int64
	broken bool // what repeats has parts with damage between
	loose  bool // iterations have nothing in common that occurs as often in each: rows of steps that by chance look alike once loops within are folded
}

func (f *finder) summarize(w *way) summary {
	turns := f.turns(w)
	values := []int64{0, 0, 0, 0} // bits of numbers that are not negative are in the order of these
	if n := w.reference.sequence; n >= 0 && f.Mine(w.sequences[n].threads[0]) {
		list := w.sequences[n].parts(turns)
		t := &f.threads[w.sequences[n].threads[0]]
		ns, floor := int64(0), int32(0)
		for i := range list {
			begin, end := max(list[i].begins[0], floor), list[i].begins[list[i].iterations()]
			ns += max(0, t.timeAt(end)-t.timeAt(begin))
			floor = max(floor, end)
		}
		values[0] = int64(math.Float64bits(float64(ns) / f.durationNS * min(1, w.reference.share)))
		values[1] = int64(len(list))
		values[2] = int64(truth(slices.ContainsFunc(list, func(s section) bool { return len(s.runs) > 1 })))
		c, view := newPieces(w.symbols), &w.view[w.sequences[n].threads[0]]
		values[3] = int64(truth(slices.ContainsFunc(list, func(s section) bool { return c.loose(view, s.begins) })))
	}
	f.Reduce(team.Max, values)
	return summary{math.Float64frombits(uint64(values[0])), values[1], values[2] == 1, values[3] == 1}
}

// loose reports whether no symbol occurs as often in nearly all of some iterations: in a block from the middle.
func (p *pieces) loose(t *Thread, begins []int32) bool {
	n := min(len(begins)-1, blockPieces)
	first := (len(begins) - 1 - n) / 2
	p.count(t.Symbols, t.DurationNS, begins[first:first+n+1], 0)
	return !slices.ContainsFunc(p.touched, func(x uint32) bool {
		usual, as := medianCount(p.counts[x][:n]), 0
		for _, times := range p.counts[x][:n] {
			as += truth(times == usual)
		}
		return usual > 0 && float64(as) >= alikePieces*float64(n)
	})
}

// seek gives the best one, and such as are good for other parts of the run.
func (f *finder) seek(w *way) []delimiter {
	list := f.candidates(w)
	if len(list) == 0 {
		return nil
	}
	allNS := f.matchSome(w, list)
	shareMatches(list)
	list = slices.DeleteFunc(list, func(d delimiter) bool { return !d.good() || d.explained() < leastPart*float64(allNS) })
	var chosen []delimiter
	for len(list) > 0 {
		best := bestOf(list)
		chosen = append(chosen, best)
		list = slices.DeleteFunc(list, func(d delimiter) bool { return d.first < best.last && best.first < d.last })
	}
	return chosen
}

// shareMatches gives delimiters of one loop the match of the one whose pieces are most alike: they are the same
// iterations, begun elsewhere. What is left of an iteration without its longest burst may say little.
func shareMatches(list []delimiter) {
	from := make([]int, len(list))
	for i := range list {
		a := &list[i]
		from[i] = i
		for k := range list {
			b, best := &list[k], &list[from[i]]
			if a.oneLoop(b) && (b.good() && !best.good() || b.good() == best.good() && b.explained() > best.explained()) {
				from[i] = k
			}
		}
	}
	shared := slices.Clone(list)
	for i, k := range from {
		list[i].match, list[i].bySymbols = shared[k].match, shared[k].bySymbols
	}
}

// oneLoop reports whether both occur as often in the same part of the run.
func (d *delimiter) oneLoop(o *delimiter) bool {
	piece := (d.last-d.first)/(d.number-1) + 1
	return d.number == o.number && max(d.first-o.first, o.first-d.first) <= piece && max(d.last-o.last, o.last-d.last) <= piece
}

// bestOf gives the one that explains most; of numbers that explain as much the one that most symbols have; of these one
// that is at anchors, or comes first.
func bestOf(list []delimiter) delimiter {
	most := 0.
	for i := range list {
		most = max(most, list[i].explained())
	}
	list = slices.DeleteFunc(slices.Clone(list), func(d delimiter) bool { return d.explained() < tie*most })
	return slices.MaxFunc(list, func(a, b delimiter) int {
		return cmp.Or(cmp.Compare(a.alike, b.alike), cmp.Compare(a.number, b.number), before(b, a))
	})
}

// before says which of two that occur as often iterations rather begin at.
func before(a, b delimiter) int {
	return cmp.Or(cmp.Compare(truth(b.atAnchors), truth(a.atAnchors)), cmp.Compare(a.first, b.first))
}

// The columns of what is counted by symbol, over all threads.
const (
	onThreads = iota
	times
	firstAt
	lastAt
	coverTime
	atAnchor
	columns
)

// candidates gives those that occur as often on all threads, with most symbols that occur as often, or most of the run
// between.
func (f *finder) candidates(w *way) []delimiter {
	sums, fewest, most := make([]int64, columns*w.symbols+3), make([]int64, w.symbols), make([]int64, w.symbols)
	for s := range fewest {
		fewest[s] = math.MaxInt64
	}
	threads, bursts, allNS := &sums[columns*w.symbols], &sums[columns*w.symbols+1], &sums[columns*w.symbols+2]
	c := newOccurrences(w.symbols)
	for _, s := range w.sequences {
		t := &w.view[s.threads[0]]
		if !f.Mine(s.threads[0]) || len(t.Symbols) == 0 {
			continue
		}
		n := int64(len(s.threads))
		*threads += n
		*bursts += int64(len(t.Symbols))
		*allNS += n * c.count(t)
		for _, x := range c.used {
			o := &c.of[x]
			fewest[x], most[x] = min(fewest[x], o.times), max(most[x], o.times)
			row := sums[columns*int(x):]
			for k, value := range [columns]int64{1, o.times, int64(o.first), int64(o.last), o.coverNS, o.atAnchor} {
				row[k] += n * value
			}
		}
	}
	f.Reduce(team.Sum, sums)
	f.Reduce(team.Min, fewest)
	f.Reduce(team.Max, most)
	var list []delimiter
	of := make(map[int64][]delimiter) // by number
	for x := range w.symbols {
		row := sums[columns*x : columns*(x+1)]
		if row[onThreads] != *threads || *threads == 0 || fewest[x] < leastDelimiters || float64(fewest[x]) < alikeOnThreads*float64(most[x]) {
			continue
		}
		d := delimiter{
			symbol: uint32(x), number: (row[times] + *threads/2) / *threads, first: row[firstAt] / *threads, last: row[lastAt] / *threads,
			coverNS: row[coverTime], atAnchors: float64(row[atAnchor]) >= regularly*float64(row[times]),
		}
		of[d.number] = append(of[d.number], d)
		if float64(d.coverNS) >= leastPart*float64(*allNS) {
			list = append(list, d)
		}
	}
	for i := range list {
		for k := range of[list[i].number] {
			list[i].alike += truth(list[i].oneLoop(&of[list[i].number][k]))
		}
	}
	return fewer(list, int(mostCounted/max(1, *bursts)))
}

// fewer gives some of each number, and no more in all than can be tried.
func fewer(list []delimiter, tries int) []delimiter {
	slices.SortStableFunc(list, func(a, b delimiter) int { return cmp.Or(cmp.Compare(a.number, b.number), before(a, b)) })
	kept := list[:0]
	of := make(map[int64]int)
	for _, d := range list {
		if of[d.number]++; of[d.number] <= mostOfNumber {
			kept = append(kept, d)
		}
	}
	worth := func(d delimiter) float64 { return float64(d.coverNS) * math.Log(1+float64(d.alike)) }
	slices.SortStableFunc(kept, func(a, b delimiter) int { return cmp.Compare(worth(b), worth(a)) })
	return kept[:min(len(kept), mostTried, max(leastTried, tries))]
}

// An occurrence says how often one thread has a symbol, and where.
type occurrence struct {
	times, atAnchor int64
	first, last     int32
	coverNS         int64 // from the first to the last
	fromNS          int64 // of all bursts before the first
}

type occurrences struct {
	of   []occurrence // by symbol
	used []uint32
}

func newOccurrences(symbols int) *occurrences { return &occurrences{of: make([]occurrence, symbols)} }

// count fills in what the thread has, and gives the time of its bursts.
func (c *occurrences) count(t *Thread) int64 {
	for _, x := range c.used {
		c.of[x] = occurrence{}
	}
	c.used = c.used[:0]
	ns, anchor := int64(0), 0
	for i, x := range t.Symbols {
		o := &c.of[x]
		if o.times == 0 {
			c.used = append(c.used, x)
			o.first, o.fromNS = int32(i), ns
		}
		o.times++
		o.last, o.coverNS = int32(i), ns-o.fromNS
		for anchor < len(t.Anchors) && int(t.Anchors[anchor]) < i {
			anchor++
		}
		o.atAnchor += int64(truth(i == 0 || anchor < len(t.Anchors) && int(t.Anchors[anchor]) == i))
		ns += t.DurationNS[i]
	}
	return ns
}

// matchSome compares the pieces of some sequences, for each delimiter, and gives the time of all bursts of these.
func (f *finder) matchSome(w *way, list []delimiter) int64 {
	var own []*sequence
	var sizes []int
	step := (len(w.sequences) + someSequences - 1) / someSequences
	allNS := []int64{0}
	for i := 0; i < len(w.sequences); i += step {
		s := w.sequences[i]
		t := &w.view[s.threads[0]]
		if !f.Mine(s.threads[0]) || len(t.Symbols) == 0 {
			continue
		}
		own, sizes = append(own, s), append(sizes, len(t.Symbols))
		for _, ns := range t.DurationNS {
			allNS[0] += ns * int64(len(s.threads))
		}
	}
	f.Reduce(team.Sum, allNS)
	matches := make([][]match, len(own)) // by sequence: of each delimiter, and by the symbols
	scratch := sync.Pool{New: func() any { return newPieces(max(w.symbols, f.ownSymbols)) }}
	workers.Every(sizes, f.workers, func(i int) {
		p := scratch.Get().(*pieces)
		defer scratch.Put(p)
		t := own[i].threads[0]
		view, symbols := w.view[t].Symbols, f.threads[t].Symbols
		matches[i] = make([]match, 2*len(list))
		for k := range list {
			cuts := positions(view, list[k].symbol)
			m := p.match(view, w.view[t].DurationNS, cuts)
			matches[i][2*k], matches[i][2*k+1] = m, m
			if w.byCalls {
				matches[i][2*k+1] = p.match(symbols, w.view[t].DurationNS, cuts)
			}
		}
	})
	sums := make([]match, 2*len(list))
	for i, s := range own {
		for k := range sums {
			sums[k].addTimes(matches[i][k], int64(len(s.threads)))
		}
	}
	f.reduceMatches(sums)
	for k := range list {
		list[k].match, list[k].bySymbols = sums[2*k], sums[2*k+1]
	}
	return allNS[0]
}

func (f *finder) reduceMatches(sums []match) {
	const n = 13
	values := make([]int64, 0, n*len(sums))
	for i := range sums {
		values = append(values, sums[i].coverNS)
		for _, a := range sums[i].amounts() {
			values = append(values, a.ns, a.bursts)
		}
	}
	f.Reduce(team.Sum, values)
	for i := range sums {
		x := values[n*i : n*(i+1)]
		sums[i].coverNS = x[0]
		for k, a := range sums[i].amounts() {
			a.ns, a.bursts = x[1+2*k], x[2+2*k]
		}
	}
}

// positions gives where the symbol is.
func positions(symbols []uint32, symbol uint32) []int32 {
	var list []int32
	for i, s := range symbols {
		if s == symbol {
			list = append(list, int32(i))
		}
	}
	return list
}
