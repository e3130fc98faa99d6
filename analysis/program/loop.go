package program

import (
	"maps"
	"slices"
)

// loop makes the line of a loop and its body. Loops round each other with nothing beside, of which the outer one never
// went round, are one in the data.
func (s *solver) loop(i int32, at place) []*Node {
	x := &s.lay.items[i]
	f := &s.lay.functions[s.lay.contexts[s.lay.bodies[x.body].context].function]
	loop := &f.loops[x.loop]
	node := &Node{Kind: KindLoop, By: f.by, Function: f.Name, File: loop.File, Line: loop.Line, Trips: s.trips(i)}
	node.Trips.AtLeast, node.Trips.AtMost = s.atLeast[x.inner], s.atMost[x.inner]
	node.Trips.WithCalls = f.ways != nil && f.ways.skips(x.loop)
	node.Note = s.endsIn(i)
	scopes := len(s.scopesOf(i))
	if scopes > 0 {
		node.Function = s.scopesOf(i)[scopes-1].Function
	}
	busy, round := s.busy, at
	d := s.joined[x.inner]
	if d != nil {
		s.busy = maps.Clone(busy)
		s.suppose(d, true)
	}
	if node.Trips.Most > 1 && !node.Trips.AtLeast && !node.Trips.AtMost { // else conditions cannot count them
		node.Variable = variableNames[min(at.loops, len(variableNames)-1)]
		s.names[x.inner] = node.Variable
		at.loops++
	}
	node.Body = s.body(x.inner, at.loops, scopes)
	node.Trips.Likely = s.likely[x.inner] && node.Variable != ""
	if d != nil {
		evidence := speaks(node, s.entries(i) >= enoughEntries)
		if evidence == nothing { // no condition is said of these trips
			delete(s.joined, x.inner)
			s.busy = busy
			s.suppose(d, false)
			s.bound(x.inner, d)
			delete(s.names, x.inner)
			clear(s.vars)
			return s.loop(i, round)
		}
		node.Trips.Likely = node.Trips.Likely || evidence == regularity || len(d.inner) > 0
	}
	if last := len(node.Body) - 1; s.merges(x) && last >= 0 && node.Body[last].Kind == KindLoop {
		node.Body[last].StandsFor = max(node.Body[last].StandsFor, 1) + 1
		return node.Body
	}
	return []*Node{node}
}

// enoughEntries is how often a rank has to enter a loop for conditions on its first, last or other trips to say how its
// calls are divided: they hold each time.
const enoughEntries = 4

// entries is how often a rank entered a loop, of those that did the one that did so least.
func (s *solver) entries(i int32) int {
	least := 0
	for g := range s.groups {
		if n := s.groups[g].Tree.Trips[i].len(); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// What speaks for the trips into which calls were divided.
const (
	nothing    = iota
	regularity // they are as many each time, and nothing in them has a condition on trips
	rules      // conditions on them hold
)

// speaks finds what in a loop speaks for its trips: conditions by remainders, or by others if it was entered often, and
// none that a few trips could have by chance.
func speaks(loop *Node, often bool) int {
	found, weak := false, false
	var walk func(list []*Node)
	walk = func(list []*Node) {
		for _, n := range list {
			if w := n.When; w != nil {
				strong := w.Kind == WhenEvery || w.Kind == WhenNotEvery || often && w.Kind != WhenUnknown
				found, weak = found || strong, weak || !strong
			}
			if n.Kind != KindLoop {
				walk(n.Body)
			}
		}
	}
	walk(loop.Body)
	switch {
	case weak:
		return nothing
	case found:
		return rules
	case loop.Trips.Kind == TripsConstant && loop.Trips.Most > 1:
		return regularity
	}
	return nothing
}

// merges reports whether a loop never went round and holds nothing but one other loop: they are one in the data.
func (s *solver) merges(x *item) bool {
	f := &s.lay.functions[s.lay.contexts[s.lay.bodies[x.body].context].function]
	for g := range s.groups {
		if t := &s.groups[g].Tree.Trips[s.lay.bodies[x.inner].entry]; t.Each != nil && slices.Max(t.Each) > 1 || t.Each == nil && t.Same > 1 {
			return false
		}
	}
	k := slices.IndexFunc(f.loops, func(o Loop) bool { return o.Parent == x.loop })
	return k >= 0 && s.sameSites(f, x.loop, k)
}

// sameSites reports whether all sites of a loop that were seen lie in a loop of it.
func (s *solver) sameSites(f *function, outer, inner int) bool {
	for _, n := range f.sites {
		at := s.lay.sites[n].at
		if f.row[1+outer][at] >= 0 && f.row[1+inner][at] < 0 {
			return false
		}
	}
	return true
}
