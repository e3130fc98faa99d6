package code

import (
	"context"
	"fmt"
	"slices"
)

// A graph is the control flow of a function: blocks of instructions that are entered at their first and left at their
// last one. A block holds one site at most, as its last instruction.
type graph struct {
	heads [][]uint64 // addresses of the first instructions of each block; of a dispatch those of a jump to it
	ends  [][]uint64 // addresses of the last instructions, the last one first
	site  []int32    // that ends the block, -1 = none
	first []int32    // of the block's successors in next
	next  []int32
	leave bitmap // blocks that can leave the function, other than by an exception or with the program
}

func (g *graph) successors(b int32) []int32 { return g.next[g.first[b]:g.first[b+1]] }
func (g *graph) len() int                   { return len(g.site) }

// A builder makes the graph of a function of its parts: the one with its entry, then others.
type builder struct {
	image *image
	known *knowledge
	parts []*text
	bases []int // place of each part's first byte among all

	sites   []uint64 // return addresses
	leaders bitmap
	exits   []exit  // one for each event that ends a block
	blocks  []int32 // places at which blocks begin, then the end
	edges   [][2]int32
}

// An exit is how a block is left.
type exit struct {
	end      int // place behind its last instruction
	falls    bool
	to       []int
	dispatch bool // to wherever nothing else leads
	at       int  // place of its last instruction
	site     int32
	leaves   bool // out of the function
	apart    bool // the site is where a branch leads, out of the function: what follows the branch does not follow it
}

// place is where an address is among all parts; not ok: in none.
func (b *builder) place(addr uint64) (int, bool) {
	for i, t := range b.parts {
		if t.holds(addr) {
			return b.bases[i] + int(addr-t.start), true
		}
	}
	return 0, false
}

// leader makes the instruction at an address begin a block. Not sound: none is there.
func (b *builder) leader(addr uint64) (place int, inside, sound bool) {
	place, inside = b.place(addr)
	if !inside {
		return 0, false, true
	}
	for i, t := range b.parts {
		if at := place - b.bases[i]; t.holds(addr) && !t.starts.has(at) {
			return 0, true, false
		}
	}
	b.leaders.set(place)
	return place, true, true
}

// maxParts bounds the parts of a function.
const maxParts = 64

// maxHead and maxEnd are how many instructions at the beginning and at the end of a block are asked for the line of a
// loop: some have none.
const (
	maxHead = 6
	maxEnd  = 3
)

// build returns why there is no graph, or the graph of what the entry reaches. Of the sites optional ones may be where
// nothing leads: they are not in it.
func (b *builder) build(ctx context.Context, optional func(site uint64) bool) (*graph, string) {
	total := 0
	if len(b.parts) > maxParts {
		return nil, fmt.Sprintf("%d parts", len(b.parts))
	}
	for _, t := range b.parts {
		if t.fault != "" {
			return nil, t.fault
		}
		b.bases = append(b.bases, total)
		total += len(t.code)
	}
	if total > maxSpan {
		return nil, fmt.Sprintf("more than %d MiB of machine code", maxSpan>>20)
	}
	b.leaders = newBitmap(total + 1)
	b.leaders.set(0)
	found := 0
	for i, t := range b.parts {
		pads, ok := b.image.padsOf(b.image.frameAt(t.start))
		if !ok {
			return nil, "its table of exceptions cannot be read"
		}
		if ctx.Err() != nil {
			return nil, "no time was left"
		}
		b.leaders.set(b.bases[i])
		for k := range t.events {
			fault := b.leave(i, &t.events[k], pads)
			if fault != "" {
				return nil, fault
			}
			if n := len(b.exits); n > 0 && b.exits[n-1].site >= 0 && b.exits[n-1].end == b.bases[i]+t.events[k].end {
				found++
			}
		}
	}
	if found < len(b.sites) {
		return nil, "a return address on a call path follows no call"
	}
	b.divide(total)
	return b.reach(optional)
}

// leave notes where an event of a part leads.
func (b *builder) leave(part int, e *event, pads []pad) (fault string) {
	t, base := b.parts[part], b.bases[part]
	x := exit{at: base + e.at, end: base + e.end, site: -1}
	lead := func(addr uint64) bool {
		place, inside, sound := b.leader(addr)
		if inside && sound {
			x.to = append(x.to, place)
		}
		return sound
	}
	sound := true
	switch e.flow {
	case flowCall:
		behind := t.start + uint64(e.end)
		if i, ok := slices.BinarySearch(b.sites, behind); ok {
			x.site = int32(i)
		}
		x.falls = !b.known.dead(e)
		if at, ok := padOf(pads, behind-1); ok {
			sound = lead(at)
		}
		if x.site < 0 && x.falls && len(x.to) == 0 {
			return ""
		}
	case flowEnd:
		x.leaves = true
	case flowJump:
		sound = lead(e.target)
		x.site = b.tail(t, e, len(x.to) > 0)
		x.leaves = len(x.to) == 0
	case flowBranch:
		x.falls = true
		sound = lead(e.target)
		x.site = b.tail(t, e, len(x.to) > 0)
		x.apart = x.site >= 0
		x.leaves = len(x.to) == 0
	case flowIndirect:
		x.site = b.tail(t, e, false)
		targets := b.image.decode.tables(b.image, t, e)
		for _, addr := range targets {
			if _, inside, ok := b.leader(addr); !inside || !ok {
				targets = nil // it is not the table
				break
			}
		}
		slices.Sort(targets)
		for _, addr := range slices.Compact(targets) {
			lead(addr)
		}
		x.dispatch = targets == nil && e.slot == 0
		x.leaves = targets == nil && e.slot != 0
	}
	if !sound {
		return fmt.Sprintf("%#x leads into the middle of an instruction", t.start+uint64(e.at))
	}
	b.leaders.set(x.end)
	b.exits = append(b.exits, x)
	return ""
}

// tail is the site of a jump that leads out of the function, -1: it is none.
func (b *builder) tail(t *text, e *event, inside bool) int32 {
	if i, ok := slices.BinarySearch(b.sites, t.start+uint64(e.end)); ok && !inside {
		return int32(i)
	}
	return -1
}

// divide makes blocks, and the edges that instructions have in them.
func (b *builder) divide(total int) {
	for at := b.leaders.next(0); at >= 0 && at < total; at = b.leaders.next(at + 1) {
		b.blocks = append(b.blocks, int32(at))
	}
	b.blocks = append(b.blocks, int32(total))
	slices.SortFunc(b.exits, func(x, y exit) int { return x.end - y.end })
	next := 0
	for k := range int32(len(b.blocks) - 1) {
		end := int(b.blocks[k+1])
		falls := true
		for ; next < len(b.exits) && b.exits[next].end <= end; next++ {
			x := &b.exits[next]
			falls = x.falls // an exit ends a block, this one
			for _, place := range x.to {
				b.edges = append(b.edges, [2]int32{k, b.block(place)})
			}
		}
		if falls && end < total && !slices.Contains(b.bases, end) {
			b.edges = append(b.edges, [2]int32{k, k + 1})
		}
	}
}

// block is the one that begins at a place.
func (b *builder) block(place int) int32 {
	i, _ := slices.BinarySearch(b.blocks, int32(place))
	return int32(i)
}

// padding reports whether a block does nothing.
func (b *builder) padding(k int32) bool {
	from, to := int(b.blocks[k]), int(b.blocks[k+1])
	for i, t := range b.parts {
		if from >= b.bases[i] && from < b.bases[i]+len(t.code) {
			return !t.real.any(from-b.bases[i], to-b.bases[i])
		}
	}
	return true
}

// reach finds what the entry reaches. Indirect jumps without a table lead to each block that nothing else reaches: they
// do so by way of a block of their own, the dispatch.
func (b *builder) reach(optional func(site uint64) bool) (*graph, string) {
	n := int32(len(b.blocks) - 1)
	dispatch := n
	var through *exit // a jump by way of it
	for i := range b.exits {
		if x := &b.exits[i]; x.dispatch {
			through = x
			b.edges = append(b.edges, [2]int32{b.holding(x.at), dispatch})
		}
	}
	// Where a branch leads out of the function has a block of its own, behind the others.
	count := n + 1
	apart := make(map[int]int32)
	for i := range b.exits {
		if x := &b.exits[i]; x.apart {
			apart[i] = count
			b.edges = append(b.edges, [2]int32{b.holding(x.at), count})
			count++
		}
	}
	padding := newBitmap(int(count))
	for k := range n {
		if b.padding(k) {
			padding.set(int(k))
		}
	}
	first, next := compress(count, b.edges)
	reached := newBitmap(int(count))
	visit := func(from int32) {
		for stack := []int32{from}; len(stack) > 0; {
			k := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if reached.has(int(k)) {
				continue
			}
			reached.set(int(k))
			stack = append(stack, next[first[k]:first[k+1]]...)
		}
	}
	visit(0)
	if reached.has(int(dispatch)) {
		led := newBitmap(int(count))
		for _, e := range b.edges {
			if !padding.has(int(e[0])) {
				led.set(int(e[1]))
			}
		}
		for _, inCycle := range []bool{false, true} {
			for k := range n {
				if !reached.has(int(k)) && !padding.has(int(k)) && (inCycle || !led.has(int(k))) {
					b.edges = append(b.edges, [2]int32{dispatch, k})
					visit(k)
				}
			}
		}
		first, next = compress(count, b.edges)
	}
	g := new(graph)
	number := make([]int32, count)
	for k := range count {
		number[k] = -1
		if !reached.has(int(k)) {
			continue
		}
		number[k] = int32(len(g.site))
		g.site = append(g.site, -1)
		switch {
		case k > dispatch:
			g.heads, g.ends = append(g.heads, nil), append(g.ends, nil) // it is in no loop
		case k == dispatch:
			jump := b.addresses(through.at, through.end)
			g.heads, g.ends = append(g.heads, jump), append(g.ends, jump)
		default:
			from, to := int(b.blocks[k]), int(b.blocks[k+1])
			g.heads, g.ends = append(g.heads, b.addresses(from, to)), append(g.ends, b.last(from, to))
		}
	}
	g.leave = newBitmap(len(g.site))
	for i := range b.exits {
		x := &b.exits[i]
		block := b.holding(x.at)
		if x.apart {
			block = apart[i]
		}
		k := number[block]
		if k >= 0 && x.leaves {
			g.leave.set(int(k))
		}
		if x.site < 0 {
			continue
		}
		if k >= 0 {
			g.site[k] = x.site
		} else if site := b.sites[x.site]; !optional(site) {
			return nil, fmt.Sprintf("nothing is known to lead to the call before %#x", site)
		}
	}
	for k := range count {
		if number[k] < 0 {
			continue
		}
		g.first = append(g.first, int32(len(g.next)))
		for _, to := range next[first[k]:first[k+1]] {
			g.next = append(g.next, number[to])
		}
	}
	g.first = append(g.first, int32(len(g.next)))
	return g, ""
}

// holding is the block that holds a place.
func (b *builder) holding(place int) int32 {
	i, exact := slices.BinarySearch(b.blocks, int32(place))
	if !exact {
		i--
	}
	return int32(i)
}

// addresses are those of the first instructions between two places.
func (b *builder) addresses(from, to int) (list []uint64) {
	for i, t := range b.parts {
		if from < b.bases[i] || from >= b.bases[i]+len(t.code) {
			continue
		}
		for at := t.starts.next(from - b.bases[i]); at >= 0 && at < to-b.bases[i] && len(list) < maxHead; at = t.starts.next(at + 1) {
			list = append(list, t.start+uint64(at))
		}
	}
	return list
}

// last are those of the last instructions between two places, backwards.
func (b *builder) last(from, to int) (list []uint64) {
	for i, t := range b.parts {
		if from < b.bases[i] || from >= b.bases[i]+len(t.code) {
			continue
		}
		for at := to - b.bases[i] - 1; at >= from-b.bases[i] && len(list) < maxEnd; at-- {
			if t.starts.has(at) {
				list = append(list, t.start+uint64(at))
			}
		}
	}
	return list
}

// compress sorts edges by where they begin: those of k are next[first[k]:first[k+1]].
func compress(n int32, edges [][2]int32) (first, next []int32) {
	first, next = make([]int32, n+1), make([]int32, len(edges))
	for _, e := range edges {
		first[e[0]+1]++
	}
	for k := range n {
		first[k+1] += first[k]
	}
	at := slices.Clone(first)
	for _, e := range edges {
		next[at[e[0]]] = e[1]
		at[e[0]]++
	}
	return first, next
}
