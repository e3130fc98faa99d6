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

// maxDebug bounds the debugging information that is read, uncompressed: it is held in memory while it is searched. A
// larger program is named by its symbols.
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
	r := newWalker(f, d, 0)
	for unit := r.next(); unit != nil && ctx.Err() == nil; {
		r.skipChildren(unit)
		next := r.next()
		if ranges, _ := d.Ranges(unit); unit.Tag == dwarf.TagCompileUnit { // without ranges it holds none
			if inside := within(queries, ranges); len(inside) > 0 {
				u := compileUnit{d: d, from: unit.Offset, to: ^dwarf.Offset(0)}
				if next != nil {
					u.to = next.Offset
				}
				if at, ok := unit.Val(dwarf.AttrStmtList).(int64); ok && saneLines(table, f.ByteOrder, at) {
					u.lines(unit, inside)
				}
				u.functions(newWalker(f, d, unit.Offset), inside)
			}
		}
		unit = next
	}
}

// A compileUnit is one unit of the debugging information.
type compileUnit struct {
	d        *dwarf.Data
	from, to dwarf.Offset
	files    []*dwarf.LineFile // by the numbers that its entries give
}

// maxScopes bounds the functions that are inlined into each other at one place.
const maxScopes = 64

// An inlining is a function round a query: a real one, the first, or one that is inlined at a line of the one before
// it.
type inlining struct {
	depth     int // in the tree of entries
	function  string
	callFile  string
	callLine  int
	firstFile string
	firstLine int
}

// into puts a function that lies as deep as it says round the query.
func (q *query) into(x inlining, real bool) {
	n := len(q.chain)
	for n > 0 && q.chain[n-1].depth >= x.depth {
		n--
	}
	if real {
		n = 0
	}
	if n == maxScopes {
		n--
	}
	q.chain, q.depth = append(q.chain[:n], x), x.depth
}

// settle sets what the chain of the query shows.
func (q *query) settle() {
	if len(q.chain) == 0 {
		return
	}
	p, last := &q.place, len(q.chain)-1
	p.Function, p.FirstFile, p.FirstLine = q.chain[last].function, q.chain[last].firstFile, q.chain[last].firstLine
	p.Inlined = nil
	for i, x := range q.chain[:last] {
		p.Inlined = append(p.Inlined, Scope{x.function, q.chain[i+1].callFile, q.chain[i+1].callLine, x.firstFile, x.firstLine})
	}
}

// A walker reads entries. In damaged files the library's reader can loop at one place for ever, or be led in a circle
// by references to siblings; a walker's references only go forward, and it reads no more entries than there are bytes.
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
func (u *compileUnit) lines(unit *dwarf.Entry, queries []*query) {
	r, err := u.d.LineReader(unit)
	if err != nil || r == nil {
		return
	}
	u.files = r.Files()
	var row, next dwarf.LineEntry
	for inSequence := false; r.Next(&next) == nil; row, inSequence = next, !next.EndSequence {
		if !inSequence || row.File == nil || row.Line <= 0 {
			continue
		}
		first, _ := slices.BinarySearchFunc(queries, row.Address, func(q *query, pc uint64) int { return cmp.Compare(q.pc, pc) })
		for i := first; i < len(queries) && queries[i].pc < next.Address; i++ {
			p := &queries[i].place
			p.File, p.Line, p.Column = clean(filepath.Clean(row.File.Name)), row.Line, min(max(row.Column, 0), maxLine)
		}
	}
}

// functions finds the functions, inlined or not, round each query of the unit that r reads next.
func (u *compileUnit) functions(r *walker, queries []*query) {
	defer func() {
		for _, q := range queries {
			q.settle()
		}
	}()
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
			ranges, _ := u.d.Ranges(e)
			for _, q := range queries {
				if !contains(ranges, q.pc) || depth < q.depth {
					continue
				}
				holds = true
				if x := u.inlining(e); x.function != "" {
					x.depth = depth
					q.into(x, e.Tag == dwarf.TagSubprogram)
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

// inlining follows the entry to where its function was declared. What no other file can call has no linkage name, and
// is called by its plain one, without namespaces.
func (u *compileUnit) inlining(e *dwarf.Entry) (x inlining) {
	if e.Tag == dwarf.TagInlinedSubroutine {
		x.callFile, x.callLine = u.line(e, dwarf.AttrCallFile, dwarf.AttrCallLine)
	}
	linked, own := "", true // numbers of files are the unit's own
	for range 8 {
		if linked == "" {
			linked = linkageName(e)
		}
		if name, ok := e.Val(dwarf.AttrName).(string); ok && x.function == "" {
			x.function = clean(name)
		}
		if own && x.firstLine == 0 {
			x.firstLine = lineOf(e, dwarf.AttrDeclLine)
		}
		if own && x.firstFile == "" {
			x.firstFile = u.file(e, dwarf.AttrDeclFile)
		}
		next, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			next, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			break
		}
		own = u.from <= next && next < u.to
		r := u.d.Reader()
		r.Seek(next)
		var err error
		if e, err = r.Next(); err != nil || e == nil {
			break
		}
	}
	if linked != "" {
		x.function = linked
	}
	if x.firstFile == "" || x.firstLine == 0 {
		x.firstFile, x.firstLine = "", 0
	}
	return x
}

func linkageName(e *dwarf.Entry) string {
	for _, attr := range []dwarf.Attr{dwarf.AttrLinkageName, attrMIPSLinkageName} {
		if symbol, ok := e.Val(attr).(string); ok {
			if name, ok := demangled(symbol); ok {
				return name
			}
		}
	}
	return ""
}

// line is what two attributes give together, or nothing.
func (u *compileUnit) line(e *dwarf.Entry, file, line dwarf.Attr) (string, int) {
	if name, n := u.file(e, file), lineOf(e, line); name != "" && n > 0 {
		return name, n
	}
	return "", 0
}

func (u *compileUnit) file(e *dwarf.Entry, attr dwarf.Attr) string {
	n, ok := e.Val(attr).(int64)
	if !ok || n < 0 || n >= int64(len(u.files)) || u.files[n] == nil {
		return ""
	}
	return clean(filepath.Clean(u.files[n].Name))
}

func lineOf(e *dwarf.Entry, attr dwarf.Attr) int {
	n, ok := e.Val(attr).(int64)
	if !ok || n <= 0 || n > maxLine {
		return 0
	}
	return int(n)
}

// maxLine is the largest number of a line that the collector takes.
const maxLine = 1<<31 - 1
