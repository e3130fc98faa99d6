package console

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"moriens/internal/units"
)

// A table is rows of cells, each column aligned to one side.
type table struct {
	head []string // may be nil
	rows [][]string
	left []bool // by column: aligned left rather than right
}

func writeTable(b *strings.Builder, t table) {
	rows := t.rows
	if t.head != nil {
		rows = append([][]string{t.head}, rows...)
	}
	width := make([]int, len(t.left))
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if t.left[i] {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
			line.WriteString("  ")
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// Duration prints nanoseconds with three significant digits in the unit that suits.
func Duration(ns float64) string { return units.Duration(ns) }
