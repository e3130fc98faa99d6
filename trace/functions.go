package trace

import (
	"cmp"
	"slices"
	"strings"
)

// A FunctionPhases is what AddFunctionPhases has made of a function.
type FunctionPhases struct {
	Name    string // as it was asked for
	Paths   int    // call paths of the run that hold it
	Phases  int64  // of the threads that are here
	Divided int64  // of these, parts of one that a phase of the program does not nest with
	TooDeep int64  // left out beyond MostPhaseDepth, with phases of the program in them; they are part of what is round them
}

// AddFunctionPhases makes phases of the time in functions: from the entry into the first call that was made inside one
// to the exit of the last before a call that was not. Two activations from one place without a call between them are
// one. That is a bound: the function begins earlier and ends later. Functions are named as Frame.Function has them,
// without the namespaces, classes and modules in front, or the "_" that Fortran puts behind.
//
// Phases that the program named are better known: what does not nest with them is divided where they begin and end. A
// function has the number of a name that the program has used too: both are the same phase.
func (r *Run) AddFunctionPhases(names []string) []FunctionPhases {
	found := make([]FunctionPhases, len(names))
	numbers := make([]uint32, len(names))
	for i, name := range names {
		found[i].Name = name
		k := slices.Index(r.MarkNames, name)
		if k < 0 {
			k = len(r.MarkNames)
			r.MarkNames = append(slices.Clip(r.MarkNames), name)
		}
		numbers[i] = uint32(k)
	}
	activations := r.activations(names, found)
	for i := range r.Threads {
		t := &r.Threads[i]
		spans := t.functionSpans(activations)
		if len(spans) == 0 {
			continue
		}
		m := nester{marks: t.Phases, walk: phaseWalk{phases: t.Phases}}
		for _, s := range spans {
			parts := m.divide(s)
			if len(parts) > 1 {
				found[s.function].Divided += int64(len(parts))
			}
			m.parts = append(m.parts, parts...)
		}
		t.Phases = m.nest(numbers, found)
		t.LocatePhases()
	}
	return found
}

// An activation is a function with the frames from which it was called: where one of these differs, it is another.
type activation struct {
	function int // index of the names
	number   int // distinguishes activations of one function
}

// activations are those in each call path, outermost first.
func (r *Run) activations(names []string, found []FunctionPhases) [][]activation {
	list := make([][]activation, len(r.CallPaths))
	numbers := make(map[string]int) // by what is round them
	for i := range r.CallPaths {
		frames := r.CallPaths[i].Frames
		round := ""
		has := make([]bool, len(names))
		enter := func(function string) {
			k := slices.IndexFunc(names, func(name string) bool { return isNamed(function, name) })
			if k < 0 {
				return
			}
			key := round + "\x00" + function
			n, known := numbers[key]
			if !known {
				n = len(numbers)
				numbers[key] = n
			}
			list[i] = append(list[i], activation{k, n})
			has[k] = true
		}
		for at := len(frames) - 1; at >= 0; at-- {
			f := &frames[at]
			for s := range f.Inlined {
				enter(f.Inlined[s].Function)
			}
			enter(f.Function)
			round += "\x00" + f.Module + f.Precise(f.Function)
		}
		for k := range has {
			if has[k] {
				found[k].Paths++
			}
		}
	}
	return list
}

// isNamed says whether a function is meant by a name: with what compilers put round the names of Fortran, modules too.
func isNamed(function, name string) bool {
	if function == "" {
		return false
	}
	plain := strings.TrimSuffix(function, "_")
	for _, before := range []string{"::", "_MOD_", "_mp_"} {
		if strings.HasSuffix(function, before+name) || strings.HasSuffix(plain, before+name) {
			return true
		}
	}
	return function == name || plain == name
}

// A functionSpan is time in an activation.
type functionSpan struct {
	function       int
	beginNS, endNS int64
}

// functionSpans are those of a thread, by begin, the outer one first.
func (t *Thread) functionSpans(activations [][]activation) (spans []functionSpan) {
	var open []activation
	var places []int // of those that are open among the spans
	for k, enterNS := range t.Calls.EnterNS {
		now := activations[t.Calls.Path[k]]
		n := 0
		for n < min(len(open), len(now)) && open[n] == now[n] {
			n++
		}
		open, places = open[:n], places[:n]
		for _, a := range now[n:] {
			open, places = append(open, a), append(places, len(spans))
			spans = append(spans, functionSpan{function: a.function, beginNS: enterNS})
		}
		for _, i := range places {
			spans[i].endNS = t.Calls.ExitNS[k]
		}
	}
	return slices.DeleteFunc(spans, func(s functionSpan) bool { return s.beginNS == s.endNS })
}

// A nester puts the phases of functions between those that the program named.
type nester struct {
	marks []Phase
	walk  phaseWalk // to the begin of what is divided
	parts []functionSpan
}

// divide cuts a span where a mark begins or ends that does not nest with it.
func (m *nester) divide(s functionSpan) (parts []functionSpan) {
	m.walk.moveTo(s.beginNS)
	var cuts []int64
	for _, k := range m.walk.open {
		if x := &m.marks[k]; x.BeginNS < s.beginNS && x.EndNS < s.endNS {
			cuts = append(cuts, x.EndNS)
		}
	}
	for k := m.walk.next; k < len(m.marks) && m.marks[k].BeginNS < s.endNS; k++ {
		if m.marks[k].EndNS > s.endNS {
			cuts = append(cuts, m.marks[k].BeginNS)
		}
	}
	slices.Sort(cuts)
	for _, ns := range slices.Compact(cuts) {
		parts = append(parts, functionSpan{s.function, s.beginNS, ns})
		s.beginNS = ns
	}
	return append(parts, s)
}

// nest puts all phases into the order of a thread's. Functions have these names.
func (m *nester) nest(names []uint32, found []FunctionPhases) []Phase {
	slices.SortStableFunc(m.parts, func(a, b functionSpan) int { // an outer one is before those in it
		return cmp.Or(cmp.Compare(a.beginNS, b.beginNS), cmp.Compare(b.endNS, a.endNS))
	})
	list := make([]Phase, 0, len(m.marks)+len(m.parts))
	var open []int // of list, outermost first
	marks := 0     // of open that the program named
	const mark = -1
	function := make([]int, 0, cap(list)) // of list
	leave := func() {
		if last := open[len(open)-1]; function[last] == mark {
			marks--
		}
		open = open[:len(open)-1]
	}
	put := func(p Phase, of int) {
		p.Depth = int32(len(open))
		open, function = append(open, len(list)), append(function, of)
		list = append(list, p)
		if of == mark {
			marks++
		} else {
			found[of].Phases++
		}
		if p.Depth < MostPhaseDepth {
			return
		}
		if of != mark {
			found[of].Phases--
		}
		for k := len(open) - 1; k >= 0; k-- { // a function makes it too deep: itself, or one round it
			if in := function[open[k]]; in != mark {
				found[in].TooDeep++
				break
			}
		}
	}
	next := 0
	for k := 0; k <= len(m.marks); k++ {
		for next < len(m.parts) {
			s := m.parts[next]
			if k < len(m.marks) {
				x := &m.marks[k]
				// A mark with the same begin is outside, unless the function lasts longer; one without length is ahead.
				if s.beginNS > x.BeginNS || s.beginNS == x.BeginNS && (s.endNS <= x.EndNS || x.EndNS == x.BeginNS) {
					break
				}
			}
			for len(open) > 0 && list[open[len(open)-1]].EndNS <= s.beginNS {
				leave()
			}
			put(Phase{Name: names[s.function], BeginNS: s.beginNS, EndNS: s.endNS}, s.function)
			next++
		}
		if k == len(m.marks) {
			break
		}
		x := m.marks[k]
		for len(open) > 0 && (marks > int(x.Depth) || function[open[len(open)-1]] != mark && list[open[len(open)-1]].EndNS <= x.BeginNS) {
			leave()
		}
		put(x, mark)
	}
	return slices.DeleteFunc(list, func(p Phase) bool { return p.Depth >= MostPhaseDepth })
}
