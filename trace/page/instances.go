package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/pack"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// An InstanceSeries is what the instances of a phase have of one thing: rows of the columns instance.…, in order.
type InstanceSeries struct {
	Path       []string `json:"path"`       // names of the phase and of those round it, the outermost first; empty: the program, or iterations
	Iterations int32    `json:"iterations"` // index of a phase of iterations; -1 = none
	What       string   `json:"what"`
	Function   string   `json:"function"`
	Cluster    int32    `json:"cluster"`
	From       int      `json:"from"` // first row
	Count      int      `json:"count"`
	Of         int64    `json:"of"` // instances of the whole run
}

// A phaseKey is whose instances they are: a phase's, the program's, or those of iterations.
type phaseKey struct {
	inPhase    bool
	phase      string
	iterations int32
}

type seriesKey struct {
	phaseKey
	what, function string
	cluster        int32
}

func keyOf(r *parquet.InstanceRow) seriesKey {
	return seriesKey{phaseKey{r.InPhase, r.Phase, r.Iterations}, r.What, r.Function, r.Cluster}
}

func (k *seriesKey) compare(o *seriesKey) int {
	inPhase := map[bool]int{true: 1}
	return cmp.Or(cmp.Compare(k.iterations, o.iterations), inPhase[k.inPhase]-inPhase[o.inPhase], cmp.Compare(k.phase, o.phase),
		whatOrder[k.what]-whatOrder[o.what], cmp.Compare(k.what, o.what), cmp.Compare(k.cluster, o.cluster), cmp.Compare(k.function, o.function))
}

var whatOrder = map[string]int{parquet.InstanceWhole: -3, parquet.InstanceComputation: -2, parquet.InstanceMPI: -1}

// A point is an instance, or some that follow each other. Times of threads are those of one instance.
type point struct {
	first, last, many   int64 // many: those that have it
	threads             int64
	calls, sum, direct  int64 // of all instances of the point
	least, most         float64
	whose               int32
	longest             int64
	longestAt           int64
	beginNS, endNS      float64 // of whole; NaN = not known
	classNS, classCount []float64
}

// mean is that of threads and instances.
func (p *point) mean(c int) float64 {
	if len(p.classNS) == 0 || p.classCount[c] == 0 {
		return math.NaN()
	}
	return p.classNS[c] / p.classCount[c]
}

// take has a point stand for the next instances too.
func (p *point) take(q *point) {
	p.last, p.many = q.last, p.many+q.many
	p.threads = max(p.threads, q.threads)
	p.calls, p.sum, p.direct = p.calls+q.calls, p.sum+q.sum, p.direct+q.direct
	p.least = min(p.least, q.least)
	if q.most > p.most {
		p.most, p.whose = q.most, q.whose
	}
	if q.longest > p.longest {
		p.longest, p.longestAt = q.longest, q.longestAt
	}
	p.beginNS, p.endNS = min(p.beginNS, q.beginNS), max(p.endNS, q.endNS)
	for c := range p.classNS {
		p.classNS[c], p.classCount[c] = p.classNS[c]+q.classNS[c], p.classCount[c]+q.classCount[c]
	}
}

// addInstances adds what instances of phases took. Where there are too many, neighbours share a point.
func (b *builder) addInstances(doc *Profile, classes int) {
	series := make(map[seriesKey][]point)
	rows := b.source.Instances
	ofClass := b.classesOf(rows, classes)
	doc.Classes = ofClass != nil
	for i := range rows {
		r := &rows[i]
		if r.OfThread || r.Instances < 1 || r.Instance < 0 || r.Instance > math.MaxInt64-r.Instances {
			continue
		}
		k := keyOf(r)
		whose, known := b.threads[rundir.ThreadName{World: int(r.MostWorld), Rank: int(r.MostRank), Thread: int(r.MostThread)}]
		if !known {
			whose = -1
		}
		p := point{
			first: r.Instance, last: r.Instance + r.Instances - 1, many: r.Instances, threads: r.Count, calls: r.Calls, sum: r.SumNS, direct: r.DirectNS,
			least: float64(r.LeastNS) / float64(r.Instances), most: float64(r.MostNS) / float64(r.Instances), whose: int32(whose),
			longest: r.LongestNS, longestAt: r.LongestInstance, beginNS: math.NaN(), endNS: math.NaN(),
		}
		if r.Timed && r.BeginNS <= r.EndNS {
			p.beginNS, p.endNS = float64(r.BeginNS), float64(r.EndNS)
		}
		if ofClass != nil {
			p.classNS, p.classCount = make([]float64, classes), make([]float64, classes)
			at := seriesAt{k, r.Instance}
			whole := at
			whole.what, whole.function, whole.cluster = parquet.InstanceWhole, "", 0
			copy(p.classNS, ofClass.ns[at])
			for c, threads := range ofClass.threads[whole] {
				p.classCount[c] = threads * float64(r.Instances)
			}
		}
		series[k] = append(series[k], p)
	}
	keys := make([]seriesKey, 0, len(series))
	total := 0
	for k, points := range series {
		keys = append(keys, k)
		slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.first, b.first) })
		total += len(points)
	}
	slices.SortFunc(keys, func(x, y seriesKey) int { return x.compare(&y) })
	b.timeInstances(series)
	whole, size := make(map[phaseKey]int64), make(map[phaseKey]int64) // instances, and those of a row
	for _, k := range keys {
		if points := series[k]; k.what == parquet.InstanceWhole {
			whole[k.phaseKey] = points[len(points)-1].last + 1
			size[k.phaseKey] = points[0].many
		}
	}
	share := 1
	for ; total > b.limits.Instances && share < 1<<20; share *= 2 {
		total = 0
		for k, points := range series {
			series[k] = joinPoints(points, max(size[k.phaseKey], 1)*int64(share)*2)
			total += len(series[k])
		}
	}
	if share > 1 {
		doc.Merged = fmt.Sprintf("Up to %s neighbouring instances, or groups of them, share a point.", units.Integer(share))
	}
	var all []point
	for _, k := range keys {
		points := series[k]
		path := []string{}
		if k.inPhase {
			path = trace.PhaseNames(k.phase)
		}
		doc.Instances = append(doc.Instances, InstanceSeries{
			Path: path, Iterations: k.iterations, What: k.what, Function: k.function, Cluster: k.cluster, From: len(all), Count: len(points), Of: whole[k.phaseKey],
		})
		all = append(all, points...)
	}
	if ofClass == nil {
		classes = 0
	}
	b.packInstances(all, classes)
}

// joinPoints has the points share one that lie in the same stretch of so many instances, counted from the first of the
// run, so that those of all series of a phase begin at the same ones.
func joinPoints(points []point, stretch int64) []point {
	var joined []point
	now := int64(-1)
	for i := range points {
		p := points[i]
		if at := p.first / stretch; at != now {
			now = at
			joined = append(joined, p)
			continue
		}
		joined[len(joined)-1].take(&p)
	}
	return joined
}

type seriesAt struct {
	seriesKey
	instance int64
}

// A classSums is what the threads of each class have of each row, by class.
type classSums struct{ ns, threads map[seriesAt][]float64 }

// classesOf sums the rows of single threads up; nil: not every thread has rows of its own, or there is one class.
func (b *builder) classesOf(rows []parquet.InstanceRow, classes int) *classSums {
	if classes == 0 {
		return nil
	}
	s := &classSums{make(map[seriesAt][]float64), make(map[seriesAt][]float64)}
	missing := make(map[seriesAt]int64) // threads without a row
	add := func(to map[seriesAt][]float64, at seriesAt, class int32, v float64) {
		if to[at] == nil {
			to[at] = make([]float64, classes)
		}
		to[at][class] += v
	}
	for i := range rows {
		r := &rows[i]
		at := seriesAt{keyOf(r), r.Instance}
		if !r.OfThread {
			if r.What == parquet.InstanceWhole {
				missing[at] += r.Count
			}
			continue
		}
		if r.What == parquet.InstanceWhole {
			missing[at]--
		}
		thread, known := b.threads[rundir.ThreadName{World: int(r.World), Rank: int(r.Rank), Thread: int(r.Thread)}]
		if !known || b.classes[thread] < 0 || int(b.classes[thread]) >= classes {
			continue
		}
		add(s.ns, at, b.classes[thread], float64(r.SumNS))
		if r.What == parquet.InstanceWhole {
			add(s.threads, at, b.classes[thread], 1)
		}
	}
	for _, n := range missing {
		if n != 0 {
			return nil
		}
	}
	if len(s.threads) == 0 {
		return nil
	}
	return s
}

// timeInstances finds out when instances ran that instances.parquet of an earlier version has no times of: of phases
// where the run is here with all of its time, of iterations as the time of each adds to the begin of the first.
func (b *builder) timeInstances(series map[seriesKey][]point) {
	var phases map[string][]trace.Span
	for k, points := range series {
		if k.what != parquet.InstanceWhole || !k.inPhase && k.iterations < 0 || slices.ContainsFunc(points, func(p point) bool { return !math.IsNaN(p.beginNS) }) {
			continue
		}
		var spans []trace.Span
		if k.iterations >= 0 {
			spans = b.iterationSpans(k.iterations)
		} else if run := b.source.Detail; run != nil && run.Windows == nil {
			if phases == nil {
				phases = phaseSpans(run)
			}
			spans = phases[k.phase]
		}
		for i := range points {
			if p := &points[i]; p.last < int64(len(spans)) {
				p.beginNS, p.endNS = float64(spans[p.first].BeginNS), float64(spans[p.last].EndNS)
				for _, s := range spans[p.first : p.last+1] {
					p.endNS = max(p.endNS, float64(s.EndNS))
				}
			}
		}
	}
}

// phaseSpans are, of each phase path, the times of its instances: from the first thread's begin to the last one's end.
func phaseSpans(run *trace.Run) map[string][]trace.Span {
	type child struct {
		parent int32
		name   uint32
	}
	ids := make(map[child]int32)
	texts := []string{""}
	all := [][]trace.Span{nil}
	for i := range run.Threads {
		count := make([]int, len(all))
		open := []int32{0}
		var inner []uint32 // names of the open ones
		run.Threads[i].EachPhase(func(p *trace.Phase) {
			parent := open[len(open)-1]
			same := len(inner) > 0 && inner[len(inner)-1] == p.Name
			inner = append(inner, p.Name)
			if same {
				open = append(open, parent)
				return
			}
			key := child{parent, p.Name}
			id, known := ids[key]
			if !known {
				id = int32(len(texts))
				ids[key] = id
				text := trace.PhasePath(run.MarkNames[p.Name])
				if parent > 0 {
					text = texts[parent] + "/" + text
				}
				texts, all = append(texts, text), append(all, nil)
			}
			for int(id) >= len(count) {
				count = append(count, 0)
			}
			open = append(open, id)
			if n := count[id]; n == len(all[id]) {
				all[id] = append(all[id], trace.Span{BeginNS: p.BeginNS, EndNS: p.EndNS})
			} else {
				s := &all[id][n]
				s.BeginNS, s.EndNS = min(s.BeginNS, p.BeginNS), max(s.EndNS, p.EndNS)
			}
			count[id]++
		}, func(*trace.Phase) {
			open, inner = open[:len(open)-1], inner[:len(inner)-1]
		})
	}
	spans := make(map[string][]trace.Span, len(all))
	for id, text := range texts[1:] {
		spans[text] = all[id+1]
	}
	return spans
}

// iterationSpans are the times of the iterations of a phase, each as long as it took the mean of the threads.
func (b *builder) iterationSpans(phase int32) []trace.Span {
	m, p := b.source.Manifest, b.source.Profile
	if m == nil || p == nil || int(phase) >= len(m.Kept.Phases) {
		return nil
	}
	var rows []*parquet.ProfileRow
	for i := range p.Rows {
		if r := &p.Rows[i]; r.Kind == parquet.ProfileIterations && r.Iterations == phase && r.Count > 0 && r.Records > 0 {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *parquet.ProfileRow) int { return cmp.Compare(a.First, b.First) })
	var spans []trace.Span
	at := float64(m.Kept.Phases[phase].BeginNS)
	for _, r := range rows {
		if r.First != int64(len(spans)) || r.Count > mostIterations-int64(len(spans)) {
			return nil
		}
		each := float64(r.ElapsedNS) / float64(r.Records) / float64(r.Count)
		for range r.Count {
			spans = append(spans, trace.Span{BeginNS: int64(at), EndNS: int64(at + each)})
			at += each
		}
	}
	return spans
}

// mostIterations is how many times of iterations are worked out: a damaged file may say anything.
const mostIterations = 1 << 24

func (b *builder) packInstances(points []point, classes int) {
	column := func(name string, of func(p *point) float64) {
		values := make([]float64, len(points))
		for i := range points {
			values[i] = of(&points[i])
		}
		pack.Add(&b.columns, "instance."+name, values)
	}
	column("first", func(p *point) float64 { return float64(p.first) })
	column("last", func(p *point) float64 { return float64(p.last) })
	column("many", func(p *point) float64 { return float64(p.many) })
	column("threads", func(p *point) float64 { return float64(p.threads) })
	column("calls", func(p *point) float64 { return float64(p.calls) })
	column("sum", func(p *point) float64 { return float64(p.sum) })
	column("direct", func(p *point) float64 { return float64(p.direct) })
	column("least", func(p *point) float64 { return p.least })
	column("most", func(p *point) float64 { return p.most })
	column("longest", func(p *point) float64 { return float64(p.longest) })
	column("longest_at", func(p *point) float64 { return float64(p.longestAt) })
	column("begin_ns", func(p *point) float64 { return p.beginNS })
	column("end_ns", func(p *point) float64 { return p.endNS })
	whose := make([]int32, len(points))
	for i := range points {
		whose[i] = points[i].whose
	}
	pack.Add(&b.columns, "instance.whose", whose)
	for c := range classes {
		column(fmt.Sprintf("class.%d", c), func(p *point) float64 { return p.mean(c) })
	}
}
