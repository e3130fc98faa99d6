package program

import (
	"slices"
	"strings"
)

// A View says what of a program is shown.
type View struct {
	Ranks    []int        // what these ranks do, sorted; nil = all
	Function string       // the bodies of this function; "" = all
	MinShare float64      // computation with less of all computing time is summed up in the line of its function
	All      bool         // loops of one trip, and what MinShare leaves out, too
	Depth    int          // how many levels; 0 = all
	Open     map[int]bool // nodes whose bodies are shown at any depth
	Closed   map[int]bool // nodes whose bodies are not
}

// Select is what a view shows of a program. Figures are still those of all ranks. What remains keeps its number.
func (p *Program) Select(v View) *Program {
	shown := *p
	shown.Readings = nil // which are whole programs
	if v.Ranks != nil {
		shown.Body = doneBy(shown.Body, v.Ranks)
	}
	if v.Function != "" {
		shown.Body = ofFunction(shown.Body, v.Function, nil)
	}
	if !v.All {
		shown.Body = dissolve(shown.Body)
		rest := &Node{ID: p.lastID() + 1, Kind: KindOther} // of the program itself
		shown.Body = hidden(shown.Body, v.MinShare, rest)
		if rest.Lines > 0 {
			shown.Body = append(shown.Body, rest)
		}
	}
	shown.Body = v.folded(shown.Body, 1)
	return &shown
}

func (p *Program) lastID() (last int) {
	Walk(p.Body, func(n *Node, _ []*Node) { last = max(last, n.ID) })
	return last
}

// NS is the computing and MPI time of a program, on all ranks.
func (p *Program) NS() (ns int64) {
	Walk(p.Body, func(n *Node, _ []*Node) { ns += n.ComputeNS + n.MPINS })
	return ns
}

// Functions are the names of all functions that are called, sorted.
func (p *Program) Functions() []string {
	var names []string
	Walk(p.Body, func(n *Node, _ []*Node) {
		if n.Kind == KindCall {
			names = append(names, n.Function)
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Walk goes through nodes in the order of the text; visit is given each with those that it lies in, outermost first.
func Walk(list []*Node, visit func(n *Node, in []*Node)) { walk(list, nil, visit) }

func walk(list, in []*Node, visit func(n *Node, in []*Node)) {
	for _, n := range list {
		visit(n, in)
		walk(n.Body, append(slices.Clip(in), n), visit)
	}
}

// doneBy is what some ranks do: their calls, and computation that ends with one of these. Before a condition stands
// also what others compute that take another branch.
func doneBy(list []*Node, ranks []int) []*Node {
	left := onRanks(list, ranks)
	all, own := calledIn(list), calledIn(left)
	return computed(left, func(path int) bool { return own[path] || !all[path] })
}

// calledIn are the call paths of the MPI calls in some lines.
func calledIn(list []*Node) map[int]bool {
	paths := make(map[int]bool)
	Walk(list, func(n *Node, _ []*Node) {
		for _, path := range n.Paths {
			paths[path] = true
		}
	})
	return paths
}

// computed leaves out computation that ends with calls of which none is made, and branches of which nothing is left,
// but for those that another one follows.
func computed(list []*Node, made func(path int) bool) []*Node {
	ends := func(around [2]int) bool { return made(around[1]) }
	var out []*Node
	for branches := range chains(list) {
		if n := branches[0]; n.Kind == KindCompute && len(n.Around) > 0 && !slices.ContainsFunc(n.Around, ends) {
			continue
		}
		last := len(out)
		for _, n := range branches {
			kept := *n
			if kept.Body = computed(n.Body, made); len(kept.Body) > 0 || len(n.Body) == 0 {
				last = len(out) + 1
			}
			out = append(out, &kept)
		}
		out = out[:last]
	}
	return out
}

// onRanks is what some ranks do: conditions that hold for all of them, or for none, are resolved.
func onRanks(list []*Node, ranks []int) []*Node {
	var out []*Node
	for branches := range chains(list) {
		if branches[0].Kind == KindIf {
			out = append(out, branchesOn(branches, ranks)...)
			continue
		}
		here := ranks
		if n := branches[0]; n.Ranks != nil { // a function in which threads of some ranks began
			here = intersection(ranks, n.Ranks)
		}
		if n := withBody(branches[0], func(body []*Node) []*Node { return onRanks(body, here) }); n != nil && len(here) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// withBody is a copy of a node with another body; nil where nothing is left of it.
func withBody(n *Node, change func([]*Node) []*Node) *Node {
	changed := *n
	changed.Body = change(n.Body)
	if len(changed.Body) == 0 && len(n.Body) > 0 {
		return nil
	}
	return &changed
}

func branchesOn(branches []*Node, ranks []int) []*Node {
	var out []*Node
	for _, n := range branches {
		here := ranks // that get to this branch and may take it
		if n.Ranks != nil {
			here = intersection(ranks, n.Ranks)
		}
		if len(here) == 0 {
			continue
		}
		if n.Threads != nil { // what ranks there are decides nothing: others of their threads may take other branches
			kept := *n
			kept.Body, kept.Else = onRanks(n.Body, here), len(out) > 0
			out = append(out, &kept)
			continue
		}
		kept := *n
		kept.Body = onRanks(n.Body, here)
		kept.Else = len(out) > 0
		all := len(here) == len(ranks)
		if all {
			kept.Ranks, kept.OfRanks, kept.RanksText = nil, nil, ""
		} else {
			kept.Ranks = here
		}
		if kept.When == nil && all && !kept.Else { // nothing is left of the condition
			return append(out, kept.Body...)
		}
		out = append(out, &kept)
		if kept.When == nil {
			ranks = without(ranks, here)
		}
	}
	// A branch of which nothing is left is shown only where another one follows it.
	for len(out) > 0 && len(out[len(out)-1].Body) == 0 {
		out = out[:len(out)-1]
	}
	return out
}

func intersection(a, b []int) []int {
	var both []int
	for _, x := range a {
		if _, found := slices.BinarySearch(b, x); found {
			both = append(both, x)
		}
	}
	return both
}

func without(a, b []int) []int {
	var left []int
	for _, x := range a {
		if _, found := slices.BinarySearch(b, x); !found {
			left = append(left, x)
		}
	}
	return left
}

// ofFunction are the outermost calls of a function, each with a note of what calls it.
func ofFunction(list []*Node, function string, callers []string) []*Node {
	var out []*Node
	for _, n := range list {
		if n.Kind != KindCall {
			out = append(out, ofFunction(n.Body, function, callers)...)
			continue
		}
		if n.Function != function {
			out = append(out, ofFunction(n.Body, function, append(slices.Clip(callers), n.Function))...)
			continue
		}
		call := *n
		if len(callers) > 0 {
			by := slices.Clone(callers)
			slices.Reverse(by)
			call.Note = strings.TrimPrefix(n.Note+", called by "+strings.Join(by, " < "), ", ")
		}
		out = append(out, &call)
	}
	return out
}

// dissolve leaves loops of one trip out whose trips no condition counts.
func dissolve(list []*Node) []*Node {
	var out []*Node
	for _, n := range list {
		if t := n.Trips; n.Kind == KindLoop && t.Least == 1 && t.Most == 1 && !t.AtLeast && n.StandsFor <= 1 && !referred(n.Body, n.Variable) {
			out = append(out, dissolve(n.Body)...)
			continue
		}
		kept := *n
		kept.Body = dissolve(n.Body)
		out = append(out, &kept)
	}
	return out
}

// referred reports whether a condition counts the trips of the loop with a variable.
func referred(list []*Node, variable string) bool {
	return variable != "" && slices.ContainsFunc(list, func(n *Node) bool {
		if n.Kind == KindLoop && n.Variable == variable { // it hides the other one
			return false
		}
		return n.When != nil && n.When.Variable == variable || n.Trips != nil && n.Trips.Linear != nil && n.Trips.Linear.Variable == variable || referred(n.Body, variable)
	})
}

// hidden sums computation with less than a share up in the line of the function that it is in.
func hidden(list []*Node, least float64, function *Node) []*Node {
	var out []*Node
	for branches := range chains(list) {
		if n := branches[0]; n.Kind == KindCompute && n.Share < least {
			function.hide(&Node{Lines: 1, Share: n.Share, ComputeNS: n.ComputeNS})
			continue
		}
		var kept []*Node
		sums := make([]Node, len(branches))
		for i, n := range branches {
			x := *n
			of := &sums[i]
			if n.Kind == KindCall {
				of = &x
			}
			x.Body = hidden(n.Body, least, of)
			kept = append(kept, &x)
		}
		// What had only such lines goes with them; a branch only where no other one follows it.
		left := len(kept)
		for left > 0 && len(kept[left-1].Body) == 0 && len(branches[left-1].Body) > 0 && branches[left-1].Kind != KindCall {
			left--
		}
		for i := range kept {
			if i < left && len(kept[i].Body) == 0 {
				kept[i].Body = branches[i].Body
			} else {
				function.hide(&sums[i])
			}
		}
		out = append(out, kept[:left]...)
	}
	return out
}

// hide adds what is not shown to the line of its function.
func (n *Node) hide(x *Node) {
	n.Share += x.Share
	n.ComputeNS += x.ComputeNS
	if n.Kind != KindCall {
		n.Lines += x.Lines
	}
}

// folded sums up what lies deeper than the view shows.
func (v *View) folded(list []*Node, level int) []*Node {
	if v.Depth == 0 && len(v.Closed) == 0 {
		return list
	}
	var out []*Node
	for _, n := range list {
		kept := *n
		deep := v.Depth > 0 && level >= v.Depth && !v.Open[n.ID]
		if len(n.Body) > 0 && (deep || v.Closed[n.ID]) {
			rest := &Node{ID: n.Body[0].ID, Kind: KindOther}
			for _, x := range n.Body {
				rest.take(x)
			}
			kept.Body = []*Node{rest}
		} else {
			kept.Body = v.folded(n.Body, level+1)
		}
		out = append(out, &kept)
	}
	return out
}
