package code

import (
	"maps"
	"slices"

	"moriens/agent/symbol"
	"moriens/analysis/program"
)

// Lookups are return addresses whose places Name wants: those of the calls on call paths, what is behind tail calls,
// and what stands for the headers and the ends of the loops round them.
func (f *Function) Lookups() (list []uint64) {
	if f.Refused != "" {
		return nil
	}
	list = slices.Clone(f.wanted)
	for i := range f.Reaches {
		if f.Reaches[i].Tail {
			list = append(list, f.Code.Sites[i].Offset)
		}
	}
	for _, l := range f.round() {
		for _, bound := range f.bounds[l] {
			for _, at := range bound {
				list = append(list, at+1)
			}
		}
	}
	return list
}

// round lists the loops round the calls on call paths.
func (f *Function) round() []int {
	loops := make(map[int]bool)
	for i := range f.Code.Sites {
		s := &f.Code.Sites[i]
		if _, ok := slices.BinarySearch(f.wanted, s.Offset); !ok {
			continue
		}
		for l := s.Loop; l >= 0 && !loops[l]; l = f.Code.Loops[l].Parent {
			loops[l] = true
		}
	}
	return slices.Sorted(maps.Keys(loops))
}

// Name sets the columns of calls, the lines of loops and the places of tail calls, from the places of Lookups.
func (f *Function) Name(place func(at uint64) symbol.Place) {
	if f.Refused != "" {
		return
	}
	for i := range f.Code.Sites {
		if f.Reaches[i].Tail {
			f.Reaches[i].Place = place(f.Code.Sites[i].Offset)
			f.Code.Sites[i].Column = f.Reaches[i].Place.Column
		} else if _, ok := slices.BinarySearch(f.wanted, f.Code.Sites[i].Offset); ok {
			f.Code.Sites[i].Column = place(f.Code.Sites[i].Offset).Column
		}
	}
	for _, l := range f.round() {
		f.nameLoop(l, place)
	}
}

// nameLoop sets where a loop is. It lies in the functions that are inlined round its header, round each jump that ends
// a trip, and round each call in it: a body may begin with a function that is inlined into it, and then the header
// alone says that the loop is in that one. The line is the least one there of these jumps, as compilers put the
// condition at the end, and that has the line of the `for`. Where the jumps are all behind a call of the body, as in
// `do … while`, it is that of the header, if not too: an instruction that the compiler has moved there may have any
// other line.
func (f *Function) nameLoop(l int, place func(at uint64) symbol.Place) {
	var ends []symbol.Place
	header := 0 // how many of them are of the header
	for k, bound := range f.bounds[l] {
		for _, at := range bound {
			if p := place(at + 1); p.Line != 0 {
				ends = append(ends, p)
				if k == 0 {
					header = 1
				}
				break
			}
		}
	}
	if len(ends) == 0 {
		return
	}
	scopes := scopesOf(&ends[0])
	narrow := func(p *symbol.Place) {
		other, n := scopesOf(p), 0
		for n < min(len(scopes), len(other)) && scopes[n] == other[n] {
			n++
		}
		scopes = scopes[:n]
	}
	for i := range ends {
		narrow(&ends[i])
	}
	var calls []symbol.Place
	for i := range f.Code.Sites {
		s := &f.Code.Sites[i]
		if _, ok := slices.BinarySearch(f.wanted, s.Offset); ok && f.within(s.Loop, l) {
			if p := place(s.Offset); p.Line != 0 {
				narrow(&p)
				calls = append(calls, p)
			}
		}
	}
	jump, head := leastLine(ends[header:], len(scopes)), leastLine(ends[:header], len(scopes))
	at := jump
	if first := leastLine(calls, len(scopes)); head.Line > 0 && (jump.Line == 0 || jump.File == head.File && first.File == jump.File && first.Line < jump.Line && head.Line < jump.Line) {
		at = head
	}
	to := &f.Code.Loops[l]
	to.Scopes, to.File, to.Line = scopes, at.File, at.Line
}

// leastLine is the least line of some places in the function that lies in so many others: of a file that defines it, if
// there is one.
func leastLine(places []symbol.Place, scopes int) (least symbol.Scope) {
	foreign := true
	for i := range places {
		at := lineIn(&places[i], scopes)
		if at.Line == 0 || at.File == at.FirstFile && at.Line < at.FirstLine {
			continue
		}
		if other := at.FirstFile != "" && at.File != at.FirstFile; least.Line == 0 || foreign && !other || foreign == other && at.File == least.File && at.Line < least.Line {
			least, foreign = at, other
		}
	}
	return least
}

// within reports whether a loop is another one, or lies in it.
func (f *Function) within(loop, in int) bool {
	for loop > in {
		loop = f.Code.Loops[loop].Parent
	}
	return loop == in
}

// scopesOf are the functions that are inlined round a place, outermost first.
func scopesOf(p *symbol.Place) (list []program.Inlined) {
	for i := range p.Inlined {
		if x := &p.Inlined[i]; !begins(p, i) {
			list = append(list, program.Inlined{Function: inlinedAt(p, i), CallFile: x.File, CallLine: x.Line})
		}
	}
	return list
}

func inlinedAt(p *symbol.Place, i int) string {
	if i+1 < len(p.Inlined) {
		return p.Inlined[i+1].Function
	}
	return p.Function
}

// begins reports whether a scope is the rest of a function of which the compiler has inlined the beginning: it counts
// as inlined into that, at its first line.
func begins(p *symbol.Place, i int) bool {
	x := &p.Inlined[i]
	return inlinedAt(p, i) == x.Function && x.Line <= x.FirstLine
}

// lineIn is the line of a place in the function that lies in so many others: the place's own one, or that of the call
// of what is inlined there.
func lineIn(p *symbol.Place, scopes int) symbol.Scope {
	for i := range p.Inlined {
		if begins(p, i) {
			continue
		}
		if scopes == 0 {
			return p.Inlined[i]
		}
		scopes--
	}
	return symbol.Scope{Function: p.Function, File: p.File, Line: p.Line, FirstFile: p.FirstFile, FirstLine: p.FirstLine}
}
