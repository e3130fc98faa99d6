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

	"moriens/trace"
)

const (
	maxPoints     = 20_000
	maxPairs      = 12
	pointRadius   = 1.5
	jitter        = .36 // of a row, either way
	scatterHeight = 560
)

// A Dimension is one axis of the burst space: "duration", a counter, a ratio "A/B" of two, or "IPC".
type Dimension struct {
	Name string
	Log  bool
}

// Scatter draws the bursts in up to two dimensions. With one the other axis is the pair of MPI calls round the burst,
// the points of a pair spread over its row. At most 20,000 are drawn: of every cluster a part chosen by a fixed hash, of
// small clusters more, so that none vanishes.
func Scatter(w io.Writer, run *trace.Run, dimensions []Dimension) error {
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
		p := newPairs(run)
		y, rows = p, p.names
	}
	points, total, lacking := sample(run, x, y)
	p := plot.New()
	style(p)
	x.label(&p.X)
	points.extent(p)
	if a, ok := y.(*axis); ok {
		a.label(&p.Y)
	} else {
		labelRows(p, rows)
	}
	entries := shares(run, false)
	drawn := 0
	for _, l := range points {
		drawn += len(l.xy)
	}
	s := newSheet(max(scatterHeight, legendHeight(entries)), title(run)+": burst space", caption(drawn, total, lacking))
	if total == 0 {
		s.blank("no bursts")
		return s.write(w)
	}
	p.Add(gridLines{x: x.ticks(), y: p.Y.Tick.Marker}, points)
	p.Draw(s.plotArea())
	s.legend("share of computing time", entries)
	return s.write(w)
}

func caption(drawn, total, lacking int) string {
	var parts []string
	switch {
	case drawn < total:
		parts = append(parts, fmt.Sprintf("%s of %s bursts drawn, of small clusters a larger part.", thousands(drawn), thousands(total)))
	case total != 1:
		parts = append(parts, fmt.Sprintf("%s bursts.", thousands(total)))
	default:
		parts = append(parts, "1 burst.")
	}
	if lacking > 0 {
		parts = append(parts, fmt.Sprintf("Without a place on these axes, for lack of a counter or being zero: %s.", thousands(lacking)))
	}
	return strings.Join(parts, " ")
}

// A value gives a burst its place on an axis.
type value interface {
	of(t *trace.Thread, thread, burst int) (v float64, ok bool)
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

func (a *axis) of(t *trace.Thread, _, burst int) (float64, bool) {
	n, ok := count(t, a.numerator, burst)
	v := float64(n)
	if a.divisor != noQuantity {
		n, counted := count(t, a.divisor, burst)
		ok = ok && counted && n != 0
		v /= float64(n)
	} else if a.numerator == burstDuration {
		v /= 1e9
	}
	if a.dimension.Log {
		v = math.Log10(v)
	}
	return v, ok && !math.IsNaN(v) && !math.IsInf(v, 0)
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

// mix spreads the bits of a burst's place evenly (the finaliser of splitmix64, Steele et al., OOPSLA'14).
func mix(thread, burst int) uint64 {
	z := uint64(thread)<<32 ^ uint64(burst)
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

type xy struct{ x, y float64 }

// A layer is the points of one label.
type layer struct {
	label int32
	xy    []xy
}

// A cloud is drawn layer by layer: what is in no cluster first, then clusters from the largest to the smallest.
type cloud []layer

func sample(run *trace.Run, x, y value) (points cloud, total, lacking int) {
	const first = trace.LabelMissing
	counts := make([]int, 1-first)
	for i := range run.Threads {
		for _, label := range run.Threads[i].Bursts.Cluster {
			for int(label-first) >= len(counts) {
				counts = append(counts, 0)
			}
			counts[label-first]++
			total++
		}
	}
	limits := quotas(counts)
	points = make(cloud, len(counts))
	for i := range points {
		points[i].label = int32(i) + first
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		for k, label := range t.Bursts.Cluster {
			place := label - first
			vx, okX := x.of(t, i, k)
			vy, okY := y.of(t, i, k)
			if !okX || !okY {
				lacking++
			} else if limits[place] == math.MaxUint64 || mix(i, k) < limits[place] {
				points[place].xy = append(points[place].xy, xy{vx, vy})
			}
		}
	}
	return points, total - lacking, lacking
}

// quotas shares maxPoints out among labels: up to 100 bursts of each, the rest by the root of their number. It returns
// for each label the hash below which a burst is drawn.
func quotas(counts []int) []uint64 {
	limits := make([]uint64, len(counts))
	total, labels := 0, 0
	for _, n := range counts {
		total += n
		labels += min(n, 1)
	}
	least := math.Min(100, maxPoints/2/math.Max(float64(labels), 1))
	scale := math.Inf(1)
	if total > maxPoints {
		// The largest scale at which sum(min(n, least + scale·√n)) stays within maxPoints.
		lo, hi := 0.0, float64(maxPoints)
		for range 60 {
			scale = (lo + hi) / 2
			sum := 0.0
			for _, n := range counts {
				sum += math.Min(float64(n), least+scale*math.Sqrt(float64(n)))
			}
			if sum > maxPoints*.98 {
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

// Plot draws a label's points as one path: a fifth of the size of one element a point.
func (c cloud) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	order := make([]int, 0, len(c))
	for label := int32(0); label >= trace.LabelMissing; label-- {
		order = append(order, int(label-trace.LabelMissing))
	}
	for i := len(order); i < len(c); i++ {
		order = append(order, i)
	}
	for _, i := range order {
		if len(c[i].xy) == 0 {
			continue
		}
		rgb := colourOf(c[i].label)
		var path vg.Path
		for _, v := range c[i].xy {
			at := vg.Point{X: tenth(x(v.x)), Y: tenth(y(v.y))}
			path.Move(vg.Point{X: at.X + pointRadius, Y: at.Y})
			path.Arc(at, pointRadius, 0, 2*math.Pi)
		}
		canvas.SetColor(color.NRGBA{rgb.R, rgb.G, rgb.B, 0xff})
		canvas.Fill(path)
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
