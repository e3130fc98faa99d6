package program

import "slices"

// Expand gives back the call paths of the threads of a group, in their order, from its tree alone. Polls in a row are
// one.
func (s *Structure) Expand(group int) []uint32 {
	g := &s.groups[group]
	e := &expansion{lay: s.lay, tree: &g.Tree, order: s.lay.ordered(), next: make([]uint32, len(s.lay.bodies)), entry: make([]int, len(s.lay.items)), pathOf: make(map[string]uint32)}
	e.came = make([]cursor, len(s.lay.items))
	for i := range s.lay.items {
		e.came[i] = cursor{list: g.Tree.Came[i]}
	}
	for i := range s.lay.paths {
		if p := &s.lay.paths[i]; p.leaf >= 0 {
			e.pathOf[callKey(p.calls)] = uint32(s.input.number(uint32(i)))
		}
	}
	for b := range s.lay.bodies {
		if x := &s.lay.bodies[b]; x.loop < 0 && s.lay.contexts[x.context].parent < 0 {
			for e.next[b] < g.Tree.Executions[b] {
				e.body(int32(b))
			}
		}
	}
	return e.out
}

func callKey(calls []int32) string {
	key := make([]byte, 0, 4*len(calls))
	for _, c := range calls {
		key = append(key, byte(c), byte(c>>8), byte(c>>16), byte(c>>24))
	}
	return string(key)
}

// A cursor says whether a number is among those of stretches, for each number once or more, ascending as a rule.
type cursor struct {
	list stretches
}

func (c *cursor) has(n uint32) bool {
	k, ok := slices.BinarySearchFunc(c.list, n, func(s stretch, n uint32) int { return int(int64(s.First) - int64(n)) })
	if ok {
		return true
	}
	if k == 0 {
		return false
	}
	x := c.list[k-1]
	return x.Stride > 0 && (n-x.First)%x.Stride == 0 && (n-x.First)/x.Stride < x.Count
}

type expansion struct {
	lay    *layout
	tree   *tree
	order  [][]int32 // by body: its items as they come
	next   []uint32  // by body: number of the next execution
	entry  []int     // by item: number of the next entry of its loop
	came   []cursor
	calls  []int32 // that are open
	pathOf map[string]uint32
	out    []uint32
}

func (e *expansion) body(b int32) {
	n := e.next[b]
	e.next[b]++
	for _, i := range e.order[b] {
		if !e.came[i].has(n) {
			continue
		}
		x := &e.lay.items[i]
		if x.loop >= 0 {
			k := e.entry[i]
			e.entry[i]++
			for range e.tree.Trips[i].at(k) {
				e.body(x.inner)
			}
			continue
		}
		e.calls = append(e.calls, x.call)
		if x.inner >= 0 {
			e.body(x.inner)
		} else {
			e.out = append(e.out, e.pathOf[callKey(e.calls)])
		}
		e.calls = e.calls[:len(e.calls)-1]
	}
}

// GroupOf is the number of the group that a thread is in, -1 = it is in none.
func (s *Structure) GroupOf(thread int) int {
	return slices.IndexFunc(s.groups, func(g group) bool { return slices.Contains(g.Threads, int32(thread)) })
}
