package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"moriens/app/pairing"
	"moriens/internal/units"
)

const (
	mostLeaves      = 64 // ranks that the dendrogram in text has
	dendrogramWidth = 72 // columns of its tree, without the names of leaves
	mostLeafName    = 24
)

// Ways out of a cell of the picture.
const (
	up = 1 << iota
	down
	left
	right
)

// lines are the characters for the ways out of a cell.
var lines = map[int]rune{
	0: ' ', left: '─', right: '─', left | right: '─', up: '│', down: '│', up | down: '│',
	left | down: '┐', left | up: '┘', right | down: '┌', right | up: '└',
	left | up | down: '┤', right | up | down: '├', left | right | up: '┴', left | right | down: '┬', left | right | up | down: '┼',
}

// writeDendrogram draws the merges, leaves on the left, height to the right on a logarithmic scale.
func (w pairWords) writeDendrogram(b *strings.Builder, form PairsForm) {
	leaves := w.leaves()
	if len(leaves) == 0 {
		return
	}
	fmt.Fprintf(b, "\ndendrogram by T, %s (%s linkage, cophenetic correlation %s)", w.what(), w.Linkage, orDash(float64(w.Cophenetic), func(x float64) string { return fmt.Sprintf("%.2f", x) }))
	if len(leaves) > mostLeaves {
		fmt.Fprintf(b, "\n%s; text has up to %d: --ranks LIST, or view Pairs of the page\n", units.Counted(len(leaves), "rank"), mostLeaves)
		return
	}
	b.WriteString("; ranks that merge further left have more\n")
	d := newDrawing(len(leaves))
	rowOf := make(map[int]float64, 2*len(leaves)) // by cluster: where its line is
	columnOf := make(map[int]int, len(w.Merges))
	names, width := make([]string, len(leaves)), 0
	for i, leaf := range leaves {
		rowOf[leaf] = float64(i)
		names[i] = w.leafName(leaf)
		width = max(width, utf8.RuneCountInString(names[i]))
	}
	scale := w.scale()
	for i, m := range w.Merges {
		at, id := scale.column(float64(m.Height)), len(w.Ranks)+i
		top, bottom := math.Floor(rowOf[m.Left]), math.Floor(rowOf[m.Right])
		d.across(int(top), columnOf[m.Left], at)
		d.across(int(bottom), columnOf[m.Right], at)
		d.upright(int(min(top, bottom)), int(max(top, bottom)), at)
		rowOf[id], columnOf[id] = (rowOf[m.Left]+rowOf[m.Right])/2, at
	}
	pad := strings.Repeat(" ", width+1)
	b.WriteString(scale.head(w, pad))
	for i, name := range names {
		fmt.Fprintf(b, "%s%s %s\n", name, strings.Repeat(" ", width-utf8.RuneCountInString(name)), strings.TrimRight(d.row(i), " "))
	}
}

// leaves are the ranks that merge with any other, in the order of the dendrogram.
func (w pairWords) leaves() []int {
	merges := make([]bool, len(w.Ranks))
	for _, m := range w.Merges {
		for _, id := range [2]int{m.Left, m.Right} {
			if id >= 0 && id < len(merges) {
				merges[id] = true
			}
		}
	}
	var list []int
	for _, r := range w.Order {
		if r >= 0 && r < len(merges) && merges[r] {
			list = append(list, r)
		}
	}
	return list
}

// leafName is a rank, with its node where there are several.
func (w pairWords) leafName(i int) string {
	text := w.Name(i)
	if w.nodes > 1 {
		text += " " + w.node(i)
	}
	return cut(text, mostLeafName)
}

// A heightScale puts heights into columns: 1 for the lowest, the last one for the highest.
type heightScale struct{ low, high float64 }

func (w pairWords) scale() heightScale {
	last := len(w.Merges) - 1
	return heightScale{float64(w.Merges[0].Height), float64(w.Merges[last].Height)}
}

// flat reports whether all heights are about the same.
func (s heightScale) flat() bool { return !(s.high > s.low*1.001) }

func (s heightScale) column(height float64) int {
	if s.flat() {
		return dendrogramWidth / 2
	}
	at := math.Log(min(max(height, s.low), s.high)/s.low) / math.Log(s.high/s.low)
	return 2 + int(math.Round(at*(dendrogramWidth-4)))
}

// head is the scale in T, one over the height.
func (s heightScale) head(w pairWords, pad string) string {
	unit := "s"
	if w.By == pairing.Bytes || w.By == pairing.Messages {
		unit = strings.TrimSuffix(string(w.By), "s")
	}
	if s.flat() {
		return fmt.Sprintf("%sall merge at T = %s, height 1/T = %s per %s\n", pad, w.amount(1/s.low), heightText(s.low), unit)
	}
	first, middle, end := w.amount(1/s.low), w.amount(1/math.Sqrt(s.low*s.high)), w.amount(1/s.high)
	line := []rune(strings.Repeat(" ", dendrogramWidth))
	put := func(at int, text string) {
		for i, r := range []rune(text) {
			if at+i >= 0 && at+i < len(line) {
				line[at+i] = r
			}
		}
	}
	put(0, "T = "+first)
	put(dendrogramWidth/2-len(middle)/2, middle)
	put(dendrogramWidth-utf8.RuneCountInString(end), end)
	return fmt.Sprintf("%s%s\n%sheight 1/T: %s to %s per %s, logarithmic\n", pad, string(line), pad, heightText(s.low), heightText(s.high), unit)
}

// heightText is a height as --height takes it.
func heightText(h float64) string { return strconv.FormatFloat(h, 'g', 4, 64) }

// A drawing has for each cell the ways out of it.
type drawing [][]int

func newDrawing(rows int) drawing {
	d := make(drawing, rows)
	for i := range d {
		d[i] = make([]int, dendrogramWidth)
	}
	return d
}

// across draws a line in a row from one column to another.
func (d drawing) across(row, from, to int) {
	for c := from; c < to; c++ {
		d[row][c] |= right
		d[row][c+1] |= left
	}
}

// upright draws a line in a column from one row to another.
func (d drawing) upright(from, to, column int) {
	for r := from; r < to; r++ {
		d[r][column] |= down
		d[r+1][column] |= up
	}
}

func (d drawing) row(i int) string {
	var b strings.Builder
	for _, ways := range d[i] {
		b.WriteRune(lines[ways])
	}
	return b.String()
}
