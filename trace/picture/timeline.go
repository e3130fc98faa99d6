package picture

import (
	"fmt"
	"image"
	"image/color"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/overview"
	"moriens/trace/palette"
)

const (
	maxRows   = 128
	maxBins   = 2000
	minBins   = 250
	binBytes  = .6  // what a bin of a row takes, about
	minLabel  = 11  // points of height between two labels
	rowGap    = .12 // of a row, either side, where rows are thick
	thinRow   = 6   // points
	maxLabels = 64

	minRowPoints, maxRowPoints = 4.5, 36
	// Pixels of height of a row: so many that the gap hides where those of two rows blur, as they do when they are drawn
	// larger than they are.
	thinRowPixels, rowPixels = 2, 8
	axisPoints               = 44  // the time axis with its labels
	hatchColumns             = 800 // a hatching line for every four
)

// Timeline draws the threads over time. Time is cut into equal bins, at most 2,000 and otherwise as many as about so
// many bytes hold, but 250 at least; a bin shows one of the clusters, noise or MPI in it, in proportion along the row.
// Of more than 128 threads 128 are drawn, evenly chosen. Where several members have the threads it is collective, and
// the first of them writes.
func Timeline(w io.Writer, run *trace.Run, owners team.Threads, bytes int) error {
	rows := chooseRows(run)
	n := max(len(rows), 1)
	bins := min(maxBins, max(minBins, int(float64(bytes)/binBytes)/n))
	endNS := max(run.DurationNS, 1)
	l := &lanes{rows: rows, bins: bins, endNS: endNS, pixels: rowPixels, kinds: kindsOf(run)}
	entries, err := shares(run, owners, true)
	if err != nil {
		return err
	}
	atZero, err := team.Any(owners, slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return t.Calls.Len() > 0 && t.Calls.EnterNS[0] == 0 }))
	if err != nil {
		return err
	}
	lost, err := team.Any(owners, slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return len(t.Lost) > 0 }))
	if err != nil {
		return err
	}
	if lost {
		entries = append(entries, entry{colour: palette.Lost, name: "lost: MPI calls for"}, entry{colour: palette.Background, name: "which there was no room"})
	}
	paused, err := team.Any(owners, slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return len(t.Pauses) > 0 }))
	if err != nil {
		return err
	}
	if err := l.show(run, owners); err != nil || owners.Rank() != 0 {
		return err
	}
	rowPoints := min(maxRowPoints, max(minRowPoints, 480/float64(n)))
	plotHeight := vg.Length(rowPoints*float64(n)) + axisPoints
	height := max(plotHeight+titleHeight+footHeight+margin, legendHeight(entries))

	p := plot.New()
	style(p)
	p.X.Min, p.X.Max = 0, float64(endNS)/1e9
	p.X.Label.Text = timeLabel(len(run.Threads) == 0 || atZero)
	p.X.Tick.Marker = linTicks{"s"}
	p.Y.Min, p.Y.Max = -.5, float64(n)-.5
	p.Y.Tick.Length = 0
	p.Y.Tick.Marker, p.Y.Label.Text = labelThreads(run, rows, rowPoints)
	if rowPoints < thinRow {
		l.pixels = thinRowPixels
	}
	p.Add(l)

	text := fmt.Sprintf("A bin of %s shows one of what is in it, in proportion along the row.", quantity(float64(endNS)/float64(bins)/1e9, "s"))
	if len(rows) < len(run.Threads) {
		text += fmt.Sprintf(" %d of %s rows drawn, evenly chosen.", len(rows), units.Integer(len(run.Threads)))
	}
	if l.variants() {
		text += " Colours are those of kinds; variants are hatched in white."
	}
	if lost {
		text += " Hatched: MPI calls were lost, there was no room for them."
	}
	if paused {
		text += " Nothing is drawn where the program had paused recording."
	}
	s := newSheet(height, title(run)+": ranks over time", text)
	if len(rows) == 0 {
		s = newSheet(height, title(run)+": ranks over time", "")
		s.blank("no thread called MPI")
		return s.write(w)
	}
	// Few rows stay thin, at the top, however long the legend.
	area := s.plotArea()
	area.Min.Y = max(area.Min.Y, area.Max.Y-plotHeight)
	p.Draw(area)
	s.legend("share of computing time", entries)
	return s.write(w)
}

// timeLabel says what time 0 is: of a job that was measured the first call's entry, of a trace that was read what its
// writer took.
func timeLabel(measured bool) string {
	if measured {
		return "time since the first MPI_Init"
	}
	return "time since the begin of the trace"
}

// chooseRows are the threads that are drawn. Those that are known as totals only cannot be.
func chooseRows(run *trace.Run) []int {
	var timed []int
	for i := range run.Threads {
		if !run.Threads[i].Untimed() {
			timed = append(timed, i)
		}
	}
	n := len(timed)
	rows := make([]int, min(n, maxRows))
	for i := range rows {
		rows[i] = timed[i]
		if n > maxRows {
			rows[i] = timed[i*(n-1)/(maxRows-1)]
		}
	}
	return rows
}

// labelThreads names the rows, as many as there is room for; rank 0 is on top.
func labelThreads(run *trace.Run, rows []int, rowPoints float64) (ticks fixedTicks, axisName string) {
	threaded := slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return t.Thread > 0 })
	axisName = "rank"
	if len(run.Worlds) > 1 {
		axisName = "world:rank"
	}
	if threaded {
		axisName += ".thread"
	}
	every := 1
	for float64(every)*rowPoints < minLabel || len(rows)/every > maxLabels {
		every++
	}
	for i := 0; i < len(rows); i += every {
		t := &run.Threads[rows[i]]
		label := fmt.Sprint(t.Rank)
		if len(run.Worlds) > 1 {
			label = fmt.Sprintf("%d:%s", t.World, label)
		}
		if threaded {
			label = fmt.Sprintf("%s.%d", label, t.Thread)
		}
		ticks = append(ticks, plot.Tick{Value: float64(len(rows) - 1 - i), Label: label})
	}
	return ticks, axisName
}

// lanes are the rows of a timeline.
type lanes struct {
	rows   []int // threads
	bins   int
	endNS  int64
	pixels int       // of height of a row
	labels [][]int32 // by row and bin
	kinds  kinds
}

// show chooses the labels of all rows, each at the member that has its thread.
func (l *lanes) show(run *trace.Run, owners team.Threads) error {
	byThread := make([][]int32, len(run.Threads))
	for _, thread := range l.rows {
		if owners.Mine(thread) {
			byThread[thread] = l.shown(&run.Threads[thread])
		}
	}
	byThread, err := team.ByThread(owners, byThread)
	if err != nil {
		return err
	}
	for _, thread := range l.rows {
		l.labels = append(l.labels, byThread[thread])
	}
	return nil
}

// nothing stands for what is neither a burst nor a call; their labels lie above.
const nothing = overview.InMPI - 1

// Plot draws the rows as one image of a pixel a bin: half a byte of it where a box would take twenty.
func (l *lanes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	colours := color.Palette{color.Transparent}
	index := map[int32]uint8{nothing: 0}
	var shown [][]uint8
	for _, labels := range l.labels {
		line := make([]uint8, len(labels))
		for i, label := range labels {
			at, ok := index[label]
			if !ok {
				at = l.colour(label, &colours)
				index[label] = at
			}
			line[i] = at
		}
		shown = append(shown, line)
	}
	img := image.NewPaletted(image.Rect(0, 0, l.bins, len(l.rows)*l.pixels), colours)
	for row, line := range shown {
		for k := range l.pixels {
			copy(img.Pix[(row*l.pixels+k)*img.Stride:], line)
		}
	}
	hatch := func(with palette.Colour, label func(label int32) bool) {
		line := slices.Index(colours, color.Color(with))
		if line < 0 {
			line = len(colours)
			colours = append(colours, with)
			img.Palette = colours
		}
		for i := range img.Pix {
			// Of the same width whatever a bin is.
			if x, y := i%img.Stride*hatchColumns/l.bins, i/img.Stride; (x+y)%4 == 0 && label(l.labels[y/l.pixels][i%img.Stride]) {
				img.Pix[i] = uint8(line)
			}
		}
	}
	if _, ok := index[overview.InLost]; ok {
		hatch(palette.LostLine, func(label int32) bool { return label == overview.InLost })
	}
	if l.variants() {
		hatch(palette.Background, l.kinds.variant)
	}
	left, right := x(0), x(float64(l.endNS)/1e9)
	c.DrawImage(vg.Rectangle{Min: vg.Point{X: left, Y: y(-.5)}, Max: vg.Point{X: right, Y: y(float64(len(l.rows)) - .5)}}, img)
	if l.pixels == thinRowPixels {
		return
	}
	var gaps vg.Path
	for row := range len(l.rows) + 1 {
		bottom, top := tenth(y(float64(row)-.5-rowGap)), tenth(y(float64(row)-.5+rowGap))
		bottom, top = max(bottom, y(-.5)-1), min(top, y(float64(len(l.rows))-.5)+1) // not as far as the axis
		gaps.Move(vg.Point{X: left, Y: bottom})
		gaps.Line(vg.Point{X: right, Y: bottom})
		gaps.Line(vg.Point{X: right, Y: top})
		gaps.Line(vg.Point{X: left, Y: top})
		gaps.Close()
	}
	c.SetColor(palette.Background)
	c.Fill(gaps)
}

// variants reports whether a bin shows a variant.
func (l *lanes) variants() bool {
	return slices.ContainsFunc(l.labels, func(row []int32) bool { return slices.ContainsFunc(row, l.kinds.variant) })
}

// colour finds a label's colour in a palette, or puts it there.
func (l *lanes) colour(label int32, colours *color.Palette) uint8 {
	rgb := palette.MPI
	switch label {
	case overview.InMPI:
	case overview.InLost:
		rgb = palette.Lost
	default:
		rgb = colourOf(l.kinds.of(label))
	}
	at := slices.Index(*colours, color.Color(rgb))
	if at < 0 {
		at = len(*colours)
		*colours = append(*colours, rgb)
	}
	return uint8(at)
}

// shown chooses for each bin one of the labels in it, so that along the row each label has the share of the
// picture that it has of the time: what a bin does not show is owed to its label in the bins that follow
// (error diffusion). Were the most time in a bin to decide, a cluster of short bursts between long MPI calls
// would not be seen at all.
func (l *lanes) shown(t *trace.Thread) []int32 {
	bins := overview.Bins{Count: l.bins, EndNS: l.endNS}
	labels := make([]int32, l.bins)
	for i := range labels {
		labels[i] = nothing
	}
	sums := make(map[int32]int64) // of the bin at work
	owed := make(map[int32]int64)
	bin := 0
	flush := func() {
		chosen, total := nothing, int64(0)
		for label, ns := range sums {
			total += ns
			owed[label] += ns
			if chosen == nothing || owed[label] > owed[chosen] || owed[label] == owed[chosen] && label > chosen {
				chosen = label
			}
		}
		if total > 0 {
			labels[bin] = chosen
			owed[chosen] -= total
		}
		clear(sums)
	}
	bins.Each(t, func(at int, label int32, ns int64) {
		if at != bin {
			flush()
			bin = at
		}
		sums[label] += ns
	})
	flush()
	return labels
}
