package program

import (
	"cmp"
	"fmt"
	"slices"
)

// A unit is items that come together: one, or those that lie in one function that the compiler has put there.
type unit struct {
	items []int32
	scope *Inlined
	set   set
	of    set // executions in question that got there
}

// body makes the lines of a body, under so many loops, and inside so many inlined functions.
func (s *solver) body(b int32, loops, scopes int) []*Node {
	var items []int32
	for _, i := range s.lay.orders[b] {
		if s.happened(i) > 0 {
			items = append(items, i)
		}
	}
	return s.lines(b, s.universe(b), items, place{loops, scopes})
}

// A place is where lines stand: under so many loops, and inside so many inlined functions.
type place struct{ loops, scopes int }

func (s *solver) happened(i int32) int64 {
	n := int64(0)
	for g := range s.groups {
		n += s.groups[g].Tree.Came[i].len() * int64(len(s.groups[g].Threads))
	}
	return n
}

// scopesOf are the functions that are inlined round an item.
func (s *solver) scopesOf(i int32) []Inlined {
	x := &s.lay.items[i]
	if x.loop < 0 {
		return s.lay.sites[s.lay.calls[x.call].site].scopes
	}
	f := &s.lay.functions[s.lay.contexts[s.lay.bodies[x.body].context].function]
	// The head of a loop lies in what all that it holds has in common, at most.
	var common []Inlined
	for k, inner := range s.lay.bodies[x.inner].items {
		list := s.scopesOf(inner)
		if k == 0 {
			common = list
			continue
		}
		n := 0
		for n < min(len(common), len(list)) && common[n] == list[n] {
			n++
		}
		common = common[:n]
	}
	if f.by != ByCode || f.loops[x.loop].Line == 0 {
		return common
	}
	head := f.loops[x.loop].Scopes
	n := 0
	for n < min(len(common), len(head)) && common[n] == head[n] {
		n++
	}
	return common[:n]
}

// lines makes those of some items of a body, for the executions u of it.
func (s *solver) lines(b int32, u set, items []int32, at place) (list []*Node) {
	units := s.units(u, items, at.scopes)
	branches := s.nested(b, branchesOf(units))
	for i := 0; i < len(branches); {
		x := branches[i]
		if x.always() {
			var always []*Node
			for _, n := range units[x.from:x.to] {
				always = append(always, s.unit(b, n, at)...)
			}
			list = append(list, s.rolled(always, s.times(x.of))...)
			i++
			continue
		}
		// How many exclude each other, and together are always: an IF with its ELSE.
		together, n := x.set, 1
		for i+n < len(branches) && together.apart(branches[i+n].set) && !together.equal(x.of) {
			together = together.or(branches[i+n].set)
			n++
		}
		if !together.equal(x.of) {
			n = 1
		}
		ruled := true
		for k := range n {
			y := branches[i+k]
			node := s.condition(b, x.of, y.set, k > 0, k == n-1 && n > 1 && ruled)
			if k == 0 {
				node.Note = s.endsBefore(u, x.of)
			}
			if unknown := node.When != nil && node.When.Kind == WhenUnknown; unknown && ruled && k == n-1 && n > 1 {
				node.When, node.By = nil, s.by(b) // whenever those before it do not
			} else if unknown {
				ruled = false
			}
			var inside []int32
			for _, z := range units[y.from:y.to] {
				inside = append(inside, z.items...)
			}
			node.Body = s.lines(b, y.set, inside, at)
			list = append(list, node)
		}
		i += n
	}
	return list
}

// times is how many executions a set has on all ranks.
func (s *solver) times(u set) int64 {
	n := int64(0)
	for g := range u {
		n += count(u[g]) * int64(len(s.groups[g].Threads))
	}
	return n
}

// units puts items together that lie in one inlined function.
func (s *solver) units(u set, items []int32, scopes int) (units []unit) {
	for _, i := range items {
		var scope *Inlined
		if list := s.scopesOf(i); len(list) > scopes {
			scope = &list[scopes]
		}
		c := s.in(i).and(u)
		if k := len(units) - 1; k >= 0 && scope != nil && units[k].scope != nil && *units[k].scope == *scope {
			units[k].items = append(units[k].items, i)
			units[k].set = units[k].set.or(c)
			continue
		}
		units = append(units, unit{items: []int32{i}, scope: scope, set: c, of: s.reached(u, i)})
	}
	return units
}

func (s *solver) by(b int32) string {
	return s.lay.functions[s.lay.contexts[s.lay.bodies[b].context].function].by
}

// condition makes an IF, or the ELSE of the one before it.
func (s *solver) condition(b int32, u, c set, behind, closes bool) *Node {
	node := &Node{Kind: KindIf, By: s.by(b), Else: behind}
	node.Of, node.Happened = s.times(u), s.times(c)
	r := s.rule(b, u, c)
	if !r.known {
		if other, threads, of := s.byThread(b, u, c); threads != nil {
			r, node.Threads, node.OfThreads = other, threads, of
		}
	}
	node.Ranks, node.RanksText, node.When, node.WhenText = r.ranks, r.text, r.when, r.words
	if node.Ranks != nil {
		node.OfRanks = s.ranksOf(u)
	}
	if !r.known {
		node.When = &When{Kind: WhenUnknown}
		node.By = BySequence
	}
	if behind && closes {
		node.WhenText, node.RanksText = "", ""
	}
	return node
}

// unit makes the lines of what comes together.
func (s *solver) unit(b int32, x unit, at place) (list []*Node) {
	if x.scope != nil {
		node := &Node{Kind: KindCall, Function: x.scope.Function, File: x.scope.CallFile, Line: x.scope.CallLine, Inlined: true}
		list = append(list, s.busyNode(b, x.items[0])...)
		s.busy[[2]int32{b, x.items[0]}] = nil // it stands before the call
		node.Body = s.lines(b, x.set, x.items, place{at.loops, at.scopes + 1})
		return append(list, node)
	}
	i := x.items[0]
	y := &s.lay.items[i]
	list = append(list, s.busyNode(b, i)...)
	if y.loop >= 0 {
		return append(list, s.loop(i, at)...)
	}
	c := s.lay.calls[y.call]
	site := &s.lay.sites[c.site]
	node := &Node{File: site.file, Line: site.line, column: site.column}
	if site.caller {
		node.Note = "caller unknown"
	}
	if n := len(s.lay.copies[c.site]); n > 1 && site.line == 0 {
		node.Note = fmt.Sprintf("%d copies", n) // perhaps several calls of the source
	}
	switch {
	case y.inner < 0:
		return append(list, s.mpiNode(node, i))
	case y.again:
		node.Kind, node.Function = KindRecursion, s.nameOf(c.callee)
		if !s.abridged()[int(c.callee)] {
			node.Count = s.happened(i)
		}
		return append(list, node)
	}
	if s.rest(i) {
		return append(list, s.body(y.inner, at.loops, 0)...)
	}
	node.Kind, node.Function = KindCall, s.nameOf(c.callee)
	node.Recursive = s.lay.contexts[s.lay.bodies[y.inner].context].recursive
	node.Body = s.body(y.inner, at.loops, 0)
	return append(list, node)
}

// rest reports whether a call is that of the rest of a function whose beginning the compiler has inlined, or whose
// rest it has put into a function of its own: one of the same name and place, called at its first line. To a reader it
// is the same function.
func (s *solver) rest(i int32) bool {
	x := &s.lay.items[i]
	c := &s.lay.calls[x.call]
	site, callee := &s.lay.sites[c.site], &s.lay.functions[c.callee]
	if callee.Line == 0 || site.file != callee.File || site.line > callee.Line || s.lay.contexts[s.lay.bodies[x.inner].context].recursive {
		return false
	}
	if n := len(site.scopes); n > 0 {
		return site.scopes[n-1].Function == callee.Name
	}
	caller := &s.lay.functions[site.function]
	return site.function != c.callee && caller.Name == callee.Name && caller.File == callee.File && caller.Line == callee.Line
}

func (s *solver) nameOf(function int32) string {
	return cmp.Or(s.lay.functions[function].Name, "?")
}

// mpiNode fills in the line of MPI calls.
func (s *solver) mpiNode(node *Node, i int32) *Node {
	node.Kind, node.Function = KindMPI, s.lay.mpi[^s.lay.calls[s.lay.items[i].call].callee]
	for _, p := range s.paths[i] {
		if n := s.input.number(uint32(p)); !slices.Contains(node.Paths, n) {
			node.Paths = append(node.Paths, n)
		}
		c := &s.figures.Calls[p]
		node.Count += c.Count
		node.MPINS += c.NS
		node.LateNS += c.LateNS
	}
	s.moved(node)
	by := make(map[member]int64)
	for g := range s.groups {
		if n := s.groups[g].Tree.Came[i].len(); n > 0 {
			for _, t := range s.groups[g].Threads {
				by[s.member(t)] += n
			}
		}
	}
	node.Each = s.each(by)
	return node
}
