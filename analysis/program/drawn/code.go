package drawn

import (
	"slices"

	"moriens/analysis/program"
)

// A flow is the control flow of a function: what comes after what.
type flow struct {
	next [][]int
	site map[int]int   // by node: index of the call's site
	head map[int]int   // by node: the loop that it is the head of
	in   map[int][]int // by node: the loops round it
}

// code says of a function what its machine code would: the loops, the sites, and which can follow which.
func code(f *Function) {
	// The outer ones before the inner ones: loops in cold parts were met later than those that are written behind them.
	slices.SortStableFunc(f.loops, func(a, b *statement) int { return depth(a) - depth(b) })
	for k, l := range f.loops {
		l.loop = k
		parent := -1
		if l.within != nil {
			parent = l.within.loop
		}
		f.Code.Loops = append(f.Code.Loops, program.Loop{Parent: parent, File: "drawn.c", Line: l.line})
	}
	index := make(map[*statement]int)
	for k, s := range f.sites {
		index[s] = k
		loop := -1
		if s.within != nil {
			loop = s.within.loop
		}
		f.Code.Sites = append(f.Code.Sites, program.Site{Offset: s.site, Loop: loop})
	}
	g := &flow{site: make(map[int]int), head: make(map[int]int), in: make(map[int][]int)}
	start := g.node(nil)
	f.Code.Skip = make([][]int32, len(f.sites)+len(f.loops)+1)
	f.Code.Next = g.following(f, g.build(f.body, []int{start}, nil, index))
	for l := -1; l < len(f.loops); l++ {
		f.Code.Follows = append(f.Code.Follows, g.follows(f, l))
	}
}

func depth(l *statement) (n int) {
	for ; l.within != nil; l = l.within {
		n++
	}
	return n
}

func (g *flow) node(loops []int) int {
	n := len(g.next)
	g.next = append(g.next, nil)
	g.in[n] = loops
	return n
}

func (g *flow) link(from []int, to int) {
	for _, k := range from {
		g.next[k] = append(g.next[k], to)
	}
}

// build adds statements behind what leads to them, and returns what leads on.
func (g *flow) build(list []*statement, from, loops []int, index map[*statement]int) []int {
	for _, s := range list {
		switch s.kind {
		case Loop:
			inside := append(slices.Clone(loops), s.loop)
			head := g.node(inside)
			g.head[head] = s.loop
			g.link(from, head)
			g.link(g.build(s.body, []int{head}, inside, index), head)
			from = []int{head}
		case condition:
			then := g.build(s.body, from, loops, index)
			from = append(slices.Clone(then), g.build(s.other, from, loops, index)...)
		default:
			n := g.node(loops)
			g.site[n] = index[s]
			g.link(from, n)
			from = []int{n}
		}
	}
	return from
}

// following are what comes next after the calls, the heads and the entry, as program.Code has it.
func (g *flow) following(f *Function, ends []int) [][]int32 {
	number := make(map[int]int32)
	for n, k := range g.site {
		number[n] = int32(k)
	}
	for n, l := range g.head {
		number[n] = f.Code.Header(l)
	}
	last := make(map[int]bool)
	for _, n := range ends {
		last[n] = true
	}
	list := make([][]int32, f.Code.Outside()+1)
	for n := range g.next {
		at, ok := number[n]
		if !ok {
			at = f.Code.Outside() // the entry
		}
		for _, to := range g.next[n] {
			list[at] = append(list[at], number[to])
		}
		if last[n] {
			list[at] = append(list[at], f.Code.Outside())
		}
		slices.Sort(list[at])
		list[at] = slices.Compact(list[at])
	}
	return list
}

// follows is the matrix of a loop, of the whole function for -1.
func (g *flow) follows(f *Function, l int) []byte {
	inside := func(n int) bool { return l < 0 || slices.Contains(g.in[n], l) }
	var nodes []int // of the sites in it, by address
	for n := range g.next {
		if _, ok := g.site[n]; ok && inside(n) {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b int) int { return g.site[a] - g.site[b] })
	matrix := make([]byte, (len(nodes)*len(nodes)+7)/8)
	for a, from := range nodes {
		seen := make(map[int]bool)
		for open := []int{from}; len(open) > 0; {
			n := open[len(open)-1]
			open = open[:len(open)-1]
			for _, to := range g.next[n] {
				if head, ok := g.head[to]; seen[to] || !inside(to) || ok && head == l {
					continue
				}
				seen[to] = true
				open = append(open, to)
			}
		}
		for b, to := range nodes {
			if seen[to] {
				bit := a*len(nodes) + b
				matrix[bit/8] |= 1 << (bit % 8)
			}
		}
	}
	return matrix
}
