package program

import (
	"slices"
	"strings"
)

// A trace names functions and lines alone: where the compiler has inlined a function into the main function, the call
// chains of its calls begin in it, as if a thread had begun there. The same is seen of what runs on a stack of its own.
// Such functions were called by the main function, at a place that is not known: it is never one of several.

// inMain has the call paths that begin in other functions than the main function, on threads that were in both, begin
// in it: if these take turns, or if nothing but names and lines is known. pairs are the call paths that follow each
// other in any sequence.
func (in *Input) inMain(pairs []Pair) *Input {
	root := func(path uint32) int {
		if p := &in.Paths[path]; p.Whole && len(p.Steps) > 0 {
			return p.Steps[0].Function
		}
		return -1
	}
	next := make(map[int][]int)
	of := make(map[int]int) // by root: the first one of those of one thread
	var first func(r int) int
	first = func(r int) int {
		if up, ok := of[r]; ok && up != r {
			return first(up)
		}
		return r
	}
	for _, p := range pairs {
		if a, b := root(p.From), root(p.To); a >= 0 && b >= 0 && a != b {
			next[a] = append(next[a], b)
			x, y := min(first(a), first(b)), max(first(a), first(b))
			of[x], of[y], of[a], of[b] = x, x, x, x
		}
	}
	if len(next) == 0 {
		return in
	}
	sets := make(map[int]map[int]bool)
	for r := range of {
		f := first(r)
		if sets[f] == nil {
			sets[f] = make(map[int]bool)
		}
		sets[f][r] = true
	}
	inside := make(map[int]int) // by root: the one that calls it
	for _, f := range sortedKeys(sets) {
		list := sorted(sets[f])
		head := in.outermost(list, root)
		below := reached(next, head)
		for _, r := range list {
			if r != head && (below[r] && reached(next, r)[head] || in.onlyLines(r)) {
				inside[r] = head
			}
		}
	}
	if len(inside) == 0 {
		return in
	}
	out := *in
	out.Paths = slices.Clone(in.Paths)
	for i := range out.Paths {
		if r := root(uint32(i)); r >= 0 {
			if head, ok := inside[r]; ok {
				out.Paths[i].Steps = append([]Step{{Function: head, Line: noLine - r}}, out.Paths[i].Steps...)
			}
		}
	}
	return &out
}

func sortedKeys[V any](m map[int]V) (list []int) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// outermost is the one of some roots that is the main function: by its name, or because it initialises MPI, or because
// most call paths begin in it.
func (in *Input) outermost(roots []int, root func(path uint32) int) int {
	weight := make(map[int]int)
	for i := range in.Paths {
		r := root(uint32(i))
		weight[r]++
		if strings.HasPrefix(in.Paths[i].MPI, "MPI_Init") {
			weight[r] += len(in.Paths) + 1
		}
	}
	for _, r := range roots {
		if in.isMain(r) {
			weight[r] += 2 * (len(in.Paths) + 1) * (len(in.Paths) + 1)
		}
	}
	best := roots[0]
	for _, r := range roots {
		if weight[r] > weight[best] {
			best = r
		}
	}
	return best
}

func (in *Input) isMain(function int) bool {
	name := in.Functions[function].Name
	return name == "main" || name == "MAIN__"
}

// onlyLines reports whether of the calls of a root names and lines alone are known.
func (in *Input) onlyLines(function int) bool {
	return in.Functions[function].Code == nil && !slices.ContainsFunc(in.Paths, func(p Path) bool {
		return p.Whole && len(p.Steps) > 0 && p.Steps[0].Function == function && p.Steps[0].Offset > 0
	})
}

// reached are the roots to which sequences lead from one.
func reached(next map[int][]int, from int) map[int]bool {
	seen := make(map[int]bool)
	for queue := slices.Clone(next[from]); len(queue) > 0; queue = queue[1:] {
		if !seen[queue[0]] {
			seen[queue[0]] = true
			queue = append(queue, next[queue[0]]...)
		}
	}
	return seen
}
