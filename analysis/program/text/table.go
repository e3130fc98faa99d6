package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"moriens/analysis/program"
)

const (
	gap        = 2
	leastCode  = 20 // of the pseudocode, however narrow the terminal is
	roomyCode  = 48 // that it has before figures that nobody asked for are left out
	leastName  = 8
	mostPlaces = 4 // what part of the width places take, 1 / mostPlaces
)

// A layout is how wide the parts of lines are.
type layout struct {
	id, place, code, source int
	whole                   bool // the pseudocode has all the room it wants
	deepest                 int  // depth of a line
}

// dispensable are the usual columns that are left out first where there is no room.
var dispensable = []string{"cluster", "bytes", "mean", "share"}

// writeRows prints lines: number, place, pseudocode, figures, source. It reports which columns are left out, and
// whether some lines have the number of their depth.
func writeRows(b *strings.Builder, rows []row, columns []Column, o Options) (left []string, numbered bool) {
	tails := tailsOf(rows)
	places, sources := make([]string, len(rows)), make([]string, len(rows))
	l := layout{place: width("FILE:LINE"), code: width("PSEUDOCODE")}
	for i, r := range rows {
		places[i] = placed(r.node, tails)
		if o.Source != nil && r.node != nil && r.node.File != "" && r.node.Line > 0 {
			sources[i] = o.Source(r.node.File, r.node.Line)
		}
		if o.IDs && r.node != nil {
			l.id = max(l.id, width(fmt.Sprint(r.node.ID)))
		}
		l.deepest = max(l.deepest, r.depth)
		l.place, l.code, l.source = max(l.place, width(places[i])), max(l.code, 2*r.depth+width(r.code())), max(l.source, width(sources[i]))
	}
	wanted := l
	cells, widths, used := cellsOf(rows, columns, o.NS)
	l.fit(o.Width, used)
	for o.Columns == nil && l.code < min(wanted.code, roomyCode) && len(left) < len(dispensable) {
		left = append(left, dispensable[len(left)])
		columns = slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return c.Name == left[len(left)-1] })
		cells, widths, used = cellsOf(rows, columns, o.NS)
		l = wanted
		l.fit(o.Width, used)
	}
	l.whole = l.code == wanted.code
	for i := range rows {
		if i == 0 {
			l.write(b, "", "FILE:LINE", "PSEUDOCODE", headOf(columns, widths), "")
		}
		id := ""
		if rows[i].node != nil {
			id = fmt.Sprint(rows[i].node.ID)
		}
		l.write(b, id, Middle(places[i], l.place), rows[i].fit(&l), cells[i], sources[i])
	}
	return left, strings.Contains(l.indented(l.deepest), "|")
}

// fit makes lines with figures that take so much room as wide as they may be.
func (l *layout) fit(all, figures int) {
	if all == 0 {
		return
	}
	l.place = min(l.place, max(all/mostPlaces, leastName))
	left := all - l.place - gap - figures
	if l.id > 0 {
		left -= l.id + gap
	}
	if l.source > 0 {
		l.source = min(l.source, max(left/2, leastCode))
		left -= l.source + gap
	}
	l.code = min(l.code, max(left, leastCode))
}

func (l *layout) write(b *strings.Builder, id, place, code, cells, source string) {
	line := padded(place, l.place+gap) + padded(code, l.code) + cells
	if l.id > 0 {
		line = strings.Repeat(" ", max(0, l.id-width(id))) + id + strings.Repeat(" ", gap) + line
	}
	if source != "" {
		r := []rune(source)
		if len(r) > l.source {
			r = append(r[:max(l.source-1, 0)], '…')
		}
		line += strings.Repeat(" ", gap) + string(r)
	}
	b.WriteString(strings.TrimRight(line, " "))
	b.WriteByte('\n')
}

func padded(text string, to int) string { return text + strings.Repeat(" ", max(0, to-width(text))) }

// indented is how lines of a depth begin. Where there is room levels are two columns apart, else one; lines that are
// too deep for that have the number of their depth.
func (l *layout) indented(depth int) string {
	half := l.code / 2
	switch deepest := l.deepest; {
	case l.whole || 2*deepest <= half:
		return strings.Repeat(" ", 2*depth)
	case deepest <= half:
		return strings.Repeat(" ", depth)
	}
	number := fmt.Sprintf("|%d ", depth)
	most := max(half-width(fmt.Sprintf("|%d ", l.deepest)), 0)
	if depth <= most {
		return strings.Repeat(" ", depth)
	}
	return strings.Repeat(" ", most) + number
}

// fit is the pseudocode of a row, whose name and arguments are shortened where it is too wide. Trips, conditions and
// names of MPI functions never are.
func (r *row) fit(l *layout) string {
	indent := l.indented(r.depth)
	name, arguments := r.name, r.arguments
	parts := []*string{&name, &arguments}
	if r.node != nil && r.node.Kind == program.KindMPI {
		parts = parts[1:]
	}
	for _, part := range parts {
		if over := width(indent+r.before+name+arguments+r.after) - l.code; over > 0 && *part != "" {
			*part = Middle(*part, max(width(*part)-over, min(width(*part), leastName)))
		}
	}
	return indent + r.before + name + arguments + r.after
}

// cellsOf are the figures of rows, aligned, of a program with so much time; used is how wide they are.
func cellsOf(rows []row, columns []Column, ns int64) (cells []string, widths []int, used int) {
	texts := make([][]string, len(rows))
	widths = make([]int, len(columns))
	for k, c := range columns {
		widths[k] = width(c.head)
	}
	for i := range rows {
		f := rows[i].figures(cmp.Or(ns, rows[0].ns))
		for k, c := range columns {
			text := c.cell(f)
			texts[i] = append(texts[i], text)
			widths[k] = max(widths[k], width(text))
		}
	}
	for _, line := range texts {
		cells = append(cells, aligned(line, widths))
	}
	for _, w := range widths {
		used += gap + w
	}
	return cells, widths, used
}

func headOf(columns []Column, widths []int) string {
	var heads []string
	for _, c := range columns {
		heads = append(heads, c.head)
	}
	return aligned(heads, widths)
}

func aligned(cells []string, widths []int) string {
	var b strings.Builder
	for k, text := range cells {
		b.WriteString(strings.Repeat(" ", gap+widths[k]-width(text)) + text)
	}
	return b.String()
}
