package code

import (
	"context"
	"slices"

	"moriens/analysis/program"
)

const (
	// maxNesting bounds loops in loops: each level reads the code within once more.
	maxNesting = 512
	// maxFollows bounds the bytes of a function's matrices.
	maxFollows = 1 << 20
	// maxRoom bounds the bytes that finding them takes at a time.
	maxRoom = 64 << 20
)

// A nest finds the loops of a graph: its strongly connected components; in each the header, which is the entry that
// comes first in reverse postorder; then those of the component without the edges into its header, and so on.
//
// Of a component the block that comes first in reverse postorder is an entry: a depth-first search that reaches it
// before all others reaches all others from it, so that it is left last.
type nest struct {
	*graph
	order  []int32 // by block: its number in reverse postorder
	region []int32 // by block: the innermost body that it is known to be in
	loops  []loop
	bytes  int

	index, low []int32 // of Tarjan's algorithm, by block; index 0 = not visited
	group      []int32 // by block: its component
}

// A loop holds sites; the first of a nest is the function itself.
type loop struct {
	parent  int
	header  int32   // -1 = none
	latches []int32 // blocks that lead back to the header, and those that lead out of the loop
	sites   []int32
	follows []byte
}

// A body is what of a loop is still to be divided.
type body struct {
	parent, depth int
	header        int32
	blocks        []int32
}

// findLoops returns the loops that hold sites, outer ones before inner ones, the function first; or why there are none.
func findLoops(ctx context.Context, g *graph) (n *nest, fault string) {
	n = &nest{graph: g, order: make([]int32, g.len()), region: make([]int32, g.len()),
		index: make([]int32, g.len()), low: make([]int32, g.len()), group: make([]int32, g.len())}
	post := n.postorder()
	slices.Reverse(post)
	for i, k := range post {
		n.order[k] = int32(i)
	}
	for left := []body{{parent: -1, header: -1, blocks: post}}; len(left) > 0; {
		x := left[len(left)-1]
		left = left[:len(left)-1]
		if ctx.Err() != nil {
			return nil, "no time was left"
		}
		if x.depth > maxNesting {
			return nil, "its loops are too deep in each other"
		}
		me := len(n.loops)
		for _, k := range x.blocks {
			n.region[k] = int32(me)
		}
		components := n.components(x)
		l := loop{parent: x.parent, header: x.header}
		if x.header >= 0 {
			l.latches = n.latches(x.blocks, x.header)
		}
		if fault = n.follow(&l, x, components); fault != "" {
			return nil, fault
		}
		n.loops = append(n.loops, l)
		// The last one first: it is taken last.
		var inner []body
		for _, c := range components {
			if n.isLoop(c, me, x.header) && slices.ContainsFunc(c, func(k int32) bool { return n.site[k] >= 0 }) {
				header := slices.MinFunc(c, func(a, b int32) int { return int(n.order[a]) - int(n.order[b]) })
				inner = append(inner, body{me, x.depth + 1, header, c})
			}
		}
		slices.SortFunc(inner, func(a, b body) int { return int(n.order[b.header]) - int(n.order[a.header]) })
		left = append(left, inner...)
	}
	return n, ""
}

// latches are the blocks of a loop, whose region is known, that end one of its trips.
func (n *nest) latches(blocks []int32, header int32) (list []int32) {
	for _, k := range blocks {
		if slices.ContainsFunc(n.successors(k), func(to int32) bool { return to == header || n.region[to] != n.region[k] }) {
			list = append(list, k)
		}
	}
	return list
}

// bounds are the addresses of the first instructions of a loop's header, then of the last ones of each block that ends
// a trip.
func (n *nest) bounds(l *loop) [][]uint64 {
	list := [][]uint64{n.heads[l.header]}
	for _, k := range l.latches {
		list = append(list, n.ends[k])
	}
	return list
}

// postorder lists the blocks as a depth-first search leaves them.
func (n *nest) postorder() (post []int32) {
	seen := newBitmap(n.len())
	type step struct{ block, next int32 }
	seen.set(0)
	for stack := []step{{0, n.first[0]}}; len(stack) > 0; {
		top := &stack[len(stack)-1]
		if top.next == n.first[top.block+1] {
			post = append(post, top.block)
			stack = stack[:len(stack)-1]
			continue
		}
		to := n.next[top.next]
		top.next++
		if !seen.has(int(to)) {
			seen.set(int(to))
			stack = append(stack, step{to, n.first[to]})
		}
	}
	return post
}

// inside reports whether an edge into a block is one of a body: within it, and not into its header.
func (n *nest) inside(to int32, me int, header int32) bool {
	return n.region[to] == int32(me) && to != header
}

// components are the strongly connected ones of a body (Tarjan 1972), each behind those that it leads to.
func (n *nest) components(x body) (list [][]int32) {
	me := n.region[x.blocks[0]]
	for _, k := range x.blocks {
		n.index[k] = 0
		n.group[k] = -1
	}
	count := int32(0)
	var open []int32
	type step struct{ block, next int32 }
	var stack []step
	enter := func(k int32) {
		count++
		n.index[k], n.low[k] = count, count
		open = append(open, k)
		stack = append(stack, step{k, n.first[k]})
	}
	for _, root := range x.blocks {
		if n.index[root] != 0 {
			continue
		}
		enter(root)
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			k := top.block
			if top.next < n.first[k+1] {
				to := n.next[top.next]
				top.next++
				if !n.inside(to, int(me), x.header) {
					continue
				}
				if n.index[to] == 0 {
					enter(to)
				} else if n.group[to] < 0 {
					n.low[k] = min(n.low[k], n.index[to])
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				below := stack[len(stack)-1].block
				n.low[below] = min(n.low[below], n.low[k])
			}
			if n.low[k] != n.index[k] {
				continue
			}
			at := len(open) - 1
			for open[at] != k {
				at--
			}
			c := slices.Clone(open[at:])
			open = open[:at]
			for _, b := range c {
				n.group[b] = int32(len(list))
			}
			list = append(list, c)
		}
	}
	return list
}

// isLoop reports whether a component can be gone through twice.
func (n *nest) isLoop(c []int32, me int, header int32) bool {
	if len(c) > 1 {
		return true
	}
	return n.inside(c[0], me, header) && slices.Contains(n.successors(c[0]), c[0])
}

// follow sets which sites of a body come after which. Sites of a component that is a loop all follow each other.
func (n *nest) follow(l *loop, x body, components [][]int32) (fault string) {
	me := int(n.region[x.blocks[0]])
	for _, k := range x.blocks {
		if n.site[k] >= 0 {
			l.sites = append(l.sites, n.site[k])
		}
	}
	slices.Sort(l.sites)
	count := len(l.sites)
	size := (count*count + 7) / 8
	if n.bytes += size; n.bytes > maxFollows {
		return "it makes too many calls"
	}
	words := (count + 63) / 64
	if words*8*len(components) > maxRoom {
		return "it makes too many calls in too much machine code"
	}
	if count == 0 {
		return ""
	}
	l.follows = make([]byte, size)
	// In reverse order of the components: what each leads to stands before it.
	from := make([]uint64, words*len(components)) // by component: the sites that follow its beginning
	after := make([]uint64, words)
	for i, c := range components {
		clear(after)
		for _, k := range c {
			for _, to := range n.successors(k) {
				if n.inside(to, me, x.header) && int(n.group[to]) != i {
					for w, set := range from[int(n.group[to])*words:][:words] {
						after[w] |= set
					}
				}
			}
		}
		own := from[i*words:][:words]
		copy(own, after)
		var sites []int
		for _, k := range c {
			if n.site[k] >= 0 {
				at, _ := slices.BinarySearch(l.sites, n.site[k])
				sites = append(sites, at)
				own[at/64] |= 1 << (at % 64)
			}
		}
		if n.isLoop(c, me, x.header) {
			copy(after, own)
		}
		for _, a := range sites {
			for b := range count {
				if after[b/64]>>(b%64)&1 != 0 {
					bit := a*count + b
					l.follows[bit/8] |= 1 << (bit % 8)
				}
			}
		}
	}
	return ""
}

// code puts what was found into the form of an inference.
func (n *nest) code(sites []uint64) (c program.Code) {
	loopOf := make([]int, len(sites))
	for i := range loopOf {
		loopOf[i] = -2 // nothing leads to it
	}
	for i := range n.loops {
		l := &n.loops[i]
		for _, s := range l.sites {
			loopOf[s] = i - 1
		}
		c.Follows = append(c.Follows, l.follows)
		if i > 0 {
			c.Loops = append(c.Loops, program.Loop{Parent: l.parent - 1})
		}
	}
	for i, at := range sites {
		if loopOf[i] >= -1 {
			c.Sites = append(c.Sites, program.Site{Offset: at, Loop: loopOf[i]})
		}
	}
	n.comesNext(&c, sites)
	return c
}
