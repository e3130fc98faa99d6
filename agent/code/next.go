package code

import (
	"slices"

	"moriens/analysis/program"
)

const (
	// maxSteps bounds the blocks that are visited to find what comes next.
	maxSteps = 1 << 24
	// maxGuard is how many blocks there are at most between the branch round a loop and the loop.
	maxGuard = 8
)

// comesNext sets what comes next after each call, header and the entry; nothing, if that takes too long.
func (n *nest) comesNext(c *program.Code, sites []uint64) {
	w := &wayfinder{nest: n, code: c, number: make([]int32, len(sites)), head: make([]int32, n.len()), seen: make([]int32, n.len())}
	for i, at := 0, 0; i < len(sites) && at < len(c.Sites); i++ {
		if sites[i] == c.Sites[at].Offset {
			w.number[i] = int32(at)
			at++
		}
	}
	for k := range w.head {
		w.head[k] = -1
	}
	for l := range n.loops[1:] {
		w.head[n.loops[1+l].header] = int32(l)
	}
	all := w.lists()
	w.only = n.guards()
	next := w.lists()
	if w.steps > maxSteps {
		return
	}
	for i, list := range all {
		all[i] = slices.DeleteFunc(list, func(to int32) bool { _, is := slices.BinarySearch(next[i], to); return is })
	}
	c.Next, c.Skip = next, all
}

func (w *wayfinder) lists() [][]int32 {
	list := make([][]int32, w.code.Outside()+1)
	for k := range int32(w.len()) {
		if s := w.site[k]; s >= 0 {
			list[w.number[s]] = w.from(k, true)
		}
	}
	for l := range w.code.Loops {
		list[w.code.Header(l)] = w.from(w.loops[1+l].header, false)
	}
	if w.head[0] >= 0 {
		list[w.code.Outside()] = []int32{w.code.Header(int(w.head[0]))}
	} else {
		list[w.code.Outside()] = w.from(0, false)
	}
	return list
}

// A wayfinder goes from block to block until a call, a header or the end.
type wayfinder struct {
	*nest
	code   *program.Code
	number []int32         // by site: its place in code.Sites
	head   []int32         // by block: the loop of which it is the header, -1 = none
	only   map[int32]int32 // where blocks lead, of those that lead elsewhere too
	seen   []int32         // by block: the latest turn that reached it
	turn   int32
	steps  int
}

// from lists what comes next after the beginning of a block, or after the call at its end.
func (w *wayfinder) from(block int32, behind bool) (list []int32) {
	if !behind && w.site[block] >= 0 {
		return []int32{w.number[w.site[block]]}
	}
	w.turn++
	ended := false
	for open := []int32{block}; len(open) > 0 && w.steps <= maxSteps; w.steps++ {
		k := open[len(open)-1]
		open = open[:len(open)-1]
		if w.leave.has(int(k)) && !ended {
			ended = true
			list = append(list, w.code.Outside())
		}
		only, guard := w.only[k]
		for _, to := range w.successors(k) {
			if guard && to != only || w.seen[to] == w.turn {
				continue
			}
			w.seen[to] = w.turn
			switch {
			case w.head[to] >= 0:
				list = append(list, w.code.Header(int(w.head[to])))
			case w.site[to] >= 0:
				list = append(list, w.number[w.site[to]])
			default:
				open = append(open, to)
			}
		}
	}
	slices.Sort(list)
	return list
}

// guards are the blocks that branch to a loop or round it, as for a loop of no trips, and where they lead then.
func (n *nest) guards() map[int32]int32 {
	before := make([][]int32, n.len())
	for k := range int32(n.len()) {
		for _, to := range n.successors(k) {
			before[to] = append(before[to], k)
		}
	}
	const several = -1
	only := make(map[int32]int32)
	for l := 1; l < len(n.loops); l++ {
		for _, p := range before[n.loops[l].header] {
			if n.within(p, l) {
				continue
			}
			to := n.loops[l].header
			for range maxGuard {
				if len(n.successors(p)) != 1 || n.site[p] >= 0 || len(before[p]) != 1 {
					break
				}
				p, to = before[p][0], p
			}
			if len(n.successors(p)) < 2 || n.site[p] >= 0 {
				continue
			}
			inside := int(n.region[p]) == n.loops[l].parent // else it is the end of another loop, before this one
			for _, x := range n.successors(p) {             // all that it leads to: else it is the end of the loop round it
				inside = inside && n.within(x, n.loops[l].parent)
			}
			if was, twice := only[p]; twice && was != to || !inside {
				to = several
			}
			only[p] = to
		}
	}
	for p, to := range only {
		if to == several {
			delete(only, p)
		}
	}
	return only
}

// within reports whether a block lies in a loop.
func (n *nest) within(block int32, loop int) bool {
	for l := int(n.region[block]); ; l = n.loops[l].parent {
		if l == loop {
			return true
		}
		if l <= 0 {
			return false
		}
	}
}
