package picture

import (
	"fmt"
	"image/color"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"moriens/trace"
	"moriens/trace/palette"
)

const (
	maxRows   = 128
	maxBins   = 2000
	minBins   = 250
	allBins   = 40_000 // of a picture
	minLabel  = 11     // points of height between two labels
	rowGap    = .12    // of a row, either side, where rows are thick
	thinRow   = 6      // points
	maxLabels = 64

	minRowPoints, maxRowPoints = 4.5, 36
	axisPoints                 = 44 // the time axis with its labels
)

// Timeline draws the threads over time. Time is cut into equal bins, at most 2,000; a bin shows one
// of the clusters, noise or MPI in it, in proportion along the row. Of more than 128 threads 128 are drawn, evenly chosen.
func Timeline(w io.Writer, run *trace.Run) error {
	rows := chooseRows(run)
	n := max(len(rows), 1)
	bins := min(maxBins, max(minBins, allBins/n))
	entries := shares(run, true)
	rowPoints := min(maxRowPoints, max(minRowPoints, 480/float64(n)))
	plotHeight := vg.Length(rowPoints*float64(n)) + axisPoints
	height := max(plotHeight+titleHeight+footHeight+margin, legendHeight(entries))
	endNS := max(run.DurationNS, 1)

	p := plot.New()
	style(p)
	p.X.Min, p.X.Max = 0, float64(endNS)/1e9
	p.X.Label.Text = timeLabel(run)
	p.X.Tick.Marker = linTicks{"s"}
	p.Y.Min, p.Y.Max = -.5, float64(n)-.5
	p.Y.Tick.Length = 0
	p.Y.Tick.Marker, p.Y.Label.Text = labelThreads(run, rows, rowPoints)
	l := &lanes{run: run, rows: rows, bins: bins, endNS: endNS, gap: rowGap}
	if rowPoints < thinRow {
		l.gap = 0
	}
	p.Add(l)

	text := fmt.Sprintf("A bin of %s shows one of what is in it, in proportion along the row.", quantity(float64(endNS)/float64(bins)/1e9, "s"))
	if len(rows) < len(run.Threads) {
		text += fmt.Sprintf(" %d of %s rows drawn, evenly chosen.", len(rows), thousands(len(run.Threads)))
	}
	if slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return len(t.Pauses) > 0 }) {
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

// timeLabel says what time 0 is: of a job that was measured the first call's entry, of a trace that was read what its writer took.
func timeLabel(run *trace.Run) string {
	measured := len(run.Threads) == 0
	for i := range run.Threads {
		calls := &run.Threads[i].Calls
		measured = measured || calls.Len() > 0 && calls.EnterNS[0] == 0
	}
	if measured {
		return "time since the first MPI_Init"
	}
	return "time since the begin of the trace"
}

func chooseRows(run *trace.Run) []int {
	n := len(run.Threads)
	rows := make([]int, min(n, maxRows))
	for i := range rows {
		rows[i] = i
		if n > maxRows {
			rows[i] = i * (n - 1) / (maxRows - 1)
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
	run   *trace.Run
	rows  []int
	bins  int
	endNS int64
	gap   float64 // between rows, of a row, either side
}

// nothing and inMPI stand for what is no burst; labels of bursts lie above.
const (
	nothing int32 = -100
	inMPI   int32 = -99
)

// Plot draws every colour as one path of boxes, the light ground of MPI first.
func (l *lanes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	paths := make(map[int32]*vg.Path)
	seconds := func(bin int) float64 { return float64(l.endNS) / 1e9 * float64(bin) / float64(l.bins) }
	box := func(label int32, row, from, to int) {
		path := paths[label]
		if path == nil {
			path = new(vg.Path)
			paths[label] = path
		}
		left, right := tenth(x(seconds(from))), tenth(x(seconds(to)))
		low, high := tenth(y(float64(row)-.5+l.gap)), tenth(y(float64(row)+.5-l.gap))
		path.Move(vg.Point{X: left, Y: low})
		path.Line(vg.Point{X: right, Y: low})
		path.Line(vg.Point{X: right, Y: high})
		path.Line(vg.Point{X: left, Y: high})
		path.Close()
	}
	for i, thread := range l.rows {
		row := len(l.rows) - 1 - i
		labels := l.shown(&l.run.Threads[thread])
		for from := 0; from < len(labels); {
			to := from + 1
			for to < len(labels) && labels[to] == labels[from] {
				to++
			}
			if labels[from] != nothing {
				box(labels[from], row, from, to)
			}
			from = to
		}
	}
	order := make([]int32, 0, len(paths))
	for label := range paths {
		order = append(order, label)
	}
	slices.Sort(order)
	for _, label := range order {
		rgb := palette.MPI
		if label != inMPI {
			rgb = colourOf(label)
		}
		c.SetColor(color.NRGBA{rgb.R, rgb.G, rgb.B, 0xff})
		c.Fill(*paths[label])
	}
}

// shown chooses for each bin one of the labels in it, so that along the row each label has the share of the
// picture that it has of the time: what a bin does not show is owed to its label in the bins that follow
// (error diffusion). Were the most time in a bin to decide, a cluster of short bursts between long MPI calls
// would not be seen at all.
func (l *lanes) shown(t *trace.Thread) []int32 {
	b := binner{bins: l.bins, endNS: l.endNS, labels: make([]int32, l.bins)}
	for i := range b.labels {
		b.labels[i] = nothing
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
			b.labels[bin] = chosen
			owed[chosen] -= total
		}
		clear(sums)
	}
	add := func(label int32, fromNS, toNS int64) {
		for fromNS < toNS {
			at := b.of(fromNS)
			if at != bin {
				flush()
				bin = at
			}
			end := min(toNS, b.edge(at+1))
			if end <= fromNS {
				end = toNS // beyond the last bin
			}
			sums[label] += end - fromNS
			fromNS = end
		}
	}
	call, burst := 0, 0
	for call < t.Calls.Len() || burst < t.Bursts.Len() {
		if burst == t.Bursts.Len() || call < t.Calls.Len() && t.Calls.EnterNS[call] <= t.Bursts.StartNS[burst] {
			add(inMPI, t.Calls.EnterNS[call], t.Calls.ExitNS[call])
			call++
			continue
		}
		start := t.Bursts.StartNS[burst]
		add(t.Bursts.Cluster[burst], start, start+t.Bursts.DurationNS[burst])
		burst++
	}
	flush()
	return b.labels
}

type binner struct {
	bins   int
	endNS  int64
	labels []int32
}

// edge is the first nanosecond of a bin. The quotient and the rest are taken apart because the product may overflow.
func (b *binner) edge(bin int) int64 {
	n := int64(b.bins)
	return b.endNS/n*int64(bin) + b.endNS%n*int64(bin)/n
}

// of is the bin of a time.
func (b *binner) of(ns int64) int {
	bin := min(b.bins-1, max(0, int(float64(ns)/float64(b.endNS)*float64(b.bins))))
	for bin > 0 && ns < b.edge(bin) {
		bin--
	}
	for bin < b.bins-1 && ns >= b.edge(bin+1) {
		bin++
	}
	return bin
}
