package structure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/analysis/program"
	"moriens/internal/plain"
	"moriens/internal/units"
)

// Room of a plot, in characters.
const (
	plotWidth, plotHeight = 64, 16
	leastPlotWidth        = 24
	plotMargin            = 12 // for the times beside it
)

// logFrom is from which ratio of the largest value to the least an axis is logarithmic.
const logFrom = 50

// leftOutLetter marks points that are in no loop, severalLetter a place at which points of several loops are.
const (
	leftOutLetter = "·"
	severalLetter = "*"
)

// letter names a loop in a plot: A–Z, a–z, then numbers' last digit.
func letter(loop int32) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	if loop == program.LeftOut {
		return leftOutLetter
	}
	return letters[int(loop)%len(letters) : int(loop)%len(letters)+1]
}

// A scale puts values on an axis.
type scale struct {
	least, most float64
	log         bool
	cells       int
}

func scaleOf(values []float64, cells int) scale {
	s := scale{least: slices.Min(values), most: slices.Max(values), cells: cells}
	s.log = s.least > 0 && s.most >= logFrom*s.least
	return s
}

// at is the cell of a value.
func (s *scale) at(v float64) int {
	from, to := s.least, s.most
	if s.log {
		v, from, to = math.Log(v), math.Log(from), math.Log(to)
	}
	if to <= from {
		return s.cells / 2
	}
	return int(math.Round((v - from) / (to - from) * float64(s.cells-1)))
}

// middle is the value in the middle of an axis.
func (s *scale) middle() float64 {
	if s.log {
		return math.Sqrt(s.least * s.most)
	}
	return (s.least + s.most) / 2
}

func (s *scale) kind() string {
	if s.log {
		return ", log"
	}
	return ""
}

// plotText draws the points of the published method: repetitions to the right, the mean time between them upwards. Each
// point is the letter of its loop. Below stand the loops with their call paths.
func plotText(p *program.Plot, width int, name func(path int) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s: a point is a call path on the threads that reach it equally often\n", units.Counted(p.Loops, "loop"), units.Counted(len(p.Points), "point"))
	fmt.Fprintf(&b, "points within %g of each other, or joined by others, are one loop; each axis is scaled to its range (DBSCAN, Eps)\n", p.Eps)
	fmt.Fprintf(&b, "δ: repetitions times the time between them, over the run time; below %g a point is left out\n\n", p.Delta)
	if len(p.Points) > 0 {
		grid(&b, p.Points, width)
		legend(&b, p.Points, name)
	}
	if p.Once > 0 {
		fmt.Fprintf(&b, "note: %s that are reached once have no time between, and no point\n", units.Counted(p.Once, "call path"))
	}
	if p.Joined {
		b.WriteString("note: ranks with other repetitions are one point each, for lack of room in program.json\n")
	}
	if p.Others > 0 {
		fmt.Fprintf(&b, "note: %s that explain less are not kept, for lack of room in program.json\n", units.Counted(p.Others, "point"))
	}
	return b.String()
}

func grid(b *strings.Builder, points []program.Point, width int) {
	columns := plotWidth
	if width > 0 {
		columns = max(leastPlotWidth, min(columns, width-plotMargin-2))
	}
	var xs, ys []float64
	for i := range points {
		xs, ys = append(xs, float64(points[i].Repetitions)), append(ys, points[i].MeanNS)
	}
	x, y := scaleOf(xs, columns), scaleOf(ys, plotHeight)
	cells := make([][]string, plotHeight)
	for i := range cells {
		cells[i] = slices.Repeat([]string{" "}, columns)
	}
	for i := range points {
		cell := &cells[plotHeight-1-y.at(ys[i])][x.at(xs[i])]
		switch mark := letter(points[i].Loop); {
		case *cell == " " || *cell == leftOutLetter:
			*cell = mark
		case mark != leftOutLetter && *cell != mark:
			*cell = severalLetter
		}
	}
	fmt.Fprintf(b, "mean time between repetitions%s\n", y.kind())
	several := false
	for i, row := range cells {
		said := ""
		switch i {
		case plotHeight - 1 - y.at(y.middle()):
			said = units.Duration(y.middle())
		case 0:
			said = units.Duration(y.most)
		case plotHeight - 1:
			said = units.Duration(y.least)
		}
		if y.most <= y.least && i != plotHeight-1-y.at(y.least) {
			said = ""
		}
		several = several || slices.Contains(row, severalLetter)
		fmt.Fprintf(b, "%s\n", strings.TrimRight(fmt.Sprintf("%*s |%s", plotMargin-2, said, strings.Join(row, "")), " "))
	}
	fmt.Fprintf(b, "%s+%s\n", strings.Repeat(" ", plotMargin-1), strings.Repeat("-", columns))
	marks := []byte(strings.Repeat(" ", columns))
	put := func(text string, at int) {
		at = max(0, min(at, columns-len(text)))
		copy(marks[at:], text)
	}
	switch {
	case x.most <= x.least:
		put(units.Integer(int(x.least)), columns/2)
	default:
		put(units.Integer(int(math.Round(x.middle()))), columns/2)
		put(units.Integer(int(x.least)), 0)
		put(units.Integer(int(x.most)), columns)
	}
	fmt.Fprintf(b, "%s\n%srepetitions%s\n\n", strings.TrimRight(strings.Repeat(" ", plotMargin)+string(marks), " "), strings.Repeat(" ", plotMargin), x.kind())
	if several {
		fmt.Fprintf(b, "%s  points of several loops\n", severalLetter)
	}
}

// legend lists the loops with what was called in them.
func legend(b *strings.Builder, points []program.Point, name func(path int) string) {
	byLoop := make(map[int32][]program.Point)
	for _, p := range points {
		byLoop[p.Loop] = append(byLoop[p.Loop], p)
	}
	var loops []int32
	for loop := range byLoop {
		loops = append(loops, loop)
	}
	slices.SortFunc(loops, func(a, b int32) int { // what was left out comes last
		return cmp.Compare(uint32(a), uint32(b))
	})
	for _, loop := range loops {
		of := byLoop[loop]
		slices.SortStableFunc(of, func(a, b program.Point) int { return cmp.Compare(b.Delta, a.Delta) })
		title := fmt.Sprintf("loop %d", loop+1)
		if loop == program.LeftOut {
			title = "left out"
		}
		fmt.Fprintf(b, "%s  %s\n", letter(loop), title)
		for _, p := range of {
			fmt.Fprintf(b, "     %8s x %-10s δ %.3f  %s  %s\n", units.Integer(int(p.Repetitions)), units.Duration(p.MeanNS), p.Delta, plain.Line(name(int(p.Path))), units.Counted(p.Ranks, "thread"))
		}
	}
}

// namesOf names call paths by the MPI calls of a program that they lead to, and the functions that make them: there may
// be no lines.
func namesOf(p *program.Program) func(path int) string {
	of := make(map[int]string)
	program.Walk(p.Body, func(n *program.Node, in []*program.Node) {
		if n.Kind != program.KindMPI {
			return
		}
		name := n.Function
		for _, x := range slices.Backward(in) {
			if x.Kind == program.KindCall {
				name += " in " + x.Function
				break
			}
		}
		if at := place(n); at != "" {
			name += " (" + at + ")"
		}
		for _, path := range n.Paths {
			of[path] = name
		}
	})
	return func(path int) string { return cmp.Or(of[path], fmt.Sprintf("call path %d", path)) }
}
