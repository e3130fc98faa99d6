package program

import (
	"math/bits"
)

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
// on the call paths, if these are not unclear.
func (l *layout) tail(p, q uint32, depth int) bool {
	a, b := &l.paths[p], &l.paths[q]
	if !b.unclear && depth+1 < len(a.sites) && l.functions[l.sites[a.sites[depth+1]].function].by == ByCode {
		return false
	}
	return a.sites[depth] == b.sites[depth] && a.calls[depth] != b.calls[depth] && depth+1 < len(a.sites) && depth+1 == len(b.sites)
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
