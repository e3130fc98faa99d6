package program

import (
	"cmp"
	"slices"
)

// Where there is no machine code, loops are read from the order of lines: what goes back from one line to another, or
// to the same one, in one function is a loop over the lines between.

// A condition at the head or at the foot of a loop looks like a loop round it. It is taken for a condition if the
// inner loop would have as many trips as leastTrips in the mean, or fewer than fewTrips, and if what is beside it
// takes no more than this share of the time.
const (
	leastTrips   = 5
	fewTrips     = 2
	mostOfExtras = 1. / 8
)

// A span is the positions of the first and of the last site of a loop.
type span struct{ from, to int }

func (s span) holds(at int) bool { return s.from <= at && at <= s.to }

// A step is how often one site of a function followed another one, and the time until the end of the call there.
type step struct{ count, ns int64 }

// order relates the sites of functions without machine code by the order of lines, as the pairs show it.
func (l *layout) order(pairs []Pair) {
	steps := make(map[int32]map[[2]int32]step)
	for _, p := range pairs {
		l.steps(p, steps)
	}
	for i := range l.functions {
		if f := &l.functions[i]; f.Code == nil && len(f.sites) > 0 {
			l.orderOf(f, steps[int32(i)])
		}
	}
}

// steps adds what a pair shows of functions without code.
func (l *layout) steps(p Pair, to map[int32]map[[2]int32]step) {
	a, b := l.paths[p.From].sites, l.paths[p.To].sites
	if len(a) == 0 || len(b) == 0 {
		return
	}
	for j := l.parting(p.From, p.To); j >= 0; j-- {
		n, m := a[j], b[j]
		x, y := &l.sites[n], &l.sites[m]
		if x.function != y.function {
			return
		}
		f := &l.functions[x.function]
		if l.tail(p.From, p.To, j) {
			return
		}
		if f.Code == nil {
			if to[x.function] == nil {
				to[x.function] = make(map[[2]int32]step)
			}
			s := to[x.function][[2]int32{n, m}]
			to[x.function][[2]int32{n, m}] = step{s.count + p.Count, s.ns + p.NS}
			return
		}
		if loop := f.common(x.loop, y.loop); loop >= 0 || f.follow(loop, x.at, y.at) {
			return
		}
	}
}

// orderOf finds the loops of a function by the steps that go back.
func (l *layout) orderOf(f *function, steps map[[2]int32]step) {
	l.arrange(f, steps)
	var spans []span
	for s := range steps {
		if a, b := l.sites[s[0]].at, l.sites[s[1]].at; b <= a {
			spans = append(spans, span{b, a})
		}
	}
	spans = apart(spans)
	spans = l.withoutConditions(spans, steps)
	loops := make([]Loop, len(spans)) // outer ones before inner ones
	for i, s := range spans {
		loops[i].Parent = -1
		for k := range i {
			if spans[k].holds(s.from) {
				loops[i].Parent = k
			}
		}
		first := &l.sites[f.sites[s.from]]
		loops[i].File, loops[i].Line = first.place()
	}
	of := make([]int, len(f.sites))
	for at := range of {
		of[at] = -1
		for k, s := range spans {
			if s.holds(at) {
				of[at] = k
			}
		}
		l.sites[f.sites[at]].loop = of[at]
	}
	f.relate(loops, of, nil)
	f.follows = make([][]byte, 1+len(loops))
	for k := range f.follows {
		n := f.size[k]
		f.follows[k] = make([]byte, (n*n+7)/8)
		for a := range of {
			for b := range of {
				i, j := f.row[k][a], f.row[k][b]
				if i < 0 || j < 0 {
					continue
				}
				if inner := f.common(of[a], of[b]); b > a || inner != k-1 {
					bit := int(i)*n + int(j)
					f.follows[k][bit/8] |= 1 << (bit % 8)
				}
			}
		}
	}
	f.by = ByOrder
}

// place is the file and line of a site in the source of the function that has its machine code.
func (s *site) place() (string, int) {
	if len(s.scopes) > 0 {
		return s.scopes[0].CallFile, s.scopes[0].CallLine
	}
	return s.file, s.line
}

// arrange puts the sites of a function into the order of their lines, or else of their addresses. What stands for a
// caller that is not known comes behind what it follows first.
func (l *layout) arrange(f *function, steps map[[2]int32]step) {
	lines := true
	file := ""
	for _, n := range f.sites {
		if s := &l.sites[n]; !s.caller {
			name, line := s.place()
			file = cmp.Or(file, name)
			lines = lines && line > 0 && name == file
		}
	}
	slices.SortStableFunc(f.sites, func(a, b int32) int {
		x, y := &l.sites[a], &l.sites[b]
		_, i := x.place()
		_, j := y.place()
		switch {
		case x.caller != y.caller:
			return map[bool]int{true: 1, false: -1}[x.caller]
		case lines:
			return cmp.Or(cmp.Compare(i, j), cmp.Compare(x.offset, y.offset))
		}
		return cmp.Or(cmp.Compare(x.offset, y.offset), cmp.Compare(x.file, y.file), cmp.Compare(i, j))
	})
	known := f.sites[:0:0]
	var callers []int32
	for _, n := range f.sites {
		if l.sites[n].caller {
			callers = append(callers, n)
		} else {
			known = append(known, n)
		}
	}
	for _, n := range callers {
		best, count := -1, int64(0)
		for at, before := range known {
			if c := steps[[2]int32{before, n}].count; c > count {
				best, count = at, c
			}
		}
		known = slices.Insert(known, best+1, n)
	}
	f.sites = known
	for at, n := range f.sites {
		l.sites[n].at = at
	}
}

// apart joins spans that cross, and sorts them: outer ones first.
func apart(spans []span) []span {
	for changed := true; changed; {
		changed = false
		slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
		spans = slices.Compact(spans)
		for i := range spans {
			for k := i + 1; k < len(spans) && spans[k].from <= spans[i].to; k++ {
				if spans[k].to > spans[i].to && spans[k].from > spans[i].from {
					spans[i].to = spans[k].to
					spans = slices.Delete(spans, k, k+1)
					changed = true
					k--
				}
			}
		}
	}
	return spans
}

// withoutConditions leaves out spans of which what comes before or behind it, in the next one round it, is a condition.
func (l *layout) withoutConditions(spans []span, steps map[[2]int32]step) []span {
	var whole int64
	for _, s := range steps {
		whole += s.ns
	}
	kept := slices.Clone(spans)
	for i := len(kept) - 1; i > 0; i-- {
		outer := -1
		for k := range i {
			if kept[k].holds(kept[i].from) {
				outer = k
			}
		}
		if outer < 0 || kept[outer].from != kept[i].from && kept[outer].to != kept[i].to {
			continue
		}
		inner := kept[i]
		var back, out, extras int64
		for s, x := range steps {
			a, b := l.sites[s[0]].at, l.sites[s[1]].at
			switch in := inner.holds(a); {
			case in && inner.holds(b) && b <= a:
				back += x.count
			case in && !inner.holds(b):
				out += x.count
			}
			if kept[outer].holds(b) && !inner.holds(b) {
				extras += x.ns
			}
		}
		trips := float64(back+out) / float64(max(1, out))
		if out > 0 && (trips >= leastTrips || trips < fewTrips) && float64(extras) <= mostOfExtras*float64(whole) {
			kept = slices.Delete(kept, i, i+1)
		}
	}
	return kept
}
