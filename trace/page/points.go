package page

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/pack"
	"moriens/trace/rundir"
)

// A picker takes some of the bursts of each cluster, evenly in the order in which they come.
type picker struct {
	of, take map[int32]int // bursts of each cluster, and how many of them are taken
	seen     map[int32]int
}

// newPicker shares points out between clusters: half of them equally, so that small clusters are seen too, the rest by
// size. Each cluster has one, even if those are more points than there is room for.
func newPicker(of map[int32]int, points int) *picker {
	p := &picker{of: of, take: make(map[int32]int), seen: make(map[int32]int)}
	total := 0
	for _, n := range of {
		total += n
	}
	if total <= points {
		p.take = maps.Clone(of)
		return p
	}
	floor, left, rest := max(1, points/2/len(of)), points, 0
	for label, n := range of {
		p.take[label] = min(n, floor)
		left -= p.take[label]
		rest += n - p.take[label]
	}
	for label, n := range of {
		p.take[label] += int(float64(n-p.take[label]) / float64(max(rest, 1)) * float64(max(left, 0)))
	}
	return p
}

// next reports whether the next burst of a cluster is taken.
func (p *picker) next(label int32) bool {
	n, k, i := p.of[label], p.take[label], p.seen[label]
	p.seen[label]++
	return (i+1)*k/n != i*k/n
}

// weight is how many bursts each that is taken stands for.
func (p *picker) weight(label int32) float64 { return float64(p.of[label]) / float64(p.take[label]) }

func (b *builder) addPoints(c chosen) {
	rows := b.source.Rows
	if rows == nil {
		rows = new(trace.Run)
	}
	// Those of chosen windows are all here, and those of the rest share what room there is.
	inside, rest, all := 0, make(map[int32]int), rows.Bursts()
	for i := range rows.Threads {
		t := &rows.Threads[i]
		spans := c[rundir.NameOf(t)]
		for k, ns := range t.Bursts.StartNS {
			if _, here := in(spans, ns, ns+t.Bursts.DurationNS[k]); here {
				inside++
			} else {
				rest[t.Bursts.Cluster[k]]++
			}
		}
	}
	pick := newPicker(rest, max(0, b.limits.Points-inside))
	p := newPoints(rows)
	b.doc.Nodes = append(b.doc.Nodes, rows.Lineages...)
	numbers, paths, windows := b.numbersOf(rows), b.pathsOf(rows), b.kept()
	for i := range rows.Threads {
		t := &rows.Threads[i]
		spans, kept := c[rundir.NameOf(t)], windows[rundir.NameOf(t)]
		for k, ns := range t.Bursts.StartNS {
			weight, label := 1., t.Bursts.Cluster[k]
			if t.Bursts.Weight != nil {
				weight = t.Bursts.Weight[k]
			}
			if _, here := in(spans, ns, ns+t.Bursts.DurationNS[k]); !here {
				if !pick.next(label) {
					continue
				}
				weight *= pick.weight(label)
			}
			window := int32(-1)
			if s, here := in(kept, ns, ns+t.Bursts.DurationNS[k]); here {
				window = int32(s.Window)
			}
			p.add(t, k, numbers[i], paths, float32(weight), window)
		}
	}
	b.describePoints(len(p.thread), all)
	b.addDimensions(rows, p)
	p.put(&b.columns)
}

// kept are the spans of windows of each thread.
func (b *builder) kept() chosen {
	c := make(chosen)
	if run := b.source.Detail; run != nil {
		for i := range run.Threads {
			c[rundir.NameOf(&run.Threads[i])] = run.Threads[i].Kept
		}
	}
	return c
}

func (b *builder) describePoints(drawn, all int) {
	p := &b.doc.Points
	p.Count, p.Of = drawn, all
	p.How = "every burst"
	m := b.source.Manifest
	if m != nil && m.Bursts > all {
		p.Of = m.Bursts
		p.How = "those of kept windows, and a weighted sample of the others"
	}
	if drawn < all {
		p.How += fmt.Sprintf("; %s of the %s in the run directory, evenly chosen, a larger share of small clusters", units.Integer(drawn), units.Integer(all))
		b.coarse = append(b.coarse, fmt.Sprintf("%s of the %s bursts of the run directory are shown as points.", units.Integer(drawn), units.Integer(all)))
	}
}

// points are the columns of points.
type points struct {
	thread, cluster, before, after, window, node []int32
	start, duration                              []float64
	weight                                       []float32
	counters                                     [][]float64
}

func newPoints(rows *trace.Run) *points {
	return &points{counters: make([][]float64, len(rows.Counters))}
}

func (p *points) add(t *trace.Thread, k int, thread int32, paths []int32, weight float32, window int32) {
	b := &t.Bursts
	p.thread, p.cluster = append(p.thread, thread), append(p.cluster, b.Cluster[k])
	p.before, p.after = append(p.before, paths[b.Before[k]]), append(p.after, paths[b.After[k]])
	p.window, p.weight = append(p.window, window), append(p.weight, weight)
	node := int32(-1)
	if b.Lineage != nil && b.Lineage[k] > 0 {
		node = int32(b.Lineage[k])
	}
	p.node = append(p.node, node)
	p.start, p.duration = append(p.start, float64(b.StartNS[k])), append(p.duration, float64(b.DurationNS[k]))
	for c := range p.counters {
		v := math.NaN()
		if n := b.Counters[c][k]; n != trace.NoCount {
			v = float64(n)
		}
		p.counters[c] = append(p.counters[c], v)
	}
}

func (p *points) put(c *pack.Columns) {
	pack.Add(c, "points.thread", p.thread)
	pack.Add(c, "points.cluster", p.cluster)
	pack.Add(c, "points.before", p.before)
	pack.Add(c, "points.after", p.after)
	pack.Add(c, "points.window", p.window)
	pack.Add(c, "points.node", p.node)
	pack.Add(c, "points.start_ns", p.start)
	pack.Add(c, "points.duration", p.duration)
	pack.Add(c, "points.weight", p.weight)
	for i, column := range p.counters {
		pack.Add(c, fmt.Sprintf("points.counter.%d", i), column)
	}
}

// addDimensions lists what points can be drawn by, and adds the ratios that the clustering had for dimensions.
func (b *builder) addDimensions(rows *trace.Run, p *points) {
	scale := map[string]string{"duration": "log", "start": "lin"}
	var ratios []rundir.Dimension
	if b.source.Clusters != nil {
		for _, d := range b.source.Clusters.Dimensions {
			scale[d.Name] = d.Scale
			ratios = append(ratios, d)
		}
	}
	add := func(name, unit, column, otherwise string) {
		s := scale[name]
		if s == "" {
			s = otherwise
		}
		b.doc.Dimensions = append(b.doc.Dimensions, Dimension{name, unit, s, column})
	}
	add("duration", "ns", "points.duration", "log")
	add("start", "ns", "points.start_ns", "lin")
	for i, c := range rows.Counters {
		add(c.Name, c.Unit, fmt.Sprintf("points.counter.%d", i), "log")
	}
	n := 0
	for _, d := range ratios {
		if column := p.ratio(d.Name, rows.Counters); column != nil {
			name := fmt.Sprintf("points.ratio.%d", n)
			n++
			pack.Add(&b.columns, name, column)
			add(d.Name, d.Unit, name, "lin")
		}
	}
}

// ratio is the column of a ratio of two quantities, "A/B" or "IPC"; nil where the name is none.
func (p *points) ratio(name string, counters []trace.Counter) []float64 {
	if name == "IPC" {
		name = "PAPI_TOT_INS/PAPI_TOT_CYC"
	}
	column := func(name string) []float64 {
		if name == "duration" {
			return p.duration
		}
		if i := slices.IndexFunc(counters, func(c trace.Counter) bool { return c.Name == name }); i >= 0 {
			return p.counters[i]
		}
		return nil
	}
	over, under, ok := strings.Cut(name, "/")
	a, b := column(over), column(under)
	if !ok || a == nil || b == nil {
		return nil
	}
	ratio := make([]float64, len(a))
	for i := range a {
		ratio[i] = math.NaN()
		if b[i] != 0 {
			ratio[i] = a[i] / b[i]
		}
	}
	return ratio
}
