package console

import (
	"fmt"
	"math"
	"strconv"
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
func Duration(ns float64) string {
	switch {
	case ns == 0:
		return "0 s"
	case math.Abs(ns) >= 1e12:
		return units.Integer(int(math.Round(ns/1e9))) + " s"
	}
	scale := []struct {
		ns   float64
		name string
	}{{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}
	u := scale[0]
	for _, larger := range scale[1:] {
		if math.Abs(ns) < 0.9995*larger.ns { // what rounds to 1000 of a unit is 1 of the next
			break
		}
		u = larger
	}
	return significant(ns/u.ns) + " " + u.name
}

// significant prints three significant digits, and all digits before the point.
func significant(x float64) string {
	digits := 2
	if x != 0 {
		power := math.Floor(math.Log10(math.Abs(x) * 1.0005)) // 99.96 has three digits when it is rounded
		digits = min(max(2-int(power), 0), 2)
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}
