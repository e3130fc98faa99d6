package program

import (
	"slices"
)

// A Pair is two call paths of which one followed the other.
type Pair struct {
	From, To uint32
	Count    int64
	NS       int64 // from the end of the one call to the end of the other
}

// A tree is what threads of one group did, exactly: of each body how often it was executed, of each item in which of
// these it was executed, and of each loop the trips of each entry.
type tree struct {
	Executions []uint32    // by body
	Came       []stretches // by item: numbers of executions of its body
	Trips      []trips     // by item; of loops
	Depths     [][]uint16  // by body of a function that calls itself: how deep each execution was
	// Of a sequence that was cut: items that were open at its end, and the call, outermost first; and in which execution
	// of its body each was.
	Open   []int32
	OpenIn []uint32
}

// A stretch is numbers First, First + Stride, …, so many.
type stretch struct{ First, Stride, Count uint32 }

type stretches []stretch

// add appends a number.
func (s *stretches) add(n uint32) {
	if k := len(*s) - 1; k >= 0 {
		x := &(*s)[k]
		switch {
		case x.Count == 1 && n > x.First:
			x.Stride = n - x.First
			x.Count = 2
			return
		case x.Count > 1 && x.First+x.Stride*x.Count == n && n > x.First:
			x.Count++
			return
		case x.Count == 2: // the second one may begin what follows
			if second := x.First + x.Stride; n > second {
				x.Count, x.Stride = 1, 0
				*s = append(*s, stretch{second, n - second, 2})
				return
			}
		}
	}
	*s = append(*s, stretch{n, 0, 1})
}

func (s stretches) len() int64 {
	n := int64(0)
	for _, x := range s {
		n += int64(x.Count)
	}
	return n
}

// has reports whether a number is one of them.
func (s stretches) has(n uint32) bool {
	return slices.ContainsFunc(s, func(x stretch) bool {
		return n == x.First || n > x.First && x.Stride > 0 && (n-x.First)%x.Stride == 0 && (n-x.First)/x.Stride < x.Count
	})
}

// all yields the numbers.
func (s stretches) all(yield func(n uint32) bool) {
	for _, x := range s {
		for k := range x.Count {
			if !yield(x.First + k*x.Stride) {
				return
			}
		}
	}
}

// trips are those of the entries of a loop: all are alike until one differs.
type trips struct {
	Same    uint32   // of each of Entries
	Entries uint32   // that have ended
	Open    uint32   // trips of the one that has not
	Each    []uint32 // of all entries, once they differ
}

// begin counts an entry, of one trip so far.
func (t *trips) begin() {
	t.end()
	if t.Each != nil {
		t.Each = append(t.Each, 1)
	} else {
		t.Open = 1
	}
}

// end counts the entry that is open.
func (t *trips) end() {
	switch {
	case t.Open == 0:
		return
	case t.Entries == 0 || t.Open == t.Same:
		t.Same = t.Open
		t.Entries++
	default:
		t.spread()
		t.Each = append(t.Each, t.Open)
	}
	t.Open = 0
}

// spread has each entry counted by itself from now on.
func (t *trips) spread() {
	t.Each = make([]uint32, t.Entries, t.Entries+8)
	for i := range t.Each {
		t.Each[i] = t.Same
	}
}

// more counts a trip of an entry: of the last one, unless they are counted each by itself.
func (t *trips) more(entry int) {
	if t.Each != nil {
		t.Each[entry]++
	} else {
		t.Open++
	}
}

// len is how many entries there were.
func (t *trips) len() int {
	switch {
	case t.Each != nil:
		return len(t.Each)
	case t.Open > 0:
		return int(t.Entries) + 1
	}
	return int(t.Entries)
}

func (t *trips) at(i int) uint32 {
	if t.Each != nil {
		return t.Each[i]
	}
	return t.Same
}

// A turn is how one call path goes on to another: so many links stay open, and the last one goes round or not.
type turn struct {
	to    uint32
	keep  int32
	next  bool
	first int32 // item by which it goes on, in the last body that remains open
}

// turns are those of each call path, with the last one that was taken.
type turns struct {
	of   [][]turn
	last []int32
}

func (l *layout) turns(pairs []Pair) *turns {
	t := &turns{of: make([][]turn, len(l.paths)), last: make([]int32, len(l.paths))}
	for _, p := range pairs {
		t.of[p.From] = append(t.of[p.From], l.turn(p.From, p.To))
	}
	for _, list := range t.of {
		slices.SortFunc(list, func(a, b turn) int { return int(int64(a.to) - int64(b.to)) })
	}
	return t
}

func (l *layout) turn(p, q uint32) turn {
	f, ok := l.fork(p, q)
	to := &l.paths[q]
	if !ok || len(to.calls) == 0 {
		return turn{to: q}
	}
	s := &l.sites[to.sites[f.depth]]
	keep := to.depth[f.depth] + 1
	for k := f.loop; k >= 0; k = l.functions[s.function].loops[k].Parent {
		keep++
	}
	t := turn{to: q, keep: keep, next: f.next, first: to.leaf}
	if int(keep) < len(to.links) {
		t.first = to.links[keep].item
	}
	return t
}

func (t *turns) find(p, q uint32) *turn {
	list := t.of[p]
	if k := t.last[p]; int(k) < len(list) && list[k].to == q {
		return &list[k]
	}
	k, ok := slices.BinarySearchFunc(list, q, func(x turn, q uint32) int { return int(int64(x.to) - int64(q)) })
	if !ok {
		return nil
	}
	t.last[p] = int32(k)
	return &list[k]
}

// A walker goes through a sequence of call paths.
type walker struct {
	lay  *layout
	tree *tree
	ord  []uint32
	loop []int // of each level the number of the entry of its loop
}

// walk makes the tree of a sequence. Call paths without a place are left out.
func (l *layout) walk(calls []uint32, cut bool, t *turns) tree {
	mine := &turns{t.of, make([]int32, len(t.of))} // several walk at a time
	w := &walker{lay: l, tree: &tree{
		Executions: make([]uint32, len(l.bodies)), Came: make([]stretches, len(l.items)), Trips: make([]trips, len(l.items)), Depths: make([][]uint16, len(l.bodies)),
	}}
	at := int64(-1)
	for _, q := range calls {
		p := &l.paths[q]
		if p.leaf < 0 || p.poll && at == int64(q) {
			continue
		}
		if at < 0 {
			w.start(p)
		} else {
			w.turn(mine.find(uint32(at), q), p)
		}
		at = int64(q)
	}
	for i := range w.tree.Trips {
		w.tree.Trips[i].end()
	}
	for i := range w.tree.Came { // those of a function that calls itself come back to executions begun before
		if c := l.bodies[l.items[i].body].context; l.contexts[c].recursive {
			w.tree.Came[i] = w.tree.Came[i].sorted()
		}
	}
	if cut && at >= 0 {
		p := &l.paths[at]
		for _, x := range p.links[1:] {
			w.tree.Open = append(w.tree.Open, x.item)
		}
		w.tree.Open = append(w.tree.Open, p.leaf)
		w.tree.OpenIn = slices.Clone(w.ord)
	}
	return *w.tree
}

func (s stretches) sorted() stretches {
	var list []uint32
	s.all(func(n uint32) bool { list = append(list, n); return true })
	slices.Sort(list)
	var to stretches
	for _, n := range list {
		to.add(n)
	}
	return to
}

func (w *walker) start(p *path) {
	w.ord, w.loop = w.ord[:0], w.loop[:0]
	w.enter(p.links[0].body, -1, 0)
	w.descend(p, 1)
}

// enter opens a body.
func (w *walker) enter(body, item int32, depth int) {
	n := w.tree.Executions[body]
	w.tree.Executions[body]++
	entry := 0
	b := &w.lay.bodies[body]
	switch {
	case b.loop >= 0:
		t := &w.tree.Trips[item]
		if t.Each == nil && w.lay.contexts[b.context].recursive { // an entry can go on when another one has begun
			t.spread()
		}
		t.begin()
		entry = t.len() - 1
	case w.lay.contexts[b.context].recursive:
		w.tree.Depths[body] = append(w.tree.Depths[body], uint16(min(depth, 1<<16-1)))
	}
	w.ord, w.loop = append(w.ord, n), append(w.loop, entry)
}

// descend opens what is between the open bodies and the call, from a level on.
func (w *walker) descend(p *path, level int) {
	for ; level < len(p.links); level++ {
		x := &p.links[level]
		w.tree.Came[x.item].add(w.ord[level-1])
		depth := 0
		if w.lay.bodies[x.body].loop < 0 && w.lay.contexts[w.lay.bodies[x.body].context].recursive {
			for _, y := range p.links[:level] {
				if y.body == x.body {
					depth++
				}
			}
		}
		w.enter(x.body, x.item, depth)
	}
	w.tree.Came[p.leaf].add(w.ord[level-1])
}

func (w *walker) turn(t *turn, p *path) {
	keep := int(t.keep)
	if keep == 0 { // nothing that is open allows it: all begins again
		w.start(p)
		return
	}
	w.ord, w.loop = w.ord[:keep], w.loop[:keep]
	if t.next {
		x := &p.links[keep-1]
		w.ord[keep-1] = w.tree.Executions[x.body]
		w.tree.Executions[x.body]++
		w.tree.Trips[x.item].more(w.loop[keep-1])
	}
	w.descend(p, keep)
}
