package picture

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"moriens/internal/mix"
	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/palette"
)

const (
	maxPairs      = 12
	pointRadius   = 1.5
	jitter        = .36 // of a row, either way
	scatterHeight = 560
	pointBytes    = 15 // what a point takes
)

// A Dimension is one axis of the burst space: "duration", a counter, a ratio "A/B" of two, or "IPC".
type Dimension struct {
	Name string
	Log  bool
}

// Scatter draws the bursts in up to two dimensions. With one the other axis is the pair of MPI calls round the burst,
// the points of a pair spread over its row. As many are drawn at most as about so many bytes hold: of every cluster a
// part chosen by a fixed hash, of small clusters more, so that none vanishes. Where several members have the threads it
// is collective, and the first of them writes.
func Scatter(w io.Writer, run *trace.Run, owners team.Threads, dimensions []Dimension, bytes int) error {
	if len(dimensions) == 0 {
		dimensions = []Dimension{{"duration", true}}
	}
	x, err := newAxis(run, dimensions[0])
	if err != nil {
		return err
	}
	var y value
	var rows []string
	if len(dimensions) > 1 {
		a, err := newAxis(run, dimensions[1])
		if err != nil {
			return err
		}
		y = a
	} else {
		p, err := newPairs(run, owners)
		if err != nil {
			return err
		}
		y, rows = p, p.names
	}
	kinds := kindsOf(run)
	points, total, lacking, err := sample(run, owners, x, y, max(1, bytes/pointBytes))
	if err != nil {
		return err
	}
	entries, err := shares(run, owners, false)
	if err != nil || owners.Rank() != 0 {
		return err
	}
	p := plot.New()
	style(p)
	x.label(&p.X)
	points.extent(p)
	if a, ok := y.(*axis); ok {
		a.label(&p.Y)
	} else {
		labelRows(p, rows)
	}
	drawn := 0
	for _, l := range points {
		drawn += len(l.xy)
	}
	s := newSheet(max(scatterHeight, legendHeight(entries)), title(run)+": burst space", caption(drawn, total, lacking, points.variants(kinds)))
	if total == 0 {
		s.blank("no bursts")
		return s.write(w)
	}
	p.Add(gridLines{x: x.ticks(), y: p.Y.Tick.Marker}, dotted{points, kinds})
	p.Draw(s.plotArea())
	s.legend("share of computing time", entries)
	return s.write(w)
}

func caption(drawn, total, lacking int, variants bool) string {
	var parts []string
	if drawn < total {
		parts = append(parts, fmt.Sprintf("%s of %s bursts drawn, of small clusters a larger part.", units.Integer(drawn), units.Integer(total)))
	} else {
		parts = append(parts, fmt.Sprintf("%s %s.", units.Integer(total), units.Plural(total, "burst")))
	}
	if lacking > 0 {
		parts = append(parts, fmt.Sprintf("Without a place on these axes, for lack of a counter or being zero: %s.", units.Integer(lacking)))
	}
	if variants {
		parts = append(parts, "Colours are those of kinds; variants are hollow.")
	}
	return strings.Join(parts, " ")
}

// A value gives a burst its place on an axis, if it has one.
type value interface {
	has(t *trace.Thread, burst int) bool
	of(t *trace.Thread, thread, burst int) float64
}

type axis struct {
	dimension Dimension
	unit      string
	numerator int // a counter or burstDuration
	divisor   int // likewise, or noQuantity
}

// In the place of a counter's index.
const (
	noQuantity    = -1
	burstDuration = -2
)

func newAxis(run *trace.Run, d Dimension) (*axis, error) {
	name := d.Name
	if name == "IPC" {
		name = "PAPI_TOT_INS/PAPI_TOT_CYC"
	}
	column := func(name string) int {
		if name == "duration" {
			return burstDuration
		}
		return slices.IndexFunc(run.Counters, func(c trace.Counter) bool { return c.Name == name })
	}
	a := &axis{dimension: d, numerator: column(name), divisor: noQuantity}
	if a.numerator == burstDuration {
		a.unit = "s"
	}
	if over, under, ok := strings.Cut(name, "/"); ok && a.numerator == noQuantity {
		a.numerator, a.divisor = column(over), column(under)
		if a.divisor == noQuantity {
			a.numerator = noQuantity
		}
	}
	if a.numerator == noQuantity {
		return nil, fmt.Errorf("dimension %s: the run has no such counter", d.Name)
	}
	return a, nil
}

// count is not ok where the burst has no such quantity. Durations are nanoseconds.
func count(t *trace.Thread, quantity, burst int) (n int64, ok bool) {
	if quantity == burstDuration {
		return t.Bursts.DurationNS[burst], true
	}
	n = t.Bursts.Counters[quantity][burst]
	return n, n != trace.NoCount
}

// has is false where a counter was not read, and where the value has no logarithm.
func (a *axis) has(t *trace.Thread, burst int) bool {
	n, ok := count(t, a.numerator, burst)
	if a.divisor != noQuantity {
		divisor, counted := count(t, a.divisor, burst)
		ok = ok && counted && divisor != 0
		if divisor < 0 {
			n = -n
		}
	}
	return ok && (!a.dimension.Log || n > 0)
}

func (a *axis) of(t *trace.Thread, _, burst int) float64 {
	n, _ := count(t, a.numerator, burst)
	v := float64(n)
	if a.divisor != noQuantity {
		n, _ := count(t, a.divisor, burst)
		v /= float64(n)
	} else if a.numerator == burstDuration {
		v /= 1e9
	}
	if a.dimension.Log {
		v = math.Log10(v)
	}
	return v
}

func (a *axis) ticks() plot.Ticker {
	if a.dimension.Log {
		return logTicks{a.unit}
	}
	return linTicks{a.unit}
}

func (a *axis) label(p *plot.Axis) {
	name := a.dimension.Name
	if name == "duration" {
		name = "duration of the burst"
	}
	if a.dimension.Log {
		name += " (logarithmic)"
	}
	p.Label.Text = name
	p.Tick.Marker = a.ticks()
}

// lot is a burst's, the same in every picture.
func lot(thread, burst int) uint64 { return mix.Bits(uint64(thread)<<32 ^ uint64(burst)) }

type xy struct{ x, y float64 }

// A layer is the points of one label.
type layer struct {
	label int32
	xy    []xy
}

// A cloud is drawn layer by layer: what is in no cluster first, then clusters from the largest to the smallest.
type cloud []layer

// sample draws points, the same ones at all members.
func sample(run *trace.Run, owners team.Threads, x, y value, most int) (points cloud, total, lacking int, err error) {
	const first = trace.LabelMissing
	counts, err := countLabels(run, owners)
	if err != nil {
		return nil, 0, 0, err
	}
	for _, n := range counts {
		total += n
	}
	limits := quotas(counts, most)
	list := make([]threadDots, len(run.Threads))
	without := []int64{0}
	for i := range run.Threads {
		t, d := &run.Threads[i], &list[i]
		for k, label := range t.Bursts.Cluster {
			place := label - first
			if !x.has(t, k) || !y.has(t, k) {
				without[0]++
			} else if limits[place] == math.MaxUint64 || lot(i, k) < limits[place] {
				d.label, d.xy = append(d.label, label), append(d.xy, x.of(t, i, k), y.of(t, i, k))
			}
		}
	}
	if err := owners.AllReduce(without, team.Sum); err != nil {
		return nil, 0, 0, err
	}
	if err := shareDots(owners, list); err != nil {
		return nil, 0, 0, err
	}
	points = make(cloud, len(counts))
	for i := range points {
		points[i].label = int32(i) + first
	}
	for _, d := range list {
		for k, label := range d.label {
			l := &points[label-first]
			l.xy = append(l.xy, xy{d.xy[2*k], d.xy[2*k+1]})
		}
	}
	lacking = int(without[0])
	return points, total - lacking, lacking, nil
}

// countLabels says how many bursts there are of each label, from LabelMissing on.
func countLabels(run *trace.Run, owners team.Threads) ([]int, error) {
	const first = trace.LabelMissing
	highest := []int64{0}
	for i := range run.Threads {
		for _, label := range run.Threads[i].Bursts.Cluster {
			highest[0] = max(highest[0], int64(label))
		}
	}
	if err := owners.AllReduce(highest, team.Max); err != nil {
		return nil, err
	}
	counts := make([]int64, highest[0]-int64(first)+1)
	for i := range run.Threads {
		for _, label := range run.Threads[i].Bursts.Cluster {
			counts[label-first]++
		}
	}
	if err := owners.AllReduce(counts, team.Sum); err != nil {
		return nil, err
	}
	list := make([]int, len(counts))
	for i, n := range counts {
		list[i] = int(n)
	}
	return list, nil
}

// threadDots are points of a thread: label, and place in two numbers.
type threadDots struct {
	label []int32
	xy    []float64
}

// shareDots gives each member the points of all threads.
func shareDots(owners team.Threads, list []threadDots) error {
	labels, places := make([][]int32, len(list)), make([][]float64, len(list))
	for i := range list {
		labels[i], places[i] = list[i].label, list[i].xy
	}
	labels, err := team.ByThread(owners, labels)
	if err != nil {
		return err
	}
	if places, err = team.ByThread(owners, places); err != nil {
		return err
	}
	for i := range list {
		list[i] = threadDots{labels[i], places[i]}
	}
	return nil
}

// quotas shares points out among labels: up to 100 bursts of each, the rest by the root of their number. It returns
// for each label the hash below which a burst is drawn.
func quotas(counts []int, points int) []uint64 {
	most := float64(points)
	limits := make([]uint64, len(counts))
	total, labels := 0, 0
	for _, n := range counts {
		total += n
		labels += min(n, 1)
	}
	least := math.Min(100, most/2/math.Max(float64(labels), 1))
	scale := math.Inf(1)
	if total > points {
		// The largest scale at which sum(min(n, least + scale·√n)) is at most points.
		lo, hi := 0.0, most
		for range 60 {
			scale = (lo + hi) / 2
			sum := 0.0
			for _, n := range counts {
				sum += math.Min(float64(n), least+scale*math.Sqrt(float64(n)))
			}
			if sum > most*.98 {
				hi = scale
			} else {
				lo = scale
			}
		}
	}
	for i, n := range counts {
		limits[i] = math.MaxUint64
		if part := (least + scale*math.Sqrt(float64(n))) / float64(n); n > 0 && part < 1 {
			limits[i] = uint64(part * (1 << 63) * 2)
		}
	}
	return limits
}

// extent gives the axes the range of the points and a little more.
func (c cloud) extent(p *plot.Plot) {
	p.X.Min, p.X.Max = math.Inf(1), math.Inf(-1)
	p.Y.Min, p.Y.Max = math.Inf(1), math.Inf(-1)
	for _, l := range c {
		for _, v := range l.xy {
			p.X.Min, p.X.Max = math.Min(p.X.Min, v.x), math.Max(p.X.Max, v.x)
			p.Y.Min, p.Y.Max = math.Min(p.Y.Min, v.y), math.Max(p.Y.Max, v.y)
		}
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		if a.Min > a.Max {
			a.Min, a.Max = 0, 1
		}
		pad := (a.Max - a.Min) * .03
		if pad == 0 {
			pad = math.Max(math.Abs(a.Max)*.05, .05)
		}
		a.Min -= pad
		a.Max += pad
	}
}

// variants reports whether there are points of clusters that are variants of others.
func (c cloud) variants(k kinds) bool {
	return slices.ContainsFunc(c, func(l layer) bool { return len(l.xy) > 0 && k.variant(l.label) })
}

// A dotted is a cloud in the colours of its kinds.
type dotted struct {
	cloud
	kinds kinds
}

// Plot draws a label's points as one path: a fifth of the size of one element a point. Those of variants are hollow:
// compact makes white ones smaller.
func (c dotted) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	order := make([]int, 0, len(c.cloud))
	for label := int32(0); label >= trace.LabelMissing; label-- {
		order = append(order, int(label-trace.LabelMissing))
	}
	for i := len(order); i < len(c.cloud); i++ {
		order = append(order, i)
	}
	for _, i := range order {
		l := &c.cloud[i]
		if len(l.xy) == 0 {
			continue
		}
		rgb := colourOf(c.kinds.of(l.label))
		var path vg.Path
		for _, v := range l.xy {
			at := vg.Point{X: tenth(x(v.x)), Y: tenth(y(v.y))}
			path.Move(vg.Point{X: at.X + pointRadius, Y: at.Y})
			path.Arc(at, pointRadius, 0, 2*math.Pi)
		}
		canvas.SetColor(color.NRGBA{rgb.R, rgb.G, rgb.B, 0xff})
		canvas.Fill(path)
		if c.kinds.variant(l.label) {
			canvas.SetColor(palette.Background)
			canvas.Fill(path)
		}
	}
}

func tenth(l vg.Length) vg.Length { return vg.Length(math.Round(float64(l)*10) / 10) }

// gridLines are lines at the labelled ticks of both axes.
type gridLines struct{ x, y plot.Ticker }

func (g gridLines) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := draw.LineStyle{Color: grid, Width: .75}
	for _, t := range g.x.Ticks(p.X.Min, p.X.Max) {
		if at := x(t.Value); t.Label != "" && at >= c.Min.X && at <= c.Max.X {
			c.StrokeLine2(line, at, c.Min.Y, at, c.Max.Y)
		}
	}
	for _, t := range g.y.Ticks(p.Y.Min, p.Y.Max) {
		if at := y(t.Value); t.Label != "" && at >= c.Min.Y && at <= c.Max.Y {
			c.StrokeLine2(line, c.Min.X, at, c.Max.X, at)
		}
	}
}
