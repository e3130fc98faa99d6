package program

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"moriens/analysis/workers"
)

// A call at the end of a function is a jump: when what it calls calls MPI, the function is on no call path. So one call
// path may stand for several chains of calls. Which of them a call was depends on the one before it: it is one that the
// machine code of all functions allows, in the function that was called last of those that have not ended.

// chains are, by path, those of which it is one; nil: the path stands for itself.
func (in *Input) chains() [][]uint32 {
	of := make(map[int][]uint32)
	for i := range in.Paths {
		if in.Paths[i].several {
			n := in.number(uint32(i))
			of[n] = append(of[n], uint32(i))
		}
	}
	list := make([][]uint32, len(in.Paths))
	for i := range in.Paths {
		if in.Paths[i].several {
			list[i] = of[in.number(uint32(i))]
		}
	}
	return list
}

// chosen gives each chain of calls a number of its own, and each call that of the chain that it is. The input is
// returned as it is if all call paths stand for one. used is the input without what no thread has.
func (in *Input) chosen(used *Input, pairs []Pair) *Input {
	out, all := *in, *used
	out.Paths, out.Threads, all.Paths = slices.Clone(in.Paths), slices.Clone(in.Threads), slices.Clone(used.Paths)
	for i := range used.Paths {
		if len(used.Paths[i].Others) == 0 {
			continue
		}
		all.Paths[i].several, out.Paths[i].several = true, true
		for _, steps := range used.Paths[i].Others {
			p := all.Paths[i]
			p.Steps, p.origin = steps, uint32(i)+1
			all.Paths, out.Paths = append(all.Paths, p), append(out.Paths, p)
		}
	}
	if len(out.Paths) == len(in.Paths) {
		return in
	}
	l, steps := prepare(&all, pairs)
	l.chains = all.chains()
	l.number(&all, steps)
	l.findWays()
	choices := l.choices(pairs)
	list, sizes := in.mine()
	workers.Every(sizes, in.Workers, func(k int) {
		if calls := all.choose(list[k], choices); calls != nil {
			out.Threads[list[k]] = in.numbered(list[k], calls)
		}
	})
	return &out
}

// choose says which chains the calls of a thread are of; nil: each call path stands for one.
func (in *Input) choose(thread int, choices map[[2]uint32]uint32) []uint32 {
	calls := in.Threads[thread].Calls.Path
	if !slices.ContainsFunc(calls, func(p uint32) bool { return in.Paths[p].several }) {
		return nil
	}
	calls = slices.Clone(calls)
	last, before := -1, uint32(0)
	for k, p := range calls {
		switch {
		case in.Paths[p].MPI == "":
			continue
		case last >= 0 && in.Paths[p].Poll && p == before:
			calls[k] = uint32(last)
		case last >= 0 && in.Paths[p].several:
			if q, ok := choices[[2]uint32{uint32(last), p}]; ok {
				calls[k] = q
			}
		}
		last, before = int(calls[k]), p
	}
	return calls
}

// choices are, by the chain before a call and its call path, the one of its chains that goes on furthest inside of what
// was called before, of those that the machine code allows.
func (l *layout) choices(pairs []Pair) map[[2]uint32]uint32 {
	of := make(map[[2]uint32]uint32)
	for _, pair := range pairs {
		if l.chains[pair.To] == nil {
			continue
		}
		before := l.chains[pair.From]
		if before == nil {
			before = []uint32{pair.From}
		}
		for _, p := range before {
			best, f, may := pair.To, fork{}, never
			for _, q := range l.chains[pair.To] {
				if g, can := l.goesOn(p, q); cmp.Or(cmp.Compare(can, may), cmp.Compare(g.depth, f.depth)) > 0 {
					best, f, may = q, g, can
				}
			}
			of[[2]uint32{p, pair.To}] = best
		}
	}
	return of
}

// An allowed says whether one call can come next after another one.
type allowed int

const (
	never   allowed = iota
	perhaps         // the machine code of a function is not known
	allows
)

// goesOn says whether, and where, q can come next after p, by the machine code of all functions that are left, gone on
// in, or entered.
func (l *layout) goesOn(p, q uint32) (fork, allowed) {
	a, b := l.paths[p].sites, l.paths[q].sites
	if len(a) == 0 || len(b) == 0 {
		return fork{}, perhaps
	}
	at := l.parting(p, q)
	if !l.ends(a[at+1:]) || !l.begins(b[at+1:]) {
		return fork{}, never
	}
	if f, ok := l.directly(p, q); ok {
		return f, allows
	}
	for j := at; j >= 0; j-- {
		if f := l.sites[a[j]].function; f != l.sites[b[j]].function || l.functions[f].ways == nil {
			return fork{depth: j}, perhaps
		}
		if !l.ends(a[j:j+1]) || !l.begins(b[j:j+1]) {
			break
		}
	}
	return fork{}, never
}

// ends reports whether the functions of sites can end behind these, begins whether they can begin with these.
func (l *layout) ends(sites []int32) bool {
	return l.each(sites, func(w *ways, at int) bool { return w.reaches(at, w.nodes, pastSome) })
}
func (l *layout) begins(sites []int32) bool {
	return l.each(sites, func(w *ways, at int) bool { return w.reaches(w.nodes, at, pastSome) })
}

func (l *layout) each(sites []int32, can func(w *ways, at int) bool) bool {
	return !slices.ContainsFunc(sites, func(n int32) bool {
		w := l.functions[l.sites[n].function].ways
		return w != nil && !can(w, l.sites[n].at)
	})
}

// otherwise says where the second call path of a pair would leave the first one if it were another chain that threads
// have elsewhere: further outside than was taken, as f.
func (l *layout) otherwise(p Pair, f fork) (list []fork) {
	for _, q := range l.chains[p.To] {
		if q == p.To || l.paths[q].leaf < 0 {
			continue
		}
		if o, can := l.goesOn(p.From, q); can == allows && o.depth < f.depth {
			list = append(list, o)
		}
	}
	return list
}

// again is the depth of the call from which the second call path of a pair would have gone on, as f, if what was called
// there had not called itself at its end; -1: there is none.
func (l *layout) again(p Pair, f fork) int {
	a, b := l.paths[p.From].sites, l.paths[p.To].sites
	for k := f.depth; f.next && k < min(len(a), len(b)) && a[k] == b[k]; k++ {
		if l.sites[a[k]].again {
			return k
		}
	}
	return -1
}

// unsure says which calls at ends of functions may be others.
func (s *solver) unsure() (why []string) {
	l := s.lay
	var others, pointers, again []string
	add := func(list *[]string, text string) {
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, p := range s.figures.Pairs {
		if f, ok := l.fork(p.From, p.To); ok {
			if k := l.again(p, f); k >= 0 {
				x := &s.input.Paths[p.To].Steps[k]
				add(&again, fmt.Sprintf("%s:%d", filepath.Base(x.File), x.Line))
			}
		}
		if l.chains[p.To] == nil {
			continue
		}
		f, can := l.goesOn(p.From, p.To)
		for _, q := range l.chains[p.To] {
			o, may := l.goesOn(p.From, q)
			if q == p.To || can != allows || may != allows {
				continue
			}
			x, y := s.input.Paths[p.To].Steps, s.input.Paths[q].Steps
			a, b := s.differ(x, y), s.differ(y, x)
			switch unseen := l.paths[q].leaf < 0 && l.without(q, p.To); {
			case unseen && o.depth < f.depth:
				add(&pointers, fmt.Sprintf("%s in %s", s.input.Paths[q].MPI, a))
			case !unseen && o == f && a != b:
				add(&others, fmt.Sprintf("%s in %s may be in %s", s.input.Paths[q].MPI, a, b))
			}
		}
	}
	if len(others) > 0 {
		why = append(why, fmt.Sprintf("Functions that end with a call are on no call path, and the machine code allows several: %s.", named(others)))
	}
	if len(again) > 0 {
		why = append(why, fmt.Sprintf("Functions that call themselves at their end do so without a trace on call paths, as if each time was a call in %s: trips of the loops there may be fewer.", named(again)))
	}
	if len(pointers) > 0 {
		why = append(why, fmt.Sprintf("Where a function that is called through a pointer may end with a call of MPI or without, such a call after it is taken for its end, not for one through the same pointer: %s.", named(pointers)))
	}
	return why
}

// without reports whether a path has no call that another one has not.
func (l *layout) without(p, q uint32) bool {
	return !slices.ContainsFunc(l.paths[p].sites, func(n int32) bool { return !slices.Contains(l.paths[q].sites, n) })
}

// differ names the last call of some steps that others do not have.
func (s *solver) differ(steps, from []Step) string {
	k, n := len(steps)-1, len(from)-1
	for k > 0 && n > 0 && sameSteps(steps[k:k+1], from[n:n+1]) {
		k, n = k-1, n-1
	}
	x := &steps[k]
	return fmt.Sprintf("%s (%s:%d)", s.nameOf(int32(x.Function)), filepath.Base(x.File), x.Line)
}

// divided reports whether calls of a path are in several lines.
func (s *solver) divided(path int) bool {
	leaf := int32(-1)
	return slices.ContainsFunc(s.lay.chains[path], func(q uint32) bool {
		before, at := leaf, s.lay.paths[q].leaf
		leaf = max(leaf, at)
		return before >= 0 && at >= 0 && at != before
	})
}
