package code

import (
	"slices"
	"strings"

	"moriens/agent/symbol"
	"moriens/analysis/program"
)

// A Reach is what a site calls.
type Reach struct {
	Target uint64 // entry of the function, in the module; 0 = not known, or in another module
	Name   string // symbol that the dynamic linker looks up for it; of calls that of MPI functions only; empty = unknown
	// Tail says that it is a tail call: a jump out of the function at its end, to another one that returns for it. Its
	// Offset is behind the jump; no call path has it.
	Tail  bool
	Place symbol.Place // of a tail call
}

// maxName bounds the bytes of a symbol that is of interest.
const maxName = 256

// reach says what an event calls, or jumps to.
func (r *reader) reach(e *event) (x Reach) {
	x.Tail = e.flow != flowCall
	slot := e.slot
	if e.target != 0 {
		if slot = r.image.linkage(e.target); slot == 0 {
			if s, ok := r.image.at(e.target); ok && s.start == e.target && r.entry(s.start) == s.start && coldOf(s.name) == "" {
				x.Target = e.target
			}
			return x
		}
	}
	name, _, _ := strings.Cut(r.image.slots[slot], "@")
	x.Target = r.image.exports[r.image.slots[slot]]
	if len(name) <= maxName && (x.Tail || isMPI(name)) {
		x.Name = name
	}
	return x
}

// isMPI reports whether a symbol is that of an MPI function, in C or Fortran.
func isMPI(name string) bool {
	name = strings.ToLower(name[:min(len(name), 5)])
	return strings.HasPrefix(name, "mpi_") || name == "pmpi_"
}

// linkage is the address of the memory from which an entry of the procedure linkage table at an address takes its
// target; 0: there is none.
func (m *image) linkage(at uint64) uint64 {
	if !slices.ContainsFunc(m.linkages, func(s span) bool { return s.holds(at) }) {
		return 0
	}
	code := m.read(at, 32)
	if slot := m.decode.stub(code, at); slot != 0 {
		return slot
	}
	for len(code) > 0 {
		in, ok := m.decode.decode(code, at)
		switch {
		case !ok || in.size <= 0 || in.size > len(code):
			return 0
		case in.flow == flowIndirect:
			return in.slot
		case in.flow != flowNop:
			return 0
		}
		code, at = code[in.size:], at+uint64(in.size)
	}
	return 0
}

// leaves reports whether an event jumps out of the parts of a function, to what is called in its place.
func (r *reader) leaves(parts []*text, e *event) bool {
	switch e.flow {
	case flowJump, flowBranch:
		if slices.ContainsFunc(parts, func(t *text) bool { return t.holds(e.target) }) {
			return false
		}
	case flowIndirect:
		if e.slot == 0 {
			return false
		}
	default:
		return false
	}
	x := r.reach(e)
	return x.Target != 0 || x.Name != ""
}

// tailsOf lists what is behind each tail call.
func (r *reader) tailsOf(parts []*text) (list []uint64) {
	for _, t := range parts {
		for i := range t.events {
			if e := &t.events[i]; r.leaves(parts, e) {
				list = append(list, t.start+uint64(e.end))
			}
		}
	}
	return list
}

// reaches says what each site calls.
func (r *reader) reaches(parts []*text, sites []program.Site) []Reach {
	list := make([]Reach, len(sites))
	for _, t := range parts {
		for i := range t.events {
			e := &t.events[i]
			at, ok := slices.BinarySearchFunc(sites, t.start+uint64(e.end), func(s program.Site, at uint64) int {
				switch {
				case s.Offset < at:
					return -1
				case s.Offset > at:
					return 1
				}
				return 0
			})
			if ok && (e.flow == flowCall || r.leaves(parts, e)) {
				list[at] = r.reach(e)
			}
		}
	}
	return list
}

const (
	// maxChain bounds how many tail calls of functions that are on no call path are followed one after the other, and
	// maxReached how many such functions are read.
	maxChain   = 8
	maxReached = 4096
)

// reached adds the functions with tail calls that calls on call paths call, and those that these tail calls call: they
// may have no frame on any call path.
func (r *reader) reached(functions []Function) []Function {
	asked := make(map[uint64]bool)
	for i := range functions {
		asked[functions[i].Entry] = true
	}
	count := 0
	begin := 0
	for range maxChain {
		spans := make(map[uint64]span)
		for i := begin; i < len(functions); i++ {
			f := &functions[i]
			for k := range f.Reaches {
				x := &f.Reaches[k]
				if _, wanted := slices.BinarySearch(f.wanted, f.Code.Sites[k].Offset); x.Target == 0 || asked[x.Target] || !x.Tail && !wanted {
					continue
				}
				asked[x.Target] = true
				s, ok := r.image.at(x.Target)
				if !ok || s.start != x.Target || count == maxReached {
					continue
				}
				t := r.text(s)
				if t.fault == "" && slices.ContainsFunc(t.events, func(e event) bool { return r.leaves([]*text{t}, &e) }) {
					spans[s.start] = s
					count++
				}
			}
		}
		if len(spans) == 0 {
			break
		}
		r.findParts(spans)
		begin = len(functions)
		for start := range spans {
			if r.entry(start) != start {
				continue // it is a part of another one
			}
			if f := r.function(start, nil); f.Refused == "" && slices.ContainsFunc(f.Reaches, func(x Reach) bool { return x.Tail }) {
				functions = append(functions, f)
			}
		}
	}
	return functions
}
