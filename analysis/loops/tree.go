package loops

import "slices"

// A tree is one sequence with bodies of its own: the last one is the sequence itself.
type tree struct {
	Bodies           []Body
	Symbols          int64
	Mixed, Unordered int64
	Blurred          int64
	Counts           []Count
	Threads          int
}

// newTree finds the loops of what the threads at these places did, all of them the same.
func newTree(threads []Thread, at []int32, limit int, coarse []uint32) *tree {
	t := &tree{Threads: len(at)}
	symbols := threads[at[0]].Symbols
	t.Symbols = int64(len(symbols))
	f := newForest(coarse)
	l := f.share(f.foldAll(f.begin(symbols)))
	parts, fits := f.whole(l, limit)
	if !fits && runs(symbols) <= limit {
		// Loops whose turns differ can take more than what they stand for.
		l = f.begin(symbols)
		parts, fits = f.whole(l, limit)
	}
	if !fits && coarse != nil {
		symbols = t.blur(threads, at, coarse)
		f = newForest(nil)
		l = f.share(f.foldAll(f.begin(symbols)))
		parts, fits = f.whole(l, limit)
	}
	if !fits {
		parts = f.plan(l, parts, len(distinct(symbols)), limit)
	}
	m := &measurement{forest: f, bodies: make(map[int32][]times), rounds: make(map[int32]int64)}
	own := make([]times, len(parts))
	rest := make([]counted, len(parts))
	for i := range rest {
		if !parts[i].exact {
			rest[i] = make(counted)
		}
	}
	for _, i := range at {
		m.thread, m.at = &threads[i], 0
		for k, p := range parts {
			m.part(l, p, &own[k], rest[k])
		}
	}
	g := grafter{m, t, make(map[int32]int32)}
	root := Body{Rounds: int64(len(at))}
	for i, p := range parts {
		root.Items = append(root.Items, g.part(l, p, own[i], rest[i]))
	}
	t.Bodies = append(t.Bodies, root)
	return t
}

// blur notes how often there was each symbol and returns the sequence in coarse ones.
func (t *tree) blur(threads []Thread, at []int32, coarse []uint32) []uint32 {
	exact := make(counted)
	for _, i := range at {
		for k, s := range threads[i].Symbols {
			if exact[s] == nil {
				exact[s] = new(times)
			}
			exact[s].add(&threads[i], k)
		}
	}
	t.Counts = exact.counts(int64(t.Threads))
	kinds := make(map[uint32]int)
	for _, c := range t.Counts {
		kinds[coarse[c.Symbol]]++
	}
	for _, c := range t.Counts {
		if kinds[coarse[c.Symbol]] > 1 {
			t.Blurred += c.Times
		}
	}
	symbols := make([]uint32, len(threads[at[0]].Symbols))
	for k, s := range threads[at[0]].Symbols {
		symbols[k] = coarse[s]
	}
	return symbols
}

func distinct(symbols []uint32) map[uint32]struct{} {
	set := make(map[uint32]struct{})
	for i, s := range symbols {
		if i == 0 || s != symbols[i-1] {
			set[s] = struct{}{}
		}
	}
	return set
}

// A grafter copies what is kept of a forest to a tree.
type grafter struct {
	from *measurement
	to   *tree
	done map[int32]int32 // bodies
}

func (g *grafter) part(l line, p part, own times, rest counted) Item {
	if p.exact {
		return g.item(l.nodes[p.from], own)
	}
	var item Item
	item.Mixed = rest.counts(int64(g.to.Threads))
	for _, c := range item.Mixed {
		g.to.Mixed += c.Times
	}
	if p.bodies == nil {
		return item
	}
	total := int64(0)
	size := sizes{g.from.forest, make([]int64, len(g.from.nodes)), make([]int64, len(g.from.forest.bodies))}
	for _, t := range g.from.nodes[l.nodes[p.from]].turns {
		if !p.bodies[t.Body] {
			continue
		}
		total += t.Times * size.ofBody(t.Body)
		body := g.body(t.Body)
		if k := slices.IndexFunc(item.Turns, func(o Turn) bool { return o.Body == body }); k >= 0 {
			item.Turns[k].Times += t.Times
		} else {
			item.Turns = append(item.Turns, Turn{body, t.Times})
		}
	}
	if len(item.Turns) > 1 || len(item.Turns) > 0 && len(item.Mixed) > 0 {
		item.Unordered = true
		g.to.Unordered += total
	}
	return item
}

func (g *grafter) item(id int32, own times) Item {
	n := &g.from.nodes[id]
	if n.times > 0 {
		return Item{Symbol: n.symbol, Times: n.times, Duration: own.duration, Gap: own.gap}
	}
	var item Item
	for _, t := range n.turns {
		item.Turns = append(item.Turns, Turn{g.body(t.Body), t.Times})
	}
	return item
}

func (g *grafter) body(id int32) int32 {
	if k, ok := g.done[id]; ok {
		return k
	}
	b := Body{Rounds: g.from.rounds[id]}
	for i, n := range g.from.forest.bodies[id] {
		b.Items = append(b.Items, g.item(n, g.from.bodies[id][i]))
	}
	k := int32(len(g.to.Bodies))
	g.to.Bodies = append(g.to.Bodies, b)
	g.done[id] = k
	return k
}
