package loops

import (
	"slices"

	"moriens/internal/mix"
)

const (
	// tooLong is the least period that is not looked for, in items after the loops inside it have become one each.
	tooLong = 1 << 15
	// longestGram is how many items in a row have to recur before a period is tried. With more there are fewer places
	// where one is tried without success.
	longestGram = 16
	// mostTried is how many periods, and how many bodies of known loops, are tried at one place. In a body that holds the
	// same items more often there is hardly none that is rarer, and the loop is found from that, turned by some items.
	mostTried = 16
)

// A line is a sequence of nodes with their shapes.
type line struct {
	shapes []shape
	nodes  []int32
}

// begin makes a line of symbols, those in a row as one.
func (f *forest) begin(symbols []uint32) line {
	n := runs(symbols)
	l := line{make([]shape, 0, n), make([]int32, 0, n)}
	for i := 0; i < len(symbols); {
		k := i + 1
		for k < len(symbols) && symbols[k] == symbols[i] {
			k++
		}
		l.shapes = append(l.shapes, f.shapeOfSymbol(symbols[i]))
		l.nodes = append(l.nodes, f.symbol(symbols[i], int64(k-i)))
		i = k
	}
	return l
}

// runs counts the stretches of one symbol.
func runs(symbols []uint32) int {
	n := 0
	for i := range symbols {
		if i == 0 || symbols[i] != symbols[i-1] {
			n++
		}
	}
	return n
}

// foldAll replaces loops by one node each, inner ones first, until there are none: short periods before long ones, for
// an outer period is at least twice an inner one. Where much was replaced what was long has become short, and it begins
// again.
func (f *forest) foldAll(l line) line {
	var w workspace
	for period := 4; period <= tooLong; {
		before := len(l.nodes)
		if period/2 > before {
			break
		}
		if period == 2*longestGram && w.index(l.shapes, longestGram, tooLong) == 0 {
			break // no gram recurs, so no longer loop can be there
		}
		l = f.fold(l, period, &w)
		if len(l.nodes) <= before-before/8 && len(l.nodes) < before {
			period = 4
		} else {
			period *= 2
		}
	}
	return l
}

// A workspace is memory that passes share.
type workspace struct {
	spare  line     // that nothing else uses
	prefix []uint64 // prefix[i] is the hash of the first i shapes
	next   []int32  // where the gram that begins here begins next; 0 = not within a period
	last   []int32  // by the gram's hash
}

// base of the polynomial hash: any odd number. Equal hashes are always compared.
const base = 0x9e3779b97f4a7c15

// fold goes through the line once and replaces loops with periods below limit. The line is not to be used any more.
func (f *forest) fold(l line, limit int, w *workspace) line {
	n := len(l.nodes)
	gram := min(limit/2, longestGram)
	if w.index(l.shapes, gram, limit) == 0 && len(f.shapes) == 0 {
		return l
	}
	power := make([]uint64, min(limit, n)+1)
	power[0] = 1
	for i := range power[1:] {
		power[i+1] = power[i] * base
	}
	hash := func(from, length int) uint64 { return w.prefix[from+length] - w.prefix[from]*power[length] }
	again := func(from, period int) bool {
		return from+2*period <= n && hash(from, period) == hash(from+period, period) &&
			slices.Equal(l.shapes[from:from+period], l.shapes[from+period:from+2*period])
	}
	out := builder{forest: f, out: line{w.spare.shapes[:0], w.spare.nodes[:0]}}
	for i := 0; i < n; {
		if s, ok := f.knownAt(l.shapes[i:]); ok {
			length := len(f.shapes[s-firstLoop])
			out.turn(s, l.nodes[i:i+length])
			i += length
			continue
		}
		period := 0
		for k, tries := w.next[i], 0; k != 0 && int(k)-i < limit && tries < mostTried; k, tries = w.next[k], tries+1 {
			if p := int(k) - i; p > 1 && again(i, p) {
				period = p
				break
			}
		}
		if period == 0 {
			out.put(l.shapes[i], l.nodes[i])
			i++
			continue
		}
		// The same loop may be known, turned by some items; then it begins there.
		for turned := 1; turned < period; turned++ {
			if _, ok := f.known(l.shapes[i+turned : i+turned+period]); ok {
				for range turned {
					out.put(l.shapes[i], l.nodes[i])
					i++
				}
				break
			}
		}
		s := f.learn(l.shapes[i : i+period])
		out.turn(s, l.nodes[i:i+period])
		i += period
	}
	w.spare = l
	return out.line()
}

// index notes where each gram recurs within a period below limit, and returns how many do.
func (w *workspace) index(shapes []shape, gram, limit int) (found int) {
	n := len(shapes)
	w.prefix = slices.Grow(w.prefix[:0], n+1)[:n+1]
	w.next = slices.Grow(w.next[:0], n)[:n]
	w.prefix[0] = 0
	power := uint64(1)
	for range gram {
		power *= base
	}
	for i, s := range shapes {
		w.prefix[i+1] = w.prefix[i]*base + mix.Bits(uint64(s)+1)
	}
	slots := 16
	for slots < 2*n {
		slots *= 2
	}
	w.last = slices.Grow(w.last[:0], slots)[:slots]
	clear(w.last)
	clear(w.next)
	for i := n - gram; i >= 0; i-- {
		h := w.prefix[i+gram] - w.prefix[i]*power
		slot := &w.last[mix.Bits(h)&uint64(slots-1)]
		// Of two grams with one slot the nearer one is known: a period may not be tried.
		if k := int(*slot); k > 0 && k-i < limit && w.prefix[k+gram]-w.prefix[k]*power == h {
			w.next[i] = int32(k)
			found++
		}
		*slot = int32(i)
	}
	return found
}

// knownAt gives the loop whose body the shapes begin with: the latest of those that are known.
func (f *forest) knownAt(shapes []shape) (shape, bool) {
	for _, s := range f.startingWith[shapes[0]] {
		if body := f.shapes[s-firstLoop]; len(body) <= len(shapes) && slices.Equal(shapes[:len(body)], body) {
			return s, true
		}
	}
	return 0, false
}

// A builder makes a line; turns of one loop that follow each other become one node.
type builder struct {
	forest *forest
	out    line
	open   shape // of turns; 0 = none
	turns  []Turn
	last   []int32 // nodes of the last turn
}

// turn adds one turn of a loop.
func (b *builder) turn(s shape, nodes []int32) {
	if b.open == s && slices.Equal(b.last, nodes) {
		b.turns[len(b.turns)-1].Times++
		return
	}
	b.add(s, Turn{b.forest.body(nodes), 1})
	b.last = append(b.last[:0], nodes...)
}

// add adds turns of one body.
func (b *builder) add(s shape, t Turn) {
	if b.open != s {
		b.close()
		b.open = s
	}
	if n := len(b.turns); n > 0 && b.turns[n-1].Body == t.Body {
		b.turns[n-1].Times += t.Times
	} else {
		b.turns = append(b.turns, t)
	}
	b.last = b.last[:0]
}

// put adds a node.
func (b *builder) put(s shape, id int32) {
	if s < firstLoop {
		b.close()
		b.out.shapes = append(b.out.shapes, s)
		b.out.nodes = append(b.out.nodes, id)
		return
	}
	for _, t := range b.forest.nodes[id].turns {
		b.add(s, t)
	}
}

func (b *builder) close() {
	if b.open == 0 {
		return
	}
	b.out.shapes = append(b.out.shapes, b.open)
	b.out.nodes = append(b.out.nodes, b.forest.loop(b.turns))
	b.open, b.turns, b.last = 0, b.turns[:0], b.last[:0]
}

func (b *builder) line() line {
	b.close()
	return b.out
}
