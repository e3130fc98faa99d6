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
