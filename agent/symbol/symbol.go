// Package symbol resolves return addresses to source locations.
//
// In come an executable or library, its GNU build id as the process had it, and offsets as in the rings' logs (return
// address minus what the loader added to the file's addresses). Out come function, file and line of the calls before
// these addresses.
//
// The result is "unknown", the zero Place, rather than anything wrong: for a file that was removed, that was changed
// since the process mapped it, that is stripped, or that cannot be read. The package never writes, never asks the
// network, and keeps nothing but open files between calls.
package symbol

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"io"
	"slices"

	"moriens/internal/files"
)

// A Place is where a call is in a program's source.
type Place struct {
	Function string // demangled, without its arguments; of inlined ones the innermost; empty = unknown
	File     string // as the compiler was given it; empty = unknown
	Line     int    // from 1; 0 = unknown
	Column   int    // in the line, from 1; 0 = unknown

	FirstFile string // of the function: the file and line that define it
	FirstLine int    // 0 = unknown

	Inlined []Scope // what the function is inlined into there, outermost first
}

// A Scope is a function into which another one is inlined at a line.
type Scope struct {
	Function string
	File     string
	Line     int // 0 = unknown

	FirstFile string // as those of a Place
	FirstLine int
}

// Known reports whether anything is known of a place.
func (p *Place) Known() bool { return p.Function != "" || p.File != "" || p.Line != 0 }

// A Module is an executable or library of a process. It holds the file open, so that it can be read even when its name
// is gone by then.
type Module struct {
	path    string
	buildID []byte
	file    *files.File // nil: not there
}

// Open opens the file at path, whose GNU build id, if it has one, was buildID in the process.
func Open(path string, buildID []byte) *Module {
	m := &Module{path: path, buildID: buildID}
	if f, err := files.Open(path); err == nil {
		m.file = f
	}
	return m
}

// Close gives the file back.
func (m *Module) Close() {
	if m.file != nil {
		m.file.Close()
	}
}

// Resolve returns one Place for each return address; those that ctx's end leaves are unknown.
func (m *Module) Resolve(ctx context.Context, returns []uint64) []Place {
	if m.file == nil {
		return make([]Place, len(returns))
	}
	return resolve(ctx, m.file, m.path, m.buildID, returns)
}

// A query is a call whose place is looked up.
type query struct {
	pc    uint64 // within the call instruction
	place Place
	depth int // of the innermost function that was found to hold it
	chain []inlining
}

func resolve(ctx context.Context, in io.ReaderAt, path string, buildID []byte, returns []uint64) []Place {
	queries := make([]query, 0, len(returns))
	for _, r := range returns {
		// A return address lies after its call, which may be the last instruction of its line and of its function.
		queries = append(queries, query{pc: r - 1})
	}
	slices.SortFunc(queries, func(a, b query) int { return cmp.Compare(a.pc, b.pc) })
	queries = slices.CompactFunc(queries, func(a, b query) bool { return a.pc == b.pc })

	guard(func() { lookUp(ctx, in, path, buildID, queries) })

	places := make([]Place, len(returns))
	for i, r := range returns {
		at, _ := slices.BinarySearchFunc(queries, r-1, func(q query, pc uint64) int { return cmp.Compare(q.pc, pc) })
		places[i] = queries[at].place
	}
	return places
}

// guard keeps what a malformed file makes the libraries panic about from ending the agent.
func guard(f func()) {
	defer func() { _ = recover() }()
	f()
}

// lookUp asks what says most first: the debugging information, in the file or beside it, then the symbols.
func lookUp(ctx context.Context, in io.ReaderAt, path string, buildID []byte, queries []query) {
	f, err := elf.NewFile(in)
	if err != nil {
		return
	}
	if id := readBuildID(f); !bytes.Equal(id, buildID) {
		return
	}
	source := f
	if !hasDebug(f) {
		if split := openDebug(f, path, buildID); split != nil {
			defer split.Close()
			source = split
		}
	}
	guard(func() { fromDWARF(ctx, source, queries) })
	tables := []func() ([]elf.Symbol, error){f.Symbols, f.DynamicSymbols}
	if source != f {
		tables = slices.Insert(tables, 1, source.Symbols)
	}
	for _, table := range tables {
		guard(func() { fromSymbols(f, table, queries) })
	}
}

// readBuildID finds the GNU build id in the notes that the process maps, nil if there is none.
func readBuildID(f *elf.File) []byte {
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > 1<<20 {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := io.ReadFull(p.Open(), notes); err != nil {
			continue
		}
		if id := buildIDOf(f, notes); id != nil {
			return id
		}
	}
	return nil
}

const noteBuildID = 3 // NT_GNU_BUILD_ID

func buildIDOf(f *elf.File, notes []byte) []byte {
	for len(notes) >= 12 {
		name, content, kind := f.ByteOrder.Uint32(notes), f.ByteOrder.Uint32(notes[4:]), f.ByteOrder.Uint32(notes[8:])
		notes = notes[12:]
		nameEnd := (uint64(name) + 3) &^ 3
		contentEnd := nameEnd + (uint64(content)+3)&^3
		if contentEnd > uint64(len(notes)) {
			return nil
		}
		if kind == noteBuildID && string(notes[:name]) == "GNU\x00" {
			return notes[nameEnd:][:content]
		}
		notes = notes[contentEnd:]
	}
	return nil
}
