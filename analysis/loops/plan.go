package loops

import (
	"cmp"
	"slices"
)

// A part of a sequence is how some of its outermost nodes are kept.
type part struct {
	from, to int            // of the line; one node unless it is summed up
	exact    bool           // kept as it is
	bodies   map[int32]bool // of a loop that is not exact: those that are kept; nil = all nodes of the part are only counted
}

// sizes knows how many symbols nodes and bodies stand for.
type sizes struct {
	*forest
	node, body []int64 // 0 = not known yet
}

func (s *sizes) ofNode(id int32) int64 {
	if s.node[id] == 0 {
		n := s.nodes[id].times
		for _, t := range s.nodes[id].turns {
			n += t.Times * s.ofBody(t.Body)
		}
		s.node[id] = n
	}
	return s.node[id]
}

func (s *sizes) ofBody(id int32) int64 {
	if s.body[id] == 0 {
		n := int64(0)
		for _, k := range s.bodies[id] {
			n += s.ofNode(k)
		}
		s.body[id] = n
	}
	return s.body[id]
}

// items counts what a node takes, in items and turns; bodies that were seen are there already.
func (f *forest) items(id int32, seen map[int32]bool) int {
	n := 1
	for _, t := range f.nodes[id].turns {
		n += 1 + f.bodyItems(t.Body, seen)
	}
	return n
}

func (f *forest) bodyItems(id int32, seen map[int32]bool) int {
	if seen[id] {
		return 0
	}
	seen[id] = true
	n := 0
	for _, k := range f.bodies[id] {
		n += f.items(k, seen)
	}
	return n
}

// whole keeps all of a line, and reports whether that takes limit items at most.
func (f *forest) whole(l line, limit int) (parts []part, fits bool) {
	parts = make([]part, len(l.nodes))
	seen := make(map[int32]bool)
	total := 0
	for i, id := range l.nodes {
		parts[i] = part{from: i, to: i + 1, exact: true}
		if total <= limit {
			total += f.items(id, seen)
		}
	}
	return parts, total <= limit
}

// plan decides what of a line of different symbols is kept in about limit items: what stands for most symbols, and in
// loops with too many different bodies the bodies that do. parts are those of whole.
func (f *forest) plan(l line, parts []part, different, limit int) []part {
	seen := make(map[int32]bool)
	size := &sizes{f, make([]int64, len(f.nodes)), make([]int64, len(f.bodies))}
	order := size.largest(l.nodes, limit)
	own, first := make([]int, len(l.nodes)), make([]int, len(l.nodes))
	here := make(map[int32]bool)
	for i, id := range l.nodes {
		if own[i], first[i] = 1, 1; f.nodes[id].turns != nil {
			own[i], first[i] = f.items(id, make(map[int32]bool)), f.items(id, here)
		}
	}
	// The first of that order, with what they take together.
	takes := []int{0}
	for _, i := range order {
		if takes[len(takes)-1] > limit {
			break
		}
		n, bodies := size.reduce(l.nodes[i], different, limit/2, seen)
		parts[i].exact, parts[i].bodies = bodies == nil, bodies
		takes = append(takes, takes[len(takes)-1]+n)
	}
	most, tooMany := 0, len(takes)
	for most+1 < tooMany {
		middle := (most + tooMany) / 2
		if takes[middle]+between(own, order[:middle], different) <= limit {
			most = middle
		} else {
			tooMany = middle
		}
	}
	scattered := gather(parts, order[:most])
	// Bodies count where they are first; if that is in the stretch itself, they have to count everywhere.
	for _, items := range [][]int{first, own} {
		from, to, ok := size.stretch(l, items, different, limit)
		if !ok || size.lost(l, scattered) <= size.symbols(l, from, to) {
			continue
		}
		out := slices.Concat(parts[:from], []part{{from: from, to: to}}, parts[to:])
		for i := range out {
			out[i].exact, out[i].bodies = i != from, nil
		}
		if f.takes(l, out, different) <= limit {
			return out
		}
	}
	return scattered
}

// takes says how many items parts take at most that are exact or summed up.
func (f *forest) takes(l line, parts []part, different int) int {
	n := 0
	seen := make(map[int32]bool)
	for _, p := range parts {
		if p.exact {
			n += f.items(l.nodes[p.from], seen)
		} else {
			n += 1 + different
		}
	}
	return n
}

// stretch finds the stretch of nodes that stands for the fewest symbols among those that, summed up, make the rest fit:
// better than many small ones where little is too much. own are the items of each node by itself.
func (s *sizes) stretch(l line, own []int, different, limit int) (from, to int, ok bool) {
	total := 0
	for _, n := range own {
		total += n
	}
	items, symbols, least := 0, int64(0), int64(0)
	saved := func(without int) int { return items - without - 1 - min(different, items-without) }
	for a, b := 0, 0; b < len(own); b++ {
		items += own[b]
		symbols += s.ofNode(l.nodes[b])
		for a < b && total-saved(own[a]) <= limit {
			items -= own[a]
			symbols -= s.ofNode(l.nodes[a])
			a++
		}
		if total-saved(0) <= limit && (!ok || symbols < least) {
			from, to, ok, least = a, b+1, true, symbols
		}
	}
	return from, to, ok
}

// symbols is how many a stretch of nodes stands for.
func (s *sizes) symbols(l line, from, to int) int64 {
	n := int64(0)
	for _, id := range l.nodes[from:to] {
		n += s.ofNode(id)
	}
	return n
}

// lost is how many symbols parts do not keep in their order.
func (s *sizes) lost(l line, parts []part) int64 {
	n := int64(0)
	for _, p := range parts {
		if !p.exact {
			n += s.symbols(l, p.from, p.to)
		}
	}
	return n
}

// largest gives the places of the n nodes that stand for most symbols, those first; the earlier one of two that stand
// for as many.
func (s *sizes) largest(nodes []int32, n int) []int {
	before := func(a, b int) int {
		return cmp.Or(cmp.Compare(s.ofNode(nodes[b]), s.ofNode(nodes[a])), cmp.Compare(a, b))
	}
	var list []int
	full := false // there are n, and the last of them is list[n-1]
	for i := range nodes {
		if full && before(i, list[n-1]) > 0 {
			continue
		}
		// Up to twice as many are held before those that are too many go.
		if list = append(list, i); len(list) < 2*n {
			continue
		}
		slices.SortFunc(list, before)
		list, full = list[:n], true
	}
	slices.SortFunc(list, before)
	return list[:min(n, len(list))]
}

// reduce says what a node takes and, where that is more than limit, which bodies of the loop fit.
func (s *sizes) reduce(id int32, different, limit int, seen map[int32]bool) (items int, bodies map[int32]bool) {
	trial := make(map[int32]bool)
	if n := s.items(id, trial); n <= limit {
		return s.items(id, seen), nil
	}
	symbols := make(map[int32]int64)
	var list []int32
	for _, t := range s.nodes[id].turns {
		if symbols[t.Body] == 0 {
			list = append(list, t.Body)
		}
		symbols[t.Body] += t.Times * s.ofBody(t.Body)
	}
	slices.SortFunc(list, func(a, b int32) int { return cmp.Or(cmp.Compare(symbols[b], symbols[a]), cmp.Compare(a, b)) })
	bodies = make(map[int32]bool)
	items = 1 + different
	for _, b := range list {
		n := 1 + s.bodyItems(b, make(map[int32]bool))
		if items+n > limit {
			continue
		}
		bodies[b] = true
		items += n
		s.bodyItems(b, seen)
	}
	return items, bodies
}

// between says how many items it takes at most to count what is not kept, if the nodes at kept are. own are the items
// of each node by itself.
func between(own []int, kept []int, different int) int {
	kept = slices.Sorted(slices.Values(kept))
	n, from := 0, 0
	for _, k := range append(kept, len(own)) {
		if k > from {
			symbols := 0
			for _, items := range own[from:k] {
				if symbols += items; symbols >= different {
					break
				}
			}
			n += 1 + min(symbols, different)
		}
		from = k + 1
	}
	return n
}

// gather joins the parts that lie between those kept.
func gather(parts []part, kept []int) []part {
	keep := make([]bool, len(parts))
	for _, i := range kept {
		keep[i] = true
	}
	var out []part
	for i, p := range parts {
		if n := len(out); !keep[i] && n > 0 && !out[n-1].exact && out[n-1].bodies == nil {
			out[n-1].to = p.to
			continue
		}
		if !keep[i] {
			p.exact, p.bodies = false, nil
		}
		out = append(out, p)
	}
	return out
}
