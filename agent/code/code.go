// Package code reads what the machine code of functions says of their loops and of the order of their calls.
//
// In come a module, as agent/symbol has it open, and return addresses of calls on recorded call paths, as offsets in
// the module. Out comes, for each function that makes one of these calls, which loops round its calls there are and
// which call can follow which, with and without another trip of a loop (analysis/program.Code); or why that is not
// known.
//
// A function is read from end to end by its bounds in the symbol table or in .eh_frame. An instruction that is not
// known, or a jump that makes no sense, makes the function unknown: there is never a graph that goes on somewhere.
// Files are taken for hostile: all sizes are bounded. The package never writes, and keeps nothing between calls.
package code

import (
	"cmp"
	"context"
	"debug/elf"
	"maps"
	"slices"
	"strings"

	"moriens/agent/symbol"
	"moriens/analysis/program"
)

// A Function makes calls that are on call paths.
type Function struct {
	Entry   uint64 // offset in the module; 0 = no function is known there
	Refused string // why nothing is known of its code; empty = Code says it
	Code    program.Code
	Reaches []Reach // what each of the sites of Code calls

	bounds [][][]uint64 // by loop: the first instructions of its header, then the last ones of each block that ends a trip
	wanted []uint64     // return addresses whose column, and that of whose loops, is to be looked up
}

// maxCalls is up to how many calls of a function all are sites, not only those on call paths of this node: those of
// other nodes, whose paths differ, have the same ones then.
const maxCalls = 512

// Read looks at the functions of a module that hold the return addresses, by entry. Where ctx ends before, the rest is
// refused. Of a file that is not that of the process no function is known, and why.
func Read(ctx context.Context, m *symbol.Module, returns []uint64) (functions []Function) {
	err := m.Inspect(func(file, split *elf.File) {
		functions = read(ctx, file, split, returns)
	})
	if err != nil {
		return Unread(err.Error())
	}
	return functions
}

// Unread is what is known of a module that was not read.
func Unread(why string) []Function { return []Function{{Refused: why}} }

func read(ctx context.Context, file, split *elf.File, returns []uint64) (functions []Function) {
	im, fault := newImage(file, split)
	if fault != "" {
		return Unread(fault)
	}
	r := &reader{ctx: ctx, image: im, known: &knowledge{im, make(map[uint64]bool)}, texts: make(map[uint64]*text), owner: make(map[uint64]uint64), parts: make(map[uint64][]*text)}
	sites := make(map[uint64][]uint64) // by the entry of the span that holds them
	spans := make(map[uint64]span)
	lost := false
	for _, at := range slices.Sorted(maps.Keys(setOf(returns))) {
		s, ok := im.at(at - 1)
		if !ok || at == 0 {
			lost = true
			continue
		}
		spans[s.start] = s
		sites[s.start] = append(sites[s.start], at)
	}
	r.findParts(spans)
	whole := make(map[uint64][]uint64)
	for start, list := range sites {
		entry := r.entry(start)
		whole[entry] = append(whole[entry], list...)
	}
	if lost {
		functions = append(functions, Function{Refused: "no function is known at some return addresses on call paths"})
	}
	for _, entry := range slices.Sorted(maps.Keys(whole)) {
		functions = append(functions, r.function(entry, slices.Sorted(slices.Values(whole[entry]))))
	}
	functions = r.reached(functions)
	slices.SortStableFunc(functions, func(a, b Function) int { return cmp.Compare(a.Entry, b.Entry) })
	return functions
}

func setOf(list []uint64) map[uint64]bool {
	set := make(map[uint64]bool, len(list))
	for _, x := range list {
		set[x] = true
	}
	return set
}

// A reader reads functions of one image.
type reader struct {
	ctx   context.Context
	image *image
	known *knowledge
	texts map[uint64]*text   // by start of their span
	owner map[uint64]uint64  // of spans that are parts of functions: where the span is that leads there
	parts map[uint64][]*text // the other way round
}

func (r *reader) text(s span) *text {
	t := r.texts[s.start]
	if t == nil {
		t = r.image.decodeSpan(r.ctx, s)
		r.texts[s.start] = t
	}
	return t
}

// entry is that of the function of which a span is.
func (r *reader) entry(start uint64) uint64 {
	for range 4 {
		next, ok := r.owner[start]
		if !ok {
			break
		}
		start = next
	}
	return start
}

// function reads one function, of which sites are calls on call paths.
func (r *reader) function(entry uint64, sites []uint64) (f Function) {
	f = Function{Entry: entry, wanted: sites}
	parts := append([]*text{r.texts[entry]}, r.parts[entry]...)
	var g *graph
	var n *nest
	if coldOf(parts[0].name) != "" {
		f.Refused = "the function of which it is a part is not known"
		f.only(sites)
		f.Reaches = make([]Reach, len(sites))
		return f
	}
	defer func() { f.Reaches = r.reaches(parts, f.Code.Sites) }()
	if name := r.returnsTwice(parts); name != "" {
		f.Refused = "it calls " + name + ", which returns more than once"
		f.only(sites)
		return f
	}
	few := slices.Sorted(maps.Keys(setOf(append(r.tailsOf(parts), sites...))))
	all := few
	if calls := callsOf(parts); len(calls)+len(few) <= maxCalls+len(sites) {
		all = slices.Sorted(maps.Keys(setOf(append(calls, few...))))
	}
	for _, list := range [][]uint64{all, few, sites} {
		b := &builder{image: r.image, known: r.known, parts: parts, sites: list}
		g, f.Refused = b.build(r.ctx, func(site uint64) bool { _, wanted := slices.BinarySearch(sites, site); return !wanted })
		if g == nil {
			break
		}
		if n, f.Refused = findLoops(r.ctx, g); n != nil {
			f.Code = n.code(list)
			for i := range n.loops[1:] {
				f.bounds = append(f.bounds, n.bounds(&n.loops[1+i]))
			}
			return f
		}
	}
	f.only(sites)
	return f
}

// only makes sites all that is known.
func (f *Function) only(sites []uint64) {
	f.Code = program.Code{}
	for _, at := range sites {
		f.Code.Sites = append(f.Code.Sites, program.Site{Offset: at, Loop: -1})
	}
}

// callsOf lists the return addresses of all calls.
func callsOf(parts []*text) (list []uint64) {
	for _, t := range parts {
		for i := range t.events {
			if e := &t.events[i]; e.flow == flowCall {
				list = append(list, t.start+uint64(e.end))
			}
		}
	}
	return list
}

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
// alone says that the loop is in that one. The line is the least one there of the header and of these jumps: compilers
// put the condition at the end, and that has the line of the `for`.
func (f *Function) nameLoop(l int, place func(at uint64) symbol.Place) {
	var ends []symbol.Place
	for _, bound := range f.bounds[l] {
		for _, at := range bound {
			if p := place(at + 1); p.Line != 0 {
				ends = append(ends, p)
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
	for i := range f.Code.Sites {
		s := &f.Code.Sites[i]
		if _, ok := slices.BinarySearch(f.wanted, s.Offset); ok && f.within(s.Loop, l) {
			if p := place(s.Offset); p.Line != 0 {
				narrow(&p)
			}
		}
	}
	to := &f.Code.Loops[l]
	to.Scopes = scopes
	foreign := true // the line is none of the file that defines the function
	for i := range ends {
		at := lineIn(&ends[i], len(scopes))
		if at.Line == 0 || at.File == at.FirstFile && at.Line < at.FirstLine {
			continue
		}
		if other := at.FirstFile != "" && at.File != at.FirstFile; to.Line == 0 || foreign && !other || foreign == other && at.File == to.File && at.Line < to.Line {
			to.File, to.Line, foreign = at.File, at.Line, other
		}
	}
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

// findParts finds what spans are parts of functions that lie apart: of the functions of these spans, and those that
// these are. Compilers move what is rarely executed, as `name.cold`; where there is no symbol, a span that nothing
// calls, and to which one other alone jumps, is a part of that.
func (r *reader) findParts(spans map[uint64]span) {
	suspects, found := make(map[uint64]span), make(map[uint64]bool)
	suspect := func(s span) {
		if s.name == "" || coldOf(s.name) != "" {
			suspects[s.start] = s
		}
	}
	asked := make(map[uint64]bool)
	ask := func(s span) {
		asked[s.start] = true
		suspect(s)
		r.jumps(r.text(s), suspect)
	}
	for _, s := range spans {
		ask(s)
	}
	// One more time: a part that holds a call brings the function of which it is, and the other parts of that.
	for range 2 {
		owners := r.ownersOf(suspects)
		more := false
		for start, owner := range owners {
			if _, known := r.owner[start]; !known {
				found[start] = true
			}
			r.owner[start] = owner.start
			if !asked[owner.start] {
				more = true
				ask(owner)
			}
		}
		if !more {
			break
		}
	}
	for _, start := range slices.Sorted(maps.Keys(found)) {
		if entry := r.entry(start); entry != start {
			r.parts[entry] = append(r.parts[entry], r.text(suspects[start]))
		}
	}
}

// jumps calls f for each other span to which a text jumps, or where exceptions of its calls continue.
func (r *reader) jumps(t *text, f func(span)) {
	seen := uint64(0)
	for i := range t.events {
		e := &t.events[i]
		if e.flow != flowJump && e.flow != flowBranch || t.holds(e.target) || e.target == seen {
			continue
		}
		seen = e.target
		if s, ok := r.image.at(e.target); ok {
			f(s)
		}
	}
	pads, _ := r.image.padsOf(r.image.frameAt(t.start))
	for _, p := range pads {
		if s, ok := r.image.at(p.at); ok && s.start != t.start {
			f(s)
		}
	}
}

// coldOf is the name of the function of whose cold part a name is; empty: of none.
func coldOf(name string) string {
	if at := strings.Index(name, ".cold"); at > 0 {
		return name[:at]
	}
	return ""
}

// ownersOf finds the function of each span that is a part of one. All machine code of the module is searched for jumps
// and calls to them.
func (r *reader) ownersOf(suspects map[uint64]span) map[uint64]span {
	list := slices.SortedFunc(maps.Values(suspects), func(a, b span) int { return cmp.Compare(a.start, b.start) })
	if len(list) == 0 {
		return nil
	}
	called := make([]bool, len(list))
	owners := make([]map[uint64]span, len(list))
	near := newNear(list)
	for _, p := range r.image.loads {
		if p.Flags&elf.PF_X == 0 || r.ctx.Err() != nil {
			continue
		}
		r.scan(p, near, func(at, target uint64, how flow) {
			i, exact := slices.BinarySearchFunc(list, target, func(s span, pc uint64) int { return cmp.Compare(s.start, pc) })
			if !exact {
				i--
			}
			if i < 0 || !list[i].holds(target) || list[i].holds(at) {
				return
			}
			from, ok := r.image.at(at)
			if how != flowJump || !ok {
				called[i] = called[i] || target == list[i].start || how == flowCall && (!ok || r.calls(from, at))
				return
			}
			if owners[i] == nil {
				owners[i] = make(map[uint64]span)
			}
			owners[i][from.start] = from
		})
	}
	if slices.ContainsFunc(owners, func(of map[uint64]span) bool { return of == nil }) {
		r.byExceptions(list, owners)
	}
	found := make(map[uint64]span)
	for i, s := range list {
		base := coldOf(s.name)
		if base == "" && called[i] {
			continue
		}
		var of []span
		for _, o := range owners[i] {
			if base == "" || o.name == base {
				of = append(of, o)
			}
		}
		if len(of) > 1 {
			of = slices.DeleteFunc(of, func(o span) bool { return !r.leads(o, s) })
		}
		if len(of) == 1 && coldOf(of[0].name) == "" {
			found[s.start] = of[0]
		}
	}
	return found
}

// byExceptions adds the functions of whose calls exceptions continue in a span to which nothing jumps.
func (r *reader) byExceptions(list []span, owners []map[uint64]span) {
	for i := range r.image.frames {
		f := &r.image.frames[i]
		if f.pads == 0 {
			continue
		}
		if r.ctx.Err() != nil {
			return
		}
		pads, _ := r.image.padsOf(f)
		for _, p := range pads {
			at, exact := slices.BinarySearchFunc(list, p.at, func(s span, pc uint64) int { return cmp.Compare(s.start, pc) })
			if !exact {
				at--
			}
			if at < 0 || !list[at].holds(p.at) || list[at].holds(f.start) || len(owners[at]) > 1 {
				continue
			}
			if from, ok := r.image.at(f.start); ok {
				if owners[at] == nil {
					owners[at] = make(map[uint64]span)
				}
				owners[at][from.start] = from
			}
		}
	}
}

// calls reports whether a span has a call at an address, not only bytes like one.
func (r *reader) calls(from span, at uint64) bool {
	t := r.text(from)
	return t.fault != "" || slices.ContainsFunc(t.events, func(e event) bool { return e.flow == flowCall && from.start+uint64(e.at) == at })
}

// leads reports whether a span has an instruction that jumps to another, not only bytes like one.
func (r *reader) leads(from, to span) bool {
	t := r.text(from)
	if t.fault != "" {
		return true
	}
	pads, _ := r.image.padsOf(r.image.frameAt(from.start))
	return slices.ContainsFunc(pads, func(p pad) bool { return to.holds(p.at) }) || slices.ContainsFunc(t.events, func(e event) bool {
		return (e.flow == flowJump || e.flow == flowBranch) && to.holds(e.target)
	})
}

// A near says quickly that an address is in none of some spans.
type near struct{ bits bitmap }

const nearBits = 1 << 18

func newNear(spans []span) near {
	n := near{newBitmap(nearBits)}
	for _, s := range spans {
		for page := s.start >> 6; page <= (s.end-1)>>6 && page-s.start>>6 < nearBits; page++ {
			n.bits.set(int(page % nearBits))
		}
	}
	return n
}

func (n near) perhaps(addr uint64) bool { return n.bits.has(int(addr >> 6 % nearBits)) }

// scan calls f for what in a segment names an address that is perhaps in one of the spans.
func (r *reader) scan(p *elf.Prog, near near, f func(at, target uint64, how flow)) {
	const chunk, overlap = 1 << 20, 16
	for at := uint64(0); at < p.Filesz && r.ctx.Err() == nil; at += chunk {
		begin := at - min(at, overlap)
		data := r.image.read(p.Vaddr+begin, at-begin+chunk)
		r.image.decode.references(data, p.Vaddr+begin, func(place, target uint64, how flow) {
			if near.perhaps(target) {
				f(place, target, how)
			}
		})
		if uint64(len(data)) < at-begin+chunk {
			return
		}
	}
}
