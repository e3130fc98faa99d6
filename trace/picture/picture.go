// Package picture draws a run: the burst space (Scatter) and the ranks over time (Timeline), as SVG of a few hundred
// kilobytes to 3 MB at most, however long the run. A trace.Run comes in, with times in nanoseconds; the axes are in the
// SI unit that suits.
//
// The threads of a run may be spread over several members: then drawing is collective, and the first member writes.
//
// Data that is too large to draw is thinned or binned by fixed rules, which the caption states. The package uses no
// randomness and no clock: the same run gives the same bytes.
package picture

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"moriens/internal/plain"
	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/palette"
)

// DefaultBytes is about how many bytes the marks of a picture take, at most, where there is room for them.
const DefaultBytes = 300_000

// Sizes in points of 1/72 inch.
const (
	width        = 960
	legendWidth  = 170
	margin       = 16
	titleHeight  = 30
	footHeight   = 22
	titleSize    = 15
	labelSize    = 11
	tickSize     = 10
	captionSize  = 9
	legendSize   = 10
	legendLine   = 16
	maxLegend    = 22   // clusters; the rest is one line
	shortLegend  = 8    // clusters that are listed however small
	smallShare   = .001 // of computing time: a cluster below it has no line of its own beyond shortLegend
	maxNameRunes = 40
)

var (
	ink   = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	faint = color.NRGBA{0x66, 0x66, 0x66, 0xff}
	grid  = color.NRGBA{0xea, 0xea, 0xea, 0xff}
)

var handler = text.Plain{Fonts: font.DefaultCache}

func face(size float64, bold bool) text.Style {
	f := font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Length(size))
	if bold {
		f.Weight = 2 // golang.org/x/image/font.WeightBold
	}
	return text.Style{Color: ink, Font: f, Handler: handler}
}

// A sheet is the canvas with its title above, the caption below and the legend to the right.
type sheet struct {
	svg *vgsvg.Canvas
	all draw.Canvas
	hi  vg.Length // height
}

func newSheet(height vg.Length, title, caption string) *sheet {
	svg := vgsvg.New(width, height)
	s := &sheet{svg: svg, all: draw.New(svg), hi: height}
	s.all.FillPolygon(palette.Background, []vg.Point{{X: 0, Y: 0}, {X: width, Y: 0}, {X: width, Y: height}, {X: 0, Y: height}})
	st := face(titleSize, true)
	st.YAlign = text.YTop
	s.all.FillText(st, vg.Point{X: margin, Y: height - margin/2}, title)
	st = face(captionSize, false)
	st.Color = faint
	s.all.FillText(st, vg.Point{X: margin, Y: margin / 2}, caption)
	return s
}

// blank says in the middle of the sheet why it shows nothing.
func (s *sheet) blank(why string) {
	st := face(titleSize, false)
	st.Color, st.XAlign, st.YAlign = faint, text.XCenter, text.YCenter
	s.all.FillText(st, vg.Point{X: width / 2, Y: s.hi / 2}, why)
}

// plotArea is where the plot with its axes goes.
func (s *sheet) plotArea() draw.Canvas {
	return draw.Crop(s.all, margin, -legendWidth-margin, footHeight+margin/2, -titleHeight-margin/2)
}

func (s *sheet) write(w io.Writer) error {
	var b bytes.Buffer
	if _, err := s.svg.WriteTo(&b); err != nil {
		return err
	}
	// XML has no place for control characters but these.
	words := strings.Split(string(compact(b.Bytes())), "\t")
	for i := range words {
		words[i] = plain.Lines(words[i])
	}
	_, err := io.WriteString(w, strings.Join(words, "\t"))
	return err
}

// An entry is one line of a legend.
type entry struct {
	colour  palette.Colour
	name    string
	value   string
	variant bool // drawn as variants are
}

func (s *sheet) legend(head string, entries []entry) {
	x := vg.Length(width - legendWidth)
	y := s.hi - titleHeight - margin
	st := face(legendSize, true)
	st.YAlign = text.YCenter
	s.all.FillText(st, vg.Point{X: x, Y: y}, head)
	st = face(legendSize, false)
	st.YAlign = text.YCenter
	right := st
	right.XAlign = text.XRight
	for _, e := range entries {
		y -= legendLine
		if e.colour != palette.Background {
			box := []vg.Point{{X: x, Y: y - 5}, {X: x + 10, Y: y - 5}, {X: x + 10, Y: y + 5}, {X: x, Y: y + 5}}
			s.all.FillPolygon(e.colour, box)
			if e.variant {
				s.hatch(x, y)
			}
		}
		s.all.FillText(st, vg.Point{X: x + 16, Y: y}, e.name)
		s.all.FillText(right, vg.Point{X: width - margin, Y: y}, e.value)
	}
}

// hatch draws lines over the box of an entry.
func (s *sheet) hatch(x, y vg.Length) {
	line := draw.LineStyle{Color: palette.Background, Width: 1.5}
	for _, l := range [][4]vg.Length{{0, 0, 5, 5}, {0, -5, 10, 5}, {5, -5, 10, 0}} {
		s.all.StrokeLine2(line, x+l[0], y+l[1], x+l[2], y+l[3])
	}
}

// legendHeight is what a sheet must have for its legend.
func legendHeight(entries []entry) vg.Length {
	return vg.Length(titleHeight + 2*margin + footHeight + legendLine*(len(entries)+1))
}

// shares lists the clusters present by their number, and then what is in none, with each one's share of computing time.
// It is collective.
func shares(run *trace.Run, owners team.Threads, mpi bool) ([]entry, error) {
	const noClusters = 4 // unclustered, noise, filtered, missing
	sums := make([]int64, 1+noClusters+len(run.Clusters)+1)
	total, timeNS, byCluster := &sums[0], sums[1:1+noClusters], sums[1+noClusters:]
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k, label := range b.Cluster {
			d := b.DurationNS[k]
			*total += d
			switch {
			case label > 0 && int(label) < len(byCluster):
				byCluster[label] += d
			case label <= 0 && label >= trace.LabelMissing:
				timeNS[-label] += d
			}
		}
	}
	if err := owners.AllReduce(sums, team.Sum); err != nil {
		return nil, err
	}
	other := int64(0)
	percent := func(ns int64) string {
		if *total == 0 {
			return "–"
		}
		p := 100 * float64(ns) / float64(*total)
		if p > 0 && p < .05 {
			return "< 0.1 %"
		}
		return fmt.Sprintf("%.1f %%", p)
	}
	var entries []entry
	kinds := kindsOf(run)
	more := 0
	for id := 1; id < len(byCluster); id++ {
		if run.Clusters[id-1].Bursts == 0 {
			continue
		}
		small := float64(byCluster[id]) < smallShare*float64(*total)
		if len(entries) >= maxLegend || len(entries) >= shortLegend && small {
			more++
			other += byCluster[id]
			continue
		}
		e := entry{colour: palette.Cluster(kinds.of(int32(id))), name: fmt.Sprintf("cluster %d", id), value: percent(byCluster[id])}
		if e.variant = kinds.variant(int32(id)); e.variant {
			e.name += fmt.Sprintf(" (kind %d)", kinds.of(int32(id)))
		}
		entries = append(entries, e)
	}
	if more > 0 {
		entries = append(entries, entry{colour: palette.Background, name: fmt.Sprintf("%d more", more), value: percent(other)})
	}
	for label, e := range []entry{
		{colour: palette.Filtered, name: "not clustered"}, {colour: palette.Noise, name: "noise"}, {colour: palette.Filtered, name: "filtered"}, {colour: palette.Missing, name: "missing data"},
	} {
		if timeNS[label] > 0 {
			e.value = percent(timeNS[label])
			entries = append(entries, e)
		}
	}
	if mpi {
		entries = append(entries, entry{colour: palette.MPI, name: "in MPI"})
	}
	return entries, nil
}

// kinds are, by cluster's number less 1, the cluster that stands for its kind: its colour is that of all.
type kinds []int32

func kindsOf(run *trace.Run) kinds {
	list := make(kinds, len(run.Clusters))
	for i := range run.Clusters {
		list[i] = run.Clusters[i].Kind()
	}
	return list
}

// of is the kind of a label; what is in no cluster is its own.
func (k kinds) of(label int32) int32 {
	if label < 1 || int(label) > len(k) {
		return label
	}
	return k[label-1]
}

func (k kinds) variant(label int32) bool { return k.of(label) != label }

func colourOf(label int32) palette.Colour {
	switch label {
	case 0, trace.LabelFiltered:
		return palette.Filtered
	case trace.LabelMissing:
		return palette.Missing
	}
	return palette.Cluster(label)
}

// title says program, ranks and time.
func title(run *trace.Run) string {
	var names []string
	ranks := 0
	for _, w := range run.Worlds {
		ranks += w.Size
		name := trace.ProgramName(w.Executable)
		if w.Executable == "" {
			continue
		}
		if r := []rune(name); len(r) > maxNameRunes {
			name = string(r[:maxNameRunes-1]) + "…"
		}
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	if len(names) > 2 { // there is room for two of the longest
		names = append(names[:2], "…")
	}
	s := units.Count(ranks, "rank") + ", " + quantity(float64(run.DurationNS)/1e9, "s")
	if len(names) > 0 {
		s = strings.Join(names, " + ") + ", " + s
	}
	return s
}

func style(p *plot.Plot) {
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle = face(labelSize, false)
		a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = text.XCenter, text.YBottom
		a.Color, a.Tick.Color = faint, faint
		a.Tick.Label.Font, a.Tick.Label.Handler, a.Tick.Label.Color = face(tickSize, false).Font, handler, ink
		a.Tick.Length = 4
		a.Padding = 4
		a.Label.Padding = 4
	}
}
