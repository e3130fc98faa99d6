package symbol

import (
	"cmp"
	"context"
	"debug/dwarf"
	"debug/elf"
	"path/filepath"
	"slices"
	"strings"
)

// maxDebug bounds the debugging information that is read, uncompressed: it is held in memory while it is searched. A larger
// program is named by its symbols.
const maxDebug = 1 << 30

// attrMIPSLinkageName is the linkage name before DWARF 4.
const attrMIPSLinkageName = dwarf.Attr(0x2007)

// fromDWARF fills in what the debugging information says of the queries, which are sorted.
func fromDWARF(ctx context.Context, f *elf.File, queries []query) {
	var bytes uint64
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") {
			if s.Size > maxDebug {
				return
			}
			bytes += s.Size
		}
	}
	if bytes == 0 || bytes > maxDebug {
		return
	}
	d, err := f.DWARF()
	if err != nil {
		return
	}
	table := lineTable(f)
	for r := newWalker(f, d, 0); ctx.Err() == nil; {
		unit := r.next()
		if unit == nil {
			return
		}
		if unit.Tag != dwarf.TagCompileUnit {
			r.skipChildren(unit)
			continue
		}
		ranges, _ := d.Ranges(unit) // without them it holds none
		if inside := within(queries, ranges); len(inside) > 0 {
			if at, ok := unit.Val(dwarf.AttrStmtList).(int64); ok && saneLines(table, f.ByteOrder, at) {
				lines(d, unit, inside)
			}
			functions(newWalker(f, d, unit.Offset), d, inside)
		}
		r.skipChildren(unit)
	}
}

// A walker reads entries. In damaged files the library's reader can stay at one place for ever, or be led in a circle by references
// to siblings; a walker's references only go forward, and it reads no more entries than there are bytes.
type walker struct {
	*dwarf.Reader
	left uint64
}

func newWalker(f *elf.File, d *dwarf.Data, from dwarf.Offset) *walker {
	w := &walker{Reader: d.Reader()}
	if s := f.Section(".debug_info"); s != nil {
		w.left = s.Size
	}
	w.Seek(from)
	return w
}

// next returns nil at the end and where nothing more can be read.
func (w *walker) next() *dwarf.Entry {
	if w.left == 0 {
		return nil
	}
	w.left--
	e, err := w.Next()
	if err != nil {
		return nil
	}
	return e
}

// skipChildren moves past the children of e, which was read last.
func (w *walker) skipChildren(e *dwarf.Entry) {
	for depth := 0; e != nil; e = w.next() {
		sibling, ok := e.Val(dwarf.AttrSibling).(dwarf.Offset)
		switch {
		case e.Tag == 0:
			depth--
		case e.Children && ok && sibling > e.Offset:
			w.Seek(sibling)
		case e.Children:
			depth++
		}
		if depth <= 0 {
			return
		}
	}
}

func lineTable(f *elf.File) []byte {
	s := f.Section(".debug_line")
	if s == nil {
		return nil
	}
	table, _ := s.Data() // without it no line is known
	return table
}

// within returns the queries, which are sorted, that lie in any of the ranges, sorted.
func within(queries []query, ranges [][2]uint64) []*query {
	var inside []*query
	for _, r := range ranges {
		first, _ := slices.BinarySearchFunc(queries, r[0], func(q query, pc uint64) int { return cmp.Compare(q.pc, pc) })
		for i := first; i < len(queries) && queries[i].pc < r[1]; i++ {
			inside = append(inside, &queries[i])
		}
	}
	slices.SortFunc(inside, func(a, b *query) int { return cmp.Compare(a.pc, b.pc) })
	return slices.Compact(inside)
}

// lines reads the unit's line table from end to end: it is a number of sequences, each ascending, but in no order among
// themselves, so that the library's own search misses what compilers put into sections apart.
func lines(d *dwarf.Data, unit *dwarf.Entry, queries []*query) {
	r, err := d.LineReader(unit)
	if err != nil || r == nil {
		return
	}
	var row, next dwarf.LineEntry
	for inSequence := false; r.Next(&next) == nil; row, inSequence = next, !next.EndSequence {
		if !inSequence || row.File == nil || row.Line <= 0 {
			continue
		}
		first, _ := slices.BinarySearchFunc(queries, row.Address, func(q *query, pc uint64) int { return cmp.Compare(q.pc, pc) })
		for i := first; i < len(queries) && queries[i].pc < next.Address; i++ {
			queries[i].place.File, queries[i].place.Line = clean(filepath.Clean(row.File.Name)), row.Line
		}
	}
}

// functions names the innermost function, inlined or not, round each query of the unit that r reads next.
func functions(r *walker, d *dwarf.Data, queries []*query) {
	for depth := 0; ; {
		e := r.next()
		if e == nil {
			return
		}
		descend := true
		switch e.Tag {
		case 0: // the end of a list of children
			if depth--; depth == 0 {
				return
			}
			continue
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			holds := false
			ranges, _ := d.Ranges(e)
			for _, q := range queries {
				if !contains(ranges, q.pc) || depth < q.depth {
					continue
				}
				holds = true
				if name := functionName(d, e); name != "" {
					q.place.Function, q.depth = name, depth
				}
			}
			// The procedures that a Fortran one contains lie outside of its range.
			descend = holds || e.Tag == dwarf.TagSubprogram
		case dwarf.TagCompileUnit, dwarf.TagNamespace, dwarf.TagModule, dwarf.TagLexDwarfBlock,
			dwarf.TagClassType, dwarf.TagStructType:
		default:
			descend = false
		}
		switch {
		case e.Children && descend:
			depth++
		case e.Children:
			r.skipChildren(e)
		}
		if depth == 0 {
			return
		}
	}
}

func contains(ranges [][2]uint64, pc uint64) bool {
	return slices.ContainsFunc(ranges, func(r [2]uint64) bool { return r[0] <= pc && pc < r[1] })
}

// functionName follows the entry to where its function was declared. What no other file can call has no linkage name, and is
// called by its plain one, without namespaces.
func functionName(d *dwarf.Data, e *dwarf.Entry) string {
	var plain string
	for range 8 {
		for _, attr := range []dwarf.Attr{dwarf.AttrLinkageName, attrMIPSLinkageName} {
			if symbol, ok := e.Val(attr).(string); ok {
				if name, ok := demangled(symbol); ok {
					return name
				}
			}
		}
		if name, ok := e.Val(dwarf.AttrName).(string); ok && plain == "" {
			plain = clean(name)
		}
		next, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			next, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			break
		}
		r := d.Reader()
		r.Seek(next)
		var err error
		if e, err = r.Next(); err != nil || e == nil {
			break
		}
	}
	return plain
}
