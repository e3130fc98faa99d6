package code

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"moriens/agent/symbol"
)

// A span is a range of addresses that holds the code of a function or of a part of it.
type span struct {
	start, end uint64
	name       string // the symbol's; empty: only the table of frames knows the span
}

func (s *span) holds(pc uint64) bool { return s.start <= pc && pc < s.end }

// An image is a module as it is mapped.
type image struct {
	file   *elf.File
	decode decoder
	loads  []*elf.Prog
	spans  []span // of symbols, by start
	frames []frame
	imports
	linkages []span // tables of procedure linkage
}

// imports say what calls through the tables of the dynamic linker reach.
type imports struct {
	slots   map[uint64]string // function whose address the linker puts there
	exports map[string]uint64 // address of an own function that others may replace
}

// newImage returns why there is none.
func newImage(file, split *elf.File) (*image, string) {
	m := &image{file: file}
	switch {
	case file.Class != elf.ELFCLASS64 || file.Data != elf.ELFDATA2LSB:
		return nil, "machine code that is not of 64 bits, the least byte first"
	case file.Machine == elf.EM_X86_64:
		m.decode = x86{}
	case file.Machine == elf.EM_AARCH64:
		m.decode = arm64{}
	default:
		return nil, "machine code for " + file.Machine.String()
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD && p.Vaddr+p.Filesz >= p.Vaddr {
			m.loads = append(m.loads, p)
		}
	}
	m.readSymbols(split)
	m.readFrames()
	m.readImports()
	return m, ""
}

// load returns the segment that holds an address, nil: none does.
func (m *image) load(addr uint64) *elf.Prog {
	for _, p := range m.loads {
		if addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return p
		}
	}
	return nil
}

// executable reports whether an address is one of code.
func (m *image) executable(addr uint64) bool {
	p := m.load(addr)
	return p != nil && p.Flags&elf.PF_X != 0
}

// read returns up to n bytes at an address, fewer where the segment or the file ends.
func (m *image) read(addr, n uint64) []byte {
	p := m.load(addr)
	if p == nil {
		return nil
	}
	n = min(n, p.Filesz-(addr-p.Vaddr))
	if n > 1<<20 { // the file may be shorter than it says
		data, err := io.ReadAll(io.NewSectionReader(p, int64(addr-p.Vaddr), int64(n)))
		if err != nil {
			return nil
		}
		return data
	}
	data := make([]byte, n)
	got, err := p.ReadAt(data, int64(addr-p.Vaddr))
	if err != nil && err != io.EOF {
		return nil
	}
	return data[:got]
}

// readSymbols takes the functions of all tables that have a size.
func (m *image) readSymbols(split *elf.File) {
	tables := []func() []elf.Symbol{
		func() []elf.Symbol { return symbol.Functions(m.file, m.file.Symbols) },
		func() []elf.Symbol { return symbol.Functions(m.file, m.file.DynamicSymbols) },
	}
	if split != nil {
		tables = append(tables, func() []elf.Symbol { return symbol.Functions(split, split.Symbols) })
	}
	for _, table := range tables {
		for _, s := range table() {
			if s.Size > 0 && s.Value+s.Size > s.Value && m.executable(s.Value) {
				m.spans = append(m.spans, span{s.Value, s.Value + s.Size, s.Name})
			}
		}
	}
	// Of several names of one function the one that says whether it returns.
	slices.SortFunc(m.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), -cmp.Compare(a.end, b.end), cmp.Compare(rank(a.name), rank(b.name)), cmp.Compare(a.name, b.name))
	})
	m.spans = slices.CompactFunc(m.spans, func(a, b span) bool { return a.start == b.start })
}

func rank(name string) int {
	if endsProgram(name) {
		return 0
	}
	return 1
}

// at returns the span that holds an address.
func (m *image) at(pc uint64) (span, bool) {
	i, exact := slices.BinarySearchFunc(m.spans, pc, func(s span, pc uint64) int { return cmp.Compare(s.start, pc) })
	if exact {
		i++
	}
	// Hand-written code can have symbols inside of others.
	for back := i - 1; back >= 0 && back >= i-8; back-- {
		if m.spans[back].holds(pc) {
			return m.spans[back], true
		}
	}
	if f := m.frameAt(pc); f != nil {
		return span{start: f.start, end: f.end}, true
	}
	return span{}, false
}

// maxRelocations bounds the bytes of a table of relocations, or of symbols.
const maxRelocations = 256 << 20

// readImports reads which functions the dynamic linker puts where.
func (m *image) readImports() {
	m.slots, m.exports = make(map[uint64]string), make(map[string]uint64)
	for _, s := range m.file.Sections {
		if (s.Type == elf.SHT_DYNSYM || s.Type == elf.SHT_STRTAB) && s.Size > maxRelocations {
			return
		}
	}
	symbols, err := m.file.DynamicSymbols()
	if err != nil {
		return
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			m.exports[s.Name] = s.Value
		}
	}
	for _, s := range m.file.Sections {
		if strings.HasPrefix(s.Name, ".plt") && s.Addr+s.Size > s.Addr {
			m.linkages = append(m.linkages, span{start: s.Addr, end: s.Addr + s.Size, name: s.Name})
		}
	}
	slot, global := uint32(elf.R_X86_64_JMP_SLOT), uint32(elf.R_X86_64_GLOB_DAT)
	if m.file.Machine == elf.EM_AARCH64 {
		slot, global = uint32(elf.R_AARCH64_JUMP_SLOT), uint32(elf.R_AARCH64_GLOB_DAT)
	}
	for _, s := range m.file.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 || s.Size > maxRelocations {
			continue
		}
		data, err := s.Data()
		if err != nil {
			continue
		}
		for ; len(data) >= 24; data = data[24:] {
			info := binary.LittleEndian.Uint64(data[8:])
			if kind, n := uint32(info), info>>32; (kind == slot || kind == global) && n > 0 && n <= uint64(len(symbols)) {
				m.slots[binary.LittleEndian.Uint64(data)] = symbols[n-1].Name
			}
		}
	}
}
