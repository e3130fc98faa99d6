package kinds

import (
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/mix"
)

// The ways in which a burst's surroundings can predict it.
const (
	twoBefore = iota
	twoAfter
	oneEach
	othersNow
	itsCall
	waysCount
)

// grams are how often each leaf, or kind, comes in each context, one table for each way: keys are of the leaf and then
// the context, and each leaf's are together.
type grams [waysCount]Table

const contextBits = 2 * codeBits

// context of a burst in a way; 0 = none. It is at most contextBits long.
func (l *local) context(way, i int) int64 {
	switch way {
	case twoBefore:
		if !l.begins[i] && !l.begins[i-1] {
			return l.pairOf(i-1, i-2)
		}
	case twoAfter:
		if !l.begins[i+1] && !l.begins[i+2] {
			return l.pairOf(i+1, i+2)
		}
	case oneEach:
		if !l.begins[i] && !l.begins[i+1] {
			return l.pairOf(i-1, i+1)
		}
	case othersNow:
		return l.others(i)
	case itsCall:
		if l.Call != nil {
			return int64(mix.Bits(uint64(l.Call[i]))>>(64-contextBits)) | 1
		}
	}
	return 0
}

func (l *local) pairOf(i, k int) int64 { return int64(l.label[i])<<codeBits | int64(l.label[k]) }

// grams counts the bursts of which wanted says so by leaf and context.
func (l *local) grams(c *executor, wanted []bool) *grams {
	c.halted()
	g := new(grams)
	parts := make([][waysCount]Table, max(1, c.workers))
	workers.Chunks(l.n, c.workers, func(w, from, to int) {
		var k [waysCount]*counter
		for way := range k {
			k[way] = newCounter(1)
		}
		for i := from; i < to; i++ {
			if x := l.label[i]; wanted[x] {
				for way := range k {
					if context := l.context(way, i); context != 0 {
						k[way].one(int64(x)<<contextBits | context)
					}
				}
			}
		}
		for way := range k {
			parts[w][way] = k[way].table()
		}
	})
	for way := range g {
		var list []Table
		for w := range parts {
			list = append(list, parts[w][way])
		}
		g[way] = c.all(Merge(1, list...))
	}
	return g
}

// relabel is the same counts once labels are others.
func (g *grams) relabel(to []int32) *grams {
	code := func(word int64) int64 { return int64(to[word&codeMost]) }
	r := new(grams)
	for way := range g {
		t := &g[way]
		k := newCounter(1)
		for i, n := range t.Counts {
			key := t.Keys[i]
			x, context := code(key>>contextBits), key&(1<<contextBits-1)
			if way != itsCall {
				context = code(context>>codeBits)<<codeBits | code(context)
			}
			k.add(n, x<<contextBits|context)
		}
		r[way] = k.table()
	}
	return r
}

// of are the rows of a leaf: none of the largest code, which many may have.
func (t *Table) of(x int32) (from, to int) {
	if x == codeMost {
		return 0, 0
	}
	from, _ = slices.BinarySearch(t.Keys, int64(x)<<contextBits)
	to, _ = slices.BinarySearch(t.Keys, int64(x+1)<<contextBits)
	return from, to
}

// What evidence must come to, in nats, before it counts.
const (
	leastNats   = 8.
	natsByRoot  = 2.5
	boundNats   = .5 // of a degree of freedom
	hugeContext = 1 << 62
)

// foretold is the share of the uncertainty about which of two leaves comes that the best of the ways takes away:
// Theil's U, less what chance would (Miller).
func (g *grams) foretold(a, b int32) float64 {
	best := 0.
	for way := range g {
		best = max(best, g[way].foretold(a, b))
	}
	return best
}

// foretoldByProgram is how well the order of bursts predicts which of two leaves comes, by contexts that no machine
// makes up. On a core that is slow for a while, slow bursts follow slow bursts, on its thread alone. Where threads
// share a core, one is slow while the other is not. In such contexts the two leaves count as one. If it is not known
// what other threads did, only the thread's own order is left.
func (g *grams) foretoldByProgram(a, b int32) float64 {
	if !g.othersKnown(a, b) {
		return g.foretold(a, b)
	}
	best := 0.
	for way := range g {
		best = max(best, g.byProgram(way, a, b).foretold(a, b))
	}
	return best
}

// othersKnown reports whether of both leaves it is mostly known what other threads did.
func (g *grams) othersKnown(leaves ...int32) bool {
	for _, x := range leaves {
		if n := g[othersNow].bursts(x); n == 0 || 2*n < g[twoBefore].bursts(x) {
			return false
		}
	}
	return true
}

// byProgram is the table of a way, or, where it is the machine's doing that leaves predict each other, their rows of it
// with contexts in which they are one.
func (g *grams) byProgram(way int, a, b int32) *Table {
	t := &g[way]
	if way == itsCall {
		return t
	}
	if alike := t.alike(a, b); way == othersNow && alike >= 0 || way != othersNow && alike <= 0 {
		return t
	}
	one := func(word int64) int64 {
		if word == int64(b) {
			return int64(a)
		}
		return word
	}
	k := newCounter(1)
	for _, x := range []int32{a, b} {
		for i, end := t.of(x); i < end; i++ {
			key := t.Keys[i]
			k.add(t.Counts[i], int64(x)<<contextBits|one(key>>codeBits&codeMost)<<codeBits|one(key&codeMost))
		}
	}
	blind := k.table()
	return &blind
}

// alike is above 0 where two leaves are in their own contexts more than in each other's, below 0 where less.
func (t *Table) alike(a, b int32) float64 {
	var n [2][2]float64
	leaves := []int32{a, b}
	for x, leaf := range leaves {
		for i, end := t.of(leaf); i < end; i++ {
			for y, other := range leaves {
				for _, word := range []int64{t.Keys[i] >> codeBits & codeMost, t.Keys[i] & codeMost} {
					if word == int64(other) {
						n[x][y] += float64(t.Counts[i])
					}
				}
			}
		}
	}
	return n[0][0]*n[1][1] - n[0][1]*n[1][0]
}

// leastByOthers is how far other threads must predict what a thread's own order shows.
const leastByOthers = .05

// alone reports whether a table of what other threads do holds enough bursts of two leaves to distinguish them, and
// does not distinguish them. Then what predicts them is the thread's own behaviour, or that of its core: a slow core is
// slow for several bursts of that rank, while a program does the same on all ranks.
func (t *Table) alone(a, b int32) bool {
	return min(t.bursts(a), t.bursts(b)) >= few && t.foretold(a, b) < leastByOthers
}

// bursts of a leaf that have a context.
func (t *Table) bursts(x int32) (n int64) {
	for i, end := t.of(x); i < end; i++ {
		n += t.Counts[i]
	}
	return n
}

func (t *Table) foretold(a, b int32) float64 {
	if t.Len() == 0 {
		return 0
	}
	i, iEnd := t.of(a)
	k, kEnd := t.of(b)
	context := func(row, end int) int64 {
		if row == end {
			return hugeContext
		}
		return t.Keys[row] & (1<<contextBits - 1)
	}
	var na, nb int64
	within, contexts := 0., 0   // n times the entropy within contexts
	var small [smallContext]int // contexts of so many bursts
	for i < iEnd || k < kEnd {
		x, y := context(i, iEnd), context(k, kEnd)
		var ca, cb int64
		if x <= y {
			ca = t.Counts[i]
			i++
		}
		if y <= x {
			cb = t.Counts[k]
			k++
		}
		na, nb = na+ca, nb+cb
		within += entropy(ca, cb)
		contexts++
		if ca+cb < smallContext {
			small[ca+cb]++
		}
	}
	if na == 0 || nb == 0 {
		return 0
	}
	for n, times := range small {
		if times > 0 {
			within += float64(times) * max(0, chance(n, float64(na)/float64(na+nb))-boundNats)
		}
	}
	return sharedInformation(na, nb, within, contexts)
}

// smallContext is how many bursts a context has from which on the information that chance seems to give is boundNats.
const smallContext = 12

// chance is the information that chance seems to give, in nats, about n bursts of which each is of one kind with
// probability p.
func chance(n int, p float64) float64 {
	information := -float64(n) * (p*math.Log(p) + (1-p)*math.Log(1-p))
	ways := math.Pow(1-p, float64(n))
	for k := range n + 1 {
		information -= ways * entropy(int64(k), int64(n-k))
		ways *= float64(n-k) / float64(k+1) * p / (1 - p)
	}
	return information
}

// What a context is to have before it says that a leaf never comes in it.
const (
	neverOf    = 5. // bursts of the leaf to expect, if it were as frequent there as elsewhere
	neverShare = .1 // of these: there are at most so many
)

// without is the share of a's bursts in contexts where b is to be expected and does not occur.
func (t *Table) without(a, b int32) float64 {
	na, nb := t.bursts(a), t.bursts(b)
	if na == 0 || nb == 0 {
		return 0
	}
	alone := int64(0)
	k, kEnd := t.of(b)
	for i, end := t.of(a); i < end; i++ {
		context := t.Keys[i] & (1<<contextBits - 1)
		for k < kEnd && t.Keys[k]&(1<<contextBits-1) < context {
			k++
		}
		there := int64(0)
		if k < kEnd && t.Keys[k]&(1<<contextBits-1) == context {
			there = t.Counts[k]
		}
		expected := float64(t.Counts[i]+there) * float64(nb) / float64(na+nb)
		if expected >= neverOf && float64(there) <= neverShare*expected {
			alone += t.Counts[i]
		}
	}
	return float64(alone) / float64(na)
}

// disjoint reports whether two leaves have no context in common.
func (t *Table) disjoint(a, b int32) bool {
	i, iEnd := t.of(a)
	k, kEnd := t.of(b)
	for i < iEnd && k < kEnd {
		x, y := t.Keys[i]&(1<<contextBits-1), t.Keys[k]&(1<<contextBits-1)
		if x == y {
			return false
		}
		if x < y {
			i++
		} else {
			k++
		}
	}
	return true
}

// sharedInformation is the share of the uncertainty about a and b bursts that so many contexts take away, in which so
// much of it is left.
func sharedInformation(a, b int64, within float64, contexts int) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	whole := entropy(a, b)
	information := whole - within - boundNats*float64(contexts-1)
	if information < leastNats+natsByRoot*math.Sqrt(float64(contexts-1)/2) {
		return 0
	}
	return information / whole
}

// gathered is the contexts of several leaves together.
type gathered [waysCount]struct {
	counts map[int64]int64
	bursts int64
}

func (g *gathered) add(grams *grams, leaf int32) {
	for way := range g {
		t, to := &grams[way], &g[way]
		if to.counts == nil {
			to.counts = make(map[int64]int64)
		}
		for i, end := t.of(leaf); i < end; i++ {
			to.counts[t.Keys[i]&(1<<contextBits-1)] += t.Counts[i]
			to.bursts += t.Counts[i]
		}
	}
}

// foretold is how far contexts distinguish a leaf from all that were gathered.
func (g *gathered) foretold(grams *grams, leaf int32) float64 {
	best := 0.
	for way := range g {
		t, from := &grams[way], &g[way]
		bursts, within, contexts := int64(0), 0., len(from.counts)
		for i, end := t.of(leaf); i < end; i++ {
			n, known := from.counts[t.Keys[i]&(1<<contextBits-1)]
			if !known {
				contexts++
			}
			within += entropy(n, t.Counts[i])
			bursts += t.Counts[i]
		}
		best = max(best, sharedInformation(from.bursts, bursts, within, contexts))
	}
	return best
}

// entropy is that of a bursts of one kind and b of another, in nats, times their number.
func entropy(a, b int64) float64 { return xlogx(a+b) - xlogx(a) - xlogx(b) }

func xlogx(n int64) float64 {
	switch {
	case n == 0:
		return 0
	case n < int64(len(smallXlogx)):
		return smallXlogx[n]
	}
	return float64(n) * math.Log(float64(n))
}

// smallXlogx has xlogx of what most contexts have.
var smallXlogx = func() (list [256]float64) {
	for n := 1; n < len(list); n++ {
		list[n] = float64(n) * math.Log(float64(n))
	}
	return list
}()
