package program

import (
	"cmp"
	"fmt"
	"slices"
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
	orders [][]int32  // by body: its items in their order
	chains [][]uint32 // by path: those of which it is one, as calls at ends of functions are on no call path; nil = of none
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
	again    bool // what is called there may have called itself, see Step
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
	// unclear says that functions that end with a call may be missing.
	unclear bool
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

// prepare numbers the calls of all paths, and takes over what machine code says. pairs are the call paths that follow
// each other in any sequence.
func prepare(in *Input, pairs []Pair) (l *layout, steps [][]Step) {
	l = &layout{
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
	steps = l.fromOne(in, completed(in), pairs)
	for i := range in.Paths {
		q := path{poll: in.Paths[i].Poll, unclear: in.Paths[i].Unclear}
		for k := range steps[i] {
			q.sites = append(q.sites, l.site(&steps[i][k]))
		}
		l.paths = append(l.paths, q)
	}
	for i := range l.functions {
		l.adopt(int32(i))
	}
	return l, steps
}

// lay numbers everything.
func lay(in *Input, pairs []Pair) (*layout, []string) {
	l, steps := prepare(in, pairs)
	l.chains = in.chains()
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
		if l.paths[i].leaf = -1; !in.Paths[i].idle {
			l.open(&l.paths[i])
		}
	}
	return l, why
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
	l.sites[n].again = l.sites[n].again || s.Again
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
	x.Code, x.ways, x.loops, x.follows, x.by = nil, nil, nil, nil, ""
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

// open lists the bodies that are open at the call of a path.
func (l *layout) open(p *path) {
	if len(p.calls) == 0 {
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
