package program

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// A layout is what can be said of call paths before any sequence is walked: the places of a tree in which each call
// path stands, the same in all sequences.
type layout struct {
	functions []function
	sites     []site
	calls     []call
	paths     []path
	contexts  []context
	bodies    []body
	items     []item

	same   []int32   // by site: the first one of its copies
	copies [][]int32 // by site that is the first one

	siteOf map[siteKey]int32
	callOf map[call]int32
	ctxOf  map[[2]int32]int32 // by context and call
	bodyOf map[[2]int32]int32 // by context and loop
	itemOf map[itemKey]int32
	orders [][]int32 // by body: its items in their order
	mpi    []string
	mpiOf  map[string]int32
}

// A function has its machine code's relation, or one that was made of the order of lines.
type function struct {
	Function
	sites   []int32 // by position in the relation
	loops   []Loop
	follows [][]byte
	size    []int     // sites that lie in each: [0] of all, [1+l] of loop l
	row     [][]int32 // [0], [1+l]: by position of a site in the function, its row there; -1 = it is outside
	by      string    // ByCode or ByOrder
	ways    *ways     // nil = not known
}

// A site is a return address, or a line, in a function.
type site struct {
	function int32
	at       int // position in the function's relation; -1 = none
	loop     int // the innermost one; -1 = none
	offset   uint64
	file     string
	line     int
	column   int
	scopes   []Inlined
	caller   bool // it stands for a caller that is not known
}

type siteKey struct {
	function int32
	offset   uint64
	file     string
	line     int
	scopes   string
}

// A call is a site and what is called from there: a function, or ^ the number of an MPI function.
type call struct{ site, callee int32 }

// A path is a chain of calls with all bodies that are open at its MPI call.
type path struct {
	sites []int32 // of each call the return address
	calls []int32 // what these are in the source
	depth []int32 // of each call: number of links before those of its function
	links []link
	leaf  int32 // item of the MPI call
	poll  bool
	// Functions of each depth that were open before: how often, in all.
	recursion int
}

// A link is a body that is open, and the item by which it was entered from the one before it.
type link struct{ item, body int32 }

// A context is a function as it is called by a path of different functions.
type context struct {
	parent    int32 // -1: a thread began in it
	call      int32 // in the parent; -1
	function  int32
	recursive bool // it calls itself, perhaps by others
}

// A body is that of a function or of a loop.
type body struct {
	context int32
	loop    int   // -1: the function's
	entry   int32 // item by which it is entered; of a function that calls itself the first one; -1: none
	items   []int32
}

// An item of a body is a loop or a call.
type item struct {
	body  int32
	loop  int   // ≥ 0: a loop
	call  int32 // else a call
	inner int32 // body that it opens; -1 = it calls MPI
	again bool  // inner is open already
}

type itemKey struct {
	body int32
	loop int
	call int32
}

// noLine, and what is below it, is the line of a call that is not known.
const noLine = -1

// lay numbers everything. pairs are the call paths that follow each other in any sequence.
func lay(in *Input, pairs []Pair) (*layout, []string) {
	l := &layout{
		siteOf: make(map[siteKey]int32), callOf: make(map[call]int32), ctxOf: make(map[[2]int32]int32),
		bodyOf: make(map[[2]int32]int32), itemOf: make(map[itemKey]int32), mpiOf: make(map[string]int32),
	}
	for i := range in.Functions {
		f := function{Function: in.Functions[i]}
		if in.WithoutCode {
			f.Code = nil
		}
		l.functions = append(l.functions, f)
	}
	l.functions = append(l.functions, function{}) // that nobody has written: see completed and fromOne
	steps := l.fromOne(in, completed(in), pairs)
	for i := range in.Paths {
		q := path{poll: in.Paths[i].Poll}
		for k := range steps[i] {
			q.sites = append(q.sites, l.site(&steps[i][k]))
		}
		l.paths = append(l.paths, q)
	}
	for i := range l.functions {
		l.adopt(int32(i))
	}
	var why []string
	for refused := true; refused; {
		l.number(in, steps)
		l.order(pairs)
		l.findWays()
		refused = false
		for _, p := range pairs {
			if _, ok := l.fork(p.From, p.To); ok {
				continue
			}
			// What was called contradicts the machine code of the function in which the two part.
			f := l.sites[l.paths[p.From].sites[l.parting(p.From, p.To)]].function
			if l.functions[f].by == ByOrder {
				continue
			}
			why = append(why, fmt.Sprintf("The machine code of %s does not allow the calls that it made: its loops are those of the order of lines.", l.functions[f].Name))
			l.functions[f].Code = nil
			l.forget(f)
			refused = true
		}
	}
	for i := range l.paths {
		l.open(&l.paths[i])
	}
	return l, why
}

// completed are the steps of all paths, with callers that only other paths know.
func completed(in *Input) [][]Step {
	steps := make([][]Step, len(in.Paths))
	// The calls that lead to each function, where all paths agree.
	type caller struct {
		steps  []Step
		differ bool
	}
	callers := make(map[int]*caller)
	roots := make(map[int]int)
	for i := range in.Paths {
		p := &in.Paths[i]
		steps[i] = p.Steps
		if p.Whole && len(p.Steps) > 0 {
			roots[p.Steps[0].Function]++
		}
		for k := 1; k < len(p.Steps); k++ {
			c := callers[p.Steps[k].Function]
			if c == nil {
				callers[p.Steps[k].Function] = &caller{steps: p.Steps[:k]}
			} else if !sameSteps(c.steps, p.Steps[:k]) {
				// One may be the end of the other, which knows more.
				switch n := min(len(c.steps), k); {
				case !sameSteps(c.steps[len(c.steps)-n:], p.Steps[k-n:k]):
					c.differ = true
				case k > len(c.steps):
					c.steps = p.Steps[:k]
				}
			}
		}
	}
	if len(roots) == 0 { // a trace that others wrote: the function that no other one calls, and that calls most
		count := make(map[int]int)
		for i := range in.Paths {
			if s := in.Paths[i].Steps; len(s) > 0 && callers[s[0].Function] == nil {
				count[s[0].Function]++
			}
		}
		best := -1
		isMain := func(f int) bool { return in.Functions[f].Name == "main" || in.Functions[f].Name == "MAIN__" }
		for _, f := range slices.Sorted(maps.Keys(count)) {
			switch {
			case best < 0, isMain(f) && !isMain(best):
				best = f
			case isMain(f) == isMain(best) && count[f] > count[best]:
				best = f
			}
		}
		if best >= 0 {
			roots[best] = 1
		}
	}
	main := -1 // else the function that stands for all that is not known
	for f, n := range roots {
		if main < 0 || n > roots[main] || n == roots[main] && f < main {
			main = f
		}
	}
	if main < 0 {
		main = len(in.Functions)
	}
	for i := range steps {
		for range len(in.Functions) {
			if len(steps[i]) == 0 || in.Paths[i].Whole || roots[steps[i][0].Function] > 0 {
				break
			}
			c := callers[steps[i][0].Function]
			if c == nil || c.differ {
				break
			}
			steps[i] = append(slices.Clone(c.steps), steps[i]...)
		}
		switch {
		case in.Paths[i].Whole && len(steps[i]) > 0:
		case len(steps[i]) > 0 && roots[steps[i][0].Function] == 0:
			steps[i] = append([]Step{{Function: main, Line: noLine - steps[i][0].Function}}, steps[i]...)
		case len(steps[i]) == 0 && in.Paths[i].MPI != "":
			steps[i] = []Step{{Function: main, Line: noLine - len(in.Functions) - i}}
		}
	}
	return steps
}

// fromOne has all steps begin in one function, if there are threads that were in several at first: before the main
// function, or after it. It calls these functions, in the order in which they were.
func (l *layout) fromOne(in *Input, steps [][]Step, pairs []Pair) [][]Step {
	root := func(path uint32) int {
		if len(steps[path]) == 0 {
			return -1
		}
		return steps[path][0].Function
	}
	next := make(map[int][]int)
	entered := make(map[int]bool)
	for _, p := range pairs {
		if a, b := root(p.From), root(p.To); a != b && a >= 0 && b >= 0 {
			next[a] = append(next[a], b)
			entered[b] = true
		}
	}
	if len(next) == 0 {
		return steps
	}
	var queue []int
	for i := range in.Paths { // those with which threads begin
		if r := root(uint32(i)); r >= 0 && (!entered[r] || strings.HasPrefix(in.Paths[i].MPI, "MPI_Init")) {
			queue = append(queue, r)
		}
	}
	place := make(map[int]int)
	for ; len(queue) > 0; queue = queue[1:] {
		if _, ok := place[queue[0]]; !ok {
			place[queue[0]] = len(place) + 1
			queue = append(queue, next[queue[0]]...)
		}
	}
	for i := range steps {
		r := root(uint32(i))
		if r < 0 {
			continue
		}
		if place[r] == 0 {
			place[r] = len(place) + 1
		}
		steps[i] = append([]Step{{Function: len(in.Functions), Line: place[r]}}, steps[i]...)
	}
	return steps
}

func sameSteps(a, b []Step) bool {
	return slices.EqualFunc(a, b, func(x, y Step) bool {
		return x.Function == y.Function && x.Offset == y.Offset && x.File == y.File && x.Line == y.Line
	})
}

// number numbers the calls of all paths: what they are in the source. Copies of a call that exclude each other are one.
func (l *layout) number(in *Input, steps [][]Step) {
	l.same, l.copies = make([]int32, len(l.sites)), make([][]int32, len(l.sites))
	l.calls, l.mpi = nil, nil
	clear(l.callOf)
	clear(l.mpiOf)
	called := make([][]int32, len(l.sites))
	for i := range l.paths {
		for k, n := range l.paths[i].sites {
			called[n] = append(called[n], l.callee(in, steps, i, k))
		}
	}
	for n := range called {
		slices.Sort(called[n])
		called[n] = slices.Compact(called[n])
	}
	for i := range l.functions {
		l.merge(&l.functions[i], called)
	}
	for i := range l.paths {
		q := &l.paths[i]
		q.calls = nil
		for k, n := range q.sites {
			c := call{l.same[n], l.callee(in, steps, i, k)}
			number, ok := l.callOf[c]
			if !ok {
				number = int32(len(l.calls))
				l.calls, l.callOf[c] = append(l.calls, c), number
			}
			q.calls = append(q.calls, number)
		}
	}
}

// callee is what is called at a step of a path: a function, or one of MPI, whose number is complemented.
func (l *layout) callee(in *Input, steps [][]Step, path, k int) int32 {
	if k+1 < len(steps[path]) {
		return int32(steps[path][k+1].Function)
	}
	return ^l.mpiNumber(in.Paths[path].MPI)
}

func (l *layout) mpiNumber(name string) int32 {
	n, ok := l.mpiOf[name]
	if !ok {
		n = int32(len(l.mpi))
		l.mpi, l.mpiOf[name] = append(l.mpi, name), n
	}
	return n
}

// merge finds copies that the compiler has made of one call for different cases: they are at one line and column, in
// one loop, and none can follow another one in a trip. Copies that follow each other are others: those of a loop that
// was unrolled. Where no lines are known, copies are calls of the same functions with the same calls before and behind
// them (alike). called are the functions that are called at each site.
func (l *layout) merge(f *function, called [][]int32) {
	for k, n := range f.sites {
		l.same[n] = n
		x := &l.sites[n]
		for _, m := range f.sites[:k] {
			y := &l.sites[m]
			if l.same[m] != m || f.by != ByCode || x.line != y.line || x.column != y.column || x.file != y.file || x.loop != y.loop || !slices.Equal(x.scopes, y.scopes) {
				continue
			}
			if x.column == 0 && (x.line > 0 || x.caller || y.caller || !slices.Equal(called[n], called[m]) || !f.alike(x.at, y.at, called[n][0] >= 0)) || x.column > 0 && x.line == 0 {
				continue
			}
			if !slices.ContainsFunc(l.copies[m], func(o int32) bool {
				at := l.sites[o].at
				return f.follow(x.loop, at, x.at) || f.follow(x.loop, x.at, at)
			}) {
				l.same[n] = m
				break
			}
		}
		l.copies[l.same[n]] = append(l.copies[l.same[n]], n)
	}
}

// alike reports whether the same sites can follow two sites of a loop, and the same can be before them, in each loop
// that holds them and in the function. With less, one of them may have less of both: compilers know in a case what does
// not follow in it.
func (f *function) alike(a, b int, less bool) bool {
	fewer, more := less, less
	for k := range f.row {
		loop := k - 1
		if f.row[k][a] < 0 != (f.row[k][b] < 0) {
			return false
		}
		if f.row[k][a] < 0 {
			continue
		}
		for z := range f.row[k] {
			if z == a || z == b {
				continue
			}
			for _, has := range [][2]bool{{f.follow(loop, a, z), f.follow(loop, b, z)}, {f.follow(loop, z, a), f.follow(loop, z, b)}} {
				if has[0] != has[1] {
					fewer, more = fewer && has[1], more && has[0]
					if !fewer && !more {
						return false
					}
				}
			}
		}
	}
	return true
}

func (l *layout) site(s *Step) int32 {
	key := siteKey{function: int32(s.Function), offset: s.Offset}
	if s.Offset == 0 {
		key.file, key.line = s.File, s.Line
		key.scopes = fmt.Sprint(s.Scopes)
	}
	n, ok := l.siteOf[key]
	if !ok {
		n = int32(len(l.sites))
		x := site{function: int32(s.Function), at: -1, loop: -1, offset: s.Offset, file: s.File, line: max(s.Line, 0), scopes: s.Scopes}
		x.caller = s.Line <= noLine
		l.sites, l.siteOf[key] = append(l.sites, x), n
		f := &l.functions[s.Function]
		f.sites = append(f.sites, n)
	}
	return n
}

// adopt takes over what the machine code of a function says, if that knows all of its sites.
func (l *layout) adopt(f int32) {
	x := &l.functions[f]
	if x.Code == nil || len(x.sites) == 0 {
		return
	}
	at := make([]int32, len(x.Code.Sites))
	for i := range at {
		at[i] = -1
	}
	for _, n := range x.sites {
		k, ok := slices.BinarySearchFunc(x.Code.Sites, l.sites[n].offset, func(s Site, o uint64) int { return cmp.Compare(s.Offset, o) })
		if !ok || l.sites[n].offset == 0 {
			l.forget(f)
			return
		}
		l.sites[n].at, l.sites[n].loop, l.sites[n].column = k, x.Code.Sites[k].Loop, x.Code.Sites[k].Column
	}
	loops := make([]int, len(x.Code.Sites))
	for i := range loops {
		loops[i] = x.Code.Sites[i].Loop
	}
	x.relate(x.Code.Loops, loops, x.Code.Follows)
	x.by = ByCode
}

func (l *layout) forget(f int32) {
	x := &l.functions[f]
	x.Code, x.loops, x.follows, x.by = nil, nil, nil, ""
	for _, n := range x.sites {
		l.sites[n].at, l.sites[n].loop = -1, -1
	}
}

// relate sets the relation of a function: loops, the innermost loop of each site, and the matrices.
func (f *function) relate(loops []Loop, of []int, follows [][]byte) {
	f.loops, f.follows = loops, follows
	f.size, f.row = make([]int, 1+len(loops)), make([][]int32, 1+len(loops))
	for k := range f.row {
		f.row[k] = make([]int32, len(of))
		for i, loop := range of {
			f.row[k][i] = -1
			for at := loop; ; at = loops[at].Parent {
				if at == k-1 {
					f.row[k][i] = int32(f.size[k])
					f.size[k]++
				}
				if at < 0 {
					break
				}
			}
		}
	}
}

// follow reports whether the site at b can come after the one at a in a loop without its header; of -1 in the function.
func (f *function) follow(loop, a, b int) bool {
	n, i, j := f.size[1+loop], f.row[1+loop][a], f.row[1+loop][b]
	if i < 0 || j < 0 {
		return false
	}
	bit := int(i)*n + int(j)
	return f.follows[1+loop][bit/8]>>(bit%8)&1 != 0
}

// common is the innermost loop that holds both loops.
func (f *function) common(a, b int) int {
	for a != b {
		// Outer loops come before inner ones.
		if a > b {
			a = f.loops[a].Parent
		} else {
			b = f.loops[b].Parent
		}
	}
	return a
}

// parting is the first depth at which two paths differ: the last one if they are equal.
func (l *layout) parting(p, q uint32) int {
	a, b := &l.paths[p], &l.paths[q]
	n := min(len(a.sites), len(b.sites))
	for k := range n {
		if a.sites[k] != b.sites[k] || a.calls[k] != b.calls[k] {
			return k
		}
	}
	return max(n-1, 0)
}

// A fork is where a call path leaves the one before it: in the function at a depth, in a loop of it (-1: none), whose
// next trip begins or not.
type fork struct {
	depth int
	loop  int
	next  bool
}

// fork says where q leaves p.
func (l *layout) fork(p, q uint32) (fork, bool) {
	a, b := l.paths[p].sites, l.paths[q].sites
	if len(a) == 0 || len(b) == 0 {
		return fork{}, len(a) == len(b)
	}
	if f, ok := l.directly(p, q); ok {
		return f, true
	}
	// What the machine code has between was not recorded, or was not done where it seems to be.
	for j := l.parting(p, q); j >= 0; j-- {
		x, y := &l.sites[a[j]], &l.sites[b[j]]
		if x.function != y.function {
			return fork{}, false
		}
		f := &l.functions[x.function]
		if x.at < 0 || y.at < 0 || f.follows == nil {
			return fork{}, false
		}
		loop := f.common(x.loop, y.loop)
		if f.follow(loop, x.at, y.at) || l.tail(p, q, j) {
			return fork{j, loop, false}, true
		}
		if loop >= 0 {
			return fork{j, loop, true}, true
		}
	}
	return fork{}, false
}

// directly says where q leaves p by a way without calls between, as far as the machine code of all functions says it.
func (l *layout) directly(p, q uint32) (fork, bool) {
	a, b := l.paths[p].sites, l.paths[q].sites
	for j := l.parting(p, q); j >= 0; j-- {
		x, y := &l.sites[a[j]], &l.sites[b[j]]
		w := l.functions[x.function].ways
		if x.function != y.function || w == nil {
			return fork{}, false
		}
		if l.tail(p, q, j) {
			return fork{j, w.common(x.loop, y.loop), false}, true
		}
		if mask := w.between(x.at, y.at, pastSome); mask != 0 {
			if k := bits.TrailingZeros64(mask); k > 0 {
				return fork{j, w.chain(x.at, y.at)[k-1], true}, true
			}
			return fork{j, w.common(x.loop, y.loop), false}, true
		}
		if !w.reaches(x.at, w.nodes, pastSome) || !w.reaches(w.nodes, y.at, pastSome) {
			return fork{}, false
		}
	}
	return fork{}, false
}

// tail reports whether q is of a tail call: the function that was called at a site has jumped to another one at its
// end, so that this one returns to that site too. Where the machine code of that function is known its tail calls are
// on the call paths.
func (l *layout) tail(p, q uint32, depth int) bool {
	a, b := &l.paths[p], &l.paths[q]
	if depth+1 < len(a.sites) && l.functions[l.sites[a.sites[depth+1]].function].by == ByCode {
		return false
	}
	return a.sites[depth] == b.sites[depth] && a.calls[depth] != b.calls[depth] && depth+1 < len(a.sites) && depth+1 == len(b.sites)
}

// open lists the bodies that are open at the call of a path.
func (l *layout) open(p *path) {
	if len(p.calls) == 0 {
		p.leaf = -1
		return
	}
	ctx := int32(-1)
	entry := int32(-1)
	var open []int32
	for _, c := range p.calls {
		s := &l.sites[l.calls[c].site]
		again := false
		if k := slices.IndexFunc(open, func(x int32) bool { return l.contexts[x].function == s.function }); k >= 0 {
			ctx, again = open[k], true
			l.contexts[ctx].recursive = true
			p.recursion++
			open = open[:k+1]
		} else {
			ctx = l.context(entry, s.function)
			open = append(open, ctx)
		}
		p.depth = append(p.depth, int32(len(p.links)))
		at := l.body(ctx, -1)
		if entry >= 0 {
			l.enter(entry, at, again)
		}
		p.links = append(p.links, link{entry, at})
		var loops []int
		for k := s.loop; k >= 0; k = l.functions[s.function].loops[k].Parent {
			loops = append(loops, k)
		}
		slices.Reverse(loops)
		for _, k := range loops {
			n := l.item(at, k, -1)
			at = l.body(ctx, k)
			l.enter(n, at, false)
			p.links = append(p.links, link{n, at})
		}
		entry = l.item(at, -1, c)
	}
	p.leaf = entry
}

func (l *layout) context(entry, function int32) int32 {
	call, parent := int32(-1), int32(-1)
	if entry >= 0 {
		call, parent = l.items[entry].call, l.bodies[l.items[entry].body].context
	}
	key := [2]int32{parent, call}
	if call < 0 {
		key[1] = ^function
	}
	n, ok := l.ctxOf[key]
	if !ok {
		n = int32(len(l.contexts))
		l.ctxOf[key] = n
		l.contexts = append(l.contexts, context{parent: parent, call: call, function: function})
	}
	return n
}

func (l *layout) body(ctx int32, loop int) int32 {
	key := [2]int32{ctx, int32(loop)}
	n, ok := l.bodyOf[key]
	if !ok {
		n = int32(len(l.bodies))
		l.bodyOf[key] = n
		l.bodies = append(l.bodies, body{context: ctx, loop: loop, entry: -1})
	}
	return n
}

func (l *layout) item(body int32, loop int, call int32) int32 {
	key := itemKey{body, loop, call}
	n, ok := l.itemOf[key]
	if !ok {
		n = int32(len(l.items))
		l.itemOf[key] = n
		l.items = append(l.items, item{body: body, loop: loop, call: call, inner: -1})
		l.bodies[body].items = append(l.bodies[body].items, n)
	}
	return n
}

func (l *layout) enter(item, body int32, again bool) {
	x := &l.items[item]
	x.inner, x.again = body, again
	if l.bodies[body].entry < 0 && !again {
		l.bodies[body].entry = item
	}
}
