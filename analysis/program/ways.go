package program

import "slices"

// Ways are how one call can come after another one in a function: which headers of loops are passed between them, and
// which calls need not be made. Which it was no call says: the one that remains furthest inside is taken, and where
// others remain that a person may have meant, the loops in question are doubtful.

// ways are those of a function, by its machine code.
type ways struct {
	*function
	nodes  int    // calls and headers; the end has this number
	known  []bool // by call: it is on a call path
	direct []bool // by call: it is one of MPI
	always []bool // by call: it makes calls of MPI whenever it is made, as far as the code of what it calls says
	found  map[wayKey]uint64
}

type wayKey struct {
	from, to int
	past     passing
}

// A passing says what a way may pass.
type passing int

const (
	pastSome passing = iota // calls that need not make calls of MPI; loops need not be entered
	pastNone                // no call that is on a call path; loops need not be entered
	through                 // as pastSome, but loops are gone through
)

// findWays sets those of all functions of which the code says them.
func (l *layout) findWays() {
	type callee struct {
		function int32
		site     int32
	}
	calls := make(map[callee]bool)
	leaf := make(map[int32]bool) // sites that call MPI and nothing else
	poll := make(map[int32]bool)
	for i := range l.paths {
		q := &l.paths[i]
		for k, n := range q.sites {
			if k+1 < len(q.sites) {
				calls[callee{l.sites[q.sites[k+1]].function, n}] = true
				continue
			}
			leaf[n] = true
			poll[n] = poll[n] || q.poll
		}
	}
	for c := range calls {
		delete(leaf, c.site)
	}
	for i := range l.functions {
		f := &l.functions[i]
		f.ways = nil
		if f.by != ByCode || f.Code.Next == nil {
			continue
		}
		w := &ways{function: f, nodes: len(f.Code.Sites) + len(f.Code.Loops), found: make(map[wayKey]uint64)}
		w.known, w.always, w.direct = make([]bool, len(f.Code.Sites)), make([]bool, len(f.Code.Sites)), make([]bool, len(f.Code.Sites))
		for _, n := range f.sites {
			w.known[l.sites[n].at] = true
			w.direct[l.sites[n].at] = leaf[n]
			w.always[l.sites[n].at] = leaf[n] && !poll[n]
		}
		f.ways = w
	}
	// A function always makes calls if there is no way through it without.
	certain := make([]bool, len(l.functions))
	for more := true; more; {
		more = false
		for i := range l.functions {
			if w := l.functions[i].ways; w != nil && !certain[i] && !w.reaches(w.nodes, w.nodes, through) {
				certain[i], more = true, true
			}
		}
		if !more {
			break
		}
		sometimes := make(map[int32]bool)
		for c := range calls {
			sometimes[c.site] = sometimes[c.site] || !certain[c.function]
		}
		for c := range calls {
			if w := l.functions[l.sites[c.site].function].ways; w != nil && !sometimes[c.site] && !poll[c.site] {
				w.always[l.sites[c.site].at] = true
			}
		}
		for i := range l.functions {
			if w := l.functions[i].ways; w != nil {
				clear(w.found)
			}
		}
	}
}

// chain are the loops that hold both of two calls, the innermost first; the end and the entry are in none.
func (w *ways) chain(from, to int) (list []int) {
	if from >= len(w.Code.Sites) || to >= len(w.Code.Sites) {
		return nil
	}
	for k := w.common(w.Code.Sites[from].Loop, w.Code.Sites[to].Loop); k >= 0; k = w.loops[k].Parent {
		list = append(list, k)
	}
	return list
}

// reaches reports whether there is a way at all.
func (w *ways) reaches(from, to int, past passing) bool { return w.between(from, to, past) != 0 }

// between finds the ways from one call to another one: bit 0 is one in the same trip, bit 1 one to the next trip of the
// innermost loop that holds both, and so on. From w.nodes: from the entry. To it: to the end.
func (w *ways) between(from, to int, past passing) (mask uint64) {
	key := wayKey{from, to, past}
	if mask, ok := w.found[key]; ok {
		return mask
	}
	sites := len(w.Code.Sites)
	level := make([]int, len(w.loops)) // by loop: its place in the chain, from 1; 0 = it is not there
	chain := w.chain(from, to)
	for k, loop := range chain {
		if k < 62 {
			level[loop] = k + 1
		}
	}
	barrier := w.always
	if past == pastNone {
		barrier = w.known
	}
	// A step is at a call, a header or the entry; first: at the header of a loop that was entered, which is gone through.
	type step struct {
		node, level int
		first       bool
	}
	seen := make(map[step]bool)
	for open := []step{{from, 0, false}}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		for _, n := range w.next(at.node, past != through) {
			next := step{int(n), at.level, false}
			if at.first && !w.inside(next.node, at.node-sites) {
				continue
			}
			if next.node == to {
				mask |= 1 << next.level
			}
			switch {
			case next.node == w.nodes, next.node < sites && barrier[next.node]:
				continue
			case next.node >= sites:
				loop := next.node - sites
				next.level = max(next.level, level[loop])
				next.first = past == through && !w.inside(at.node, loop)
			}
			if !seen[next] {
				seen[next] = true
				open = append(open, next)
			}
		}
	}
	w.found[key] = mask
	return mask
}

// next is what comes next after a call or a header, or the entry.
func (w *ways) next(node int, skip bool) []int32 {
	if skip && len(w.Code.Skip[node]) > 0 {
		return slices.Concat(w.Code.Next[node], w.Code.Skip[node])
	}
	return w.Code.Next[node]
}

// inside reports whether a call or a header lies in a loop.
func (w *ways) inside(node, loop int) bool {
	var at int
	switch sites := len(w.Code.Sites); {
	case node >= w.nodes:
		return false
	case node >= sites:
		at = node - sites
	default:
		at = w.Code.Sites[node].Loop
	}
	for at > loop {
		at = w.loops[at].Parent
	}
	return at == loop
}

// skips reports whether a trip of a loop can make no call of MPI, also where all that it calls are functions that need
// not make any.
func (w *ways) skips(loop int) bool {
	sites := len(w.Code.Sites)
	header := sites + loop
	type step struct {
		node  int
		first bool
	}
	seen := make(map[step]bool)
	for open := []step{{header, true}}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		for _, n := range w.Code.Next[at.node] {
			next := step{node: int(n)}
			if next.node == header {
				return true
			}
			if !w.inside(next.node, loop) || at.first && !w.inside(next.node, at.node-sites) || next.node < sites && (w.direct[next.node] || w.always[next.node]) {
				continue
			}
			next.first = next.node >= sites && !w.inside(at.node, next.node-sites)
			if !seen[next] {
				seen[next] = true
				open = append(open, next)
			}
		}
	}
	return false
}

// A doubt is about a loop: whether there was another trip of it where others were taken to go on.
type doubt struct {
	inner map[int32]bool // bodies of loops in it, trips of which may be trips of it
	same  bool           // calls were taken to be in one trip of it that may be in two
	jump  bool           // likewise, where only what is known of the ends of functions speaks for it
	again bool           // what was taken for a trip of it may be what a function did that called itself at its end
}

// doubtOf is the doubt about the loop of a body, of those that there are.
func doubtOf(loops map[int32]*doubt, body int32) *doubt {
	if loops[body] == nil {
		loops[body] = &doubt{inner: make(map[int32]bool)}
	}
	return loops[body]
}

// doubts finds the bodies of loops of which the calls do not show all trips, and the bodies of functions that may have
// been called more often.
func (l *layout) doubts(pairs []Pair) (loops map[int32]*doubt, functions map[int32]bool) {
	loops, functions = make(map[int32]*doubt), make(map[int32]bool)
	for _, p := range pairs {
		f, ok := l.fork(p.From, p.To)
		a, b := &l.paths[p.From], &l.paths[p.To]
		if !ok || len(a.sites) == 0 || a.recursion > 0 || b.recursion > 0 {
			continue
		}
		x, y := &l.sites[a.sites[f.depth]], &l.sites[b.sites[f.depth]]
		w := l.functions[x.function].ways
		if w == nil {
			continue
		}
		inner, level := int32(-1), 0 // level in the chain that was taken
		chain := w.chain(x.at, y.at)
		if f.next {
			inner = l.bodyAt(b, f.depth, f.loop)
			level = 1 + slices.Index(chain, f.loop)
		}
		if l.again(p, f) >= 0 {
			doubtOf(loops, l.bodyAt(b, f.depth, f.loop)).again = true
		}
		jump := l.tail(p.From, p.To, f.depth)
		add := func(depth, loop int) {
			d := doubtOf(loops, l.bodyAt(b, depth, loop))
			d.jump = d.jump || jump
			if inner >= 0 {
				d.inner[inner] = true
			} else {
				d.same = true
			}
		}
		from, to := x.at, y.at
		for depth := f.depth; ; {
			mask := w.between(from, to, pastNone) >> (level + 1)
			for k, loop := range chain[min(level, len(chain)):] {
				if mask>>k&1 != 0 {
					add(depth, loop)
				}
			}
			if depth == 0 || !w.reaches(from, w.nodes, pastNone) || !w.reaches(w.nodes, to, pastNone) {
				break
			}
			functions[l.bodyAt(b, depth, -1)] = true
			depth--
			s := &l.sites[b.sites[depth]]
			if w = l.functions[s.function].ways; w == nil {
				break
			}
			from, to, level, chain = s.at, s.at, 0, w.chain(s.at, s.at)
		}
		jump = true
		for _, o := range l.otherwise(p, f) {
			for depth := f.depth; depth > o.depth; depth-- {
				functions[l.bodyAt(b, depth, -1)] = true
			}
			if o.next {
				add(o.depth, o.loop)
			}
		}
	}
	return loops, functions
}

// bodyAt is the body of a loop of the function at a depth of a path, of the function itself for -1.
func (l *layout) bodyAt(p *path, depth, loop int) int32 {
	at := p.depth[depth]
	for f := &l.functions[l.sites[p.sites[depth]].function]; loop >= 0; loop = f.loops[loop].Parent {
		at++
	}
	return p.links[at].body
}

// doubt finds the loops of which the calls do not show all trips. One that has the same trips on ranks that make
// different calls in it has these: a way that some ranks have to divide their calls otherwise the others do not have.
func (s *solver) doubt() {
	doubts, counted := s.lay.doubts(s.figures.Pairs)
	s.counted, s.atLeast, s.atMost = counted, make(map[int32]bool), make(map[int32]bool)
	s.joined, s.likely = make(map[int32]*doubt), make(map[int32]bool)
	for body, d := range doubts {
		entry := s.lay.bodies[body].entry
		s.atMost[body] = s.atMost[body] || d.again
		switch {
		case !d.same && len(d.inner) == 0:
		case s.merges(&s.lay.items[entry]):
		case d.jump || s.irregular(entry, d):
			s.bound(body, d)
		case len(d.inner) == 0 && s.trips(entry).Kind == TripsConstant && s.severalWays(body):
		default:
			s.joined[body] = d
		}
	}
}

// bound notes that there may be more trips of a loop.
func (s *solver) bound(body int32, d *doubt) {
	s.atLeast[body] = true
	for inner := range d.inner {
		s.atMost[inner] = true
	}
}

// irregular reports whether a loop in another one, trips of which may be trips of that, has not always as many, or goes
// round on ranks on which the other one does not.
func (s *solver) irregular(outer int32, d *doubt) bool {
	for body := range d.inner {
		inner := s.lay.bodies[body].entry
		if s.trips(inner).Kind != TripsConstant || s.alone(outer, inner) {
			return true
		}
	}
	return false
}

// alone reports whether there is a rank on which an outer loop never went round, and the inner one did.
func (s *solver) alone(outer, inner int32) bool {
	for g := range s.groups {
		o, i := &s.groups[g].Tree.Trips[outer], &s.groups[g].Tree.Trips[inner]
		if o.Each == nil && o.Same <= 1 && o.len() > 0 && (i.Each != nil || i.Same > 1) {
			return true
		}
	}
	return false
}

// suppose notes that loops share trips with the one round them as is likely, or that nothing is known of that.
func (s *solver) suppose(d *doubt, likely bool) {
	for inner := range d.inner {
		s.likely[inner] = likely
	}
}

// severalWays reports whether ranks differ in what they do in a loop.
func (s *solver) severalWays(body int32) bool {
	var first []bool
	for g := range s.groups {
		t := &s.groups[g].Tree
		if t.Executions[body] == 0 {
			continue
		}
		done := make([]bool, len(s.lay.bodies[body].items))
		for k, i := range s.lay.bodies[body].items {
			done[k] = len(t.Came[i]) > 0
		}
		if first == nil {
			first = done
		} else if !slices.Equal(first, done) {
			return true
		}
	}
	return false
}
