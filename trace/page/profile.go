package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/pack"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// A Profile says what the columns of frames and of instances are about; names are indices into Names.
type Profile struct {
	Format    int              `json:"format"` // of profile.parquet; 1: phases are names, and nothing is cut at their borders
	Phases    bool             `json:"phases"` // the program has named some
	Paths     bool             `json:"paths"`  // the functions round calls are known
	Names     []string         `json:"names"`
	Groups    [][2]int         `json:"groups"` // of threads, whose bars are summed: first and last
	LeftOut   string           `json:"left_out"`
	Instances []InstanceSeries `json:"instances"`
	Merged    string           `json:"merged"`  // in words, which instances share a point
	Classes   bool             `json:"classes"` // points have the means of the classes of ranks
}

// Codes of calltree.Type in columns. The last is frames for which a page has no room.
var frameTypes = []calltree.Type{
	calltree.Program, calltree.Phase, calltree.Iterations, calltree.Function, calltree.MPI, calltree.Cluster, calltree.Paused, calltree.Unrecorded, othersType,
}

const othersType calltree.Type = "others"

// A frameKey is a frame below its parent.
type frameKey struct {
	parent      int32
	of          calltree.Type
	name, place string
	cluster     int32
}

// frames are a tree of what ran in what, the root first, each behind its parent.
type frames struct {
	list  []frameKey
	index map[frameKey]int32
	of    []int32 // by row of the profile: the frame that has its time, or its calls where it is a phase's; -1 = none
}

func newFrames(rows int) *frames {
	t := &frames{index: make(map[frameKey]int32), of: make([]int32, rows)}
	t.at(frameKey{parent: -1, of: calltree.Program})
	return t
}

func (t *frames) at(k frameKey) int32 {
	i, known := t.index[k]
	if !known {
		i = int32(len(t.list))
		t.index[k] = i
		t.list = append(t.list, k)
	}
	return i
}

// leaf is where the time of a row is, below a frame; -1: the row has none.
func (t *frames) leaf(r *parquet.ProfileRow, parent int32, function, place string) int32 {
	switch r.Kind {
	case parquet.ProfileComputation:
		return t.at(frameKey{parent: parent, of: calltree.Cluster, cluster: r.Cluster})
	case parquet.ProfileMPI:
		return t.at(frameKey{parent: parent, of: calltree.MPI, name: function, place: place})
	case parquet.ProfilePaused:
		return t.at(frameKey{parent: parent, of: calltree.Paused})
	case parquet.ProfileUnrecorded:
		return t.at(frameKey{parent: parent, of: calltree.Unrecorded})
	}
	return -1
}

// mostDepth is how deep phases have frames of their own: a damaged file may have any.
const mostDepth = 1000

// phaseFrames have each phase below the one round it, in it the clusters and the functions of MPI. Where the program
// has named no phase, the iterations that were found take their place.
func phaseFrames(p *parquet.Profile, format int, named bool) *frames {
	t := newFrames(len(p.Rows))
	phases := make(map[string]int32)
	for i := range p.Rows {
		r := &p.Rows[i]
		parent := int32(0)
		if r.InPhase {
			at, known := phases[r.Phase]
			if !known {
				names := []string{r.Phase}
				if format > 1 {
					names = trace.PhaseNames(r.Phase)
				}
				if len(names) > mostDepth {
					names = append(names[:mostDepth:mostDepth], trace.PhasePath(names[mostDepth:]...))
				}
				for _, name := range names {
					at = t.at(frameKey{parent: at, of: calltree.Phase, name: name})
				}
				phases[r.Phase] = at
			}
			parent = at
		} else if !named && r.Iterations >= 0 {
			parent = t.at(frameKey{of: calltree.Iterations, cluster: r.Iterations})
		}
		if r.Kind == parquet.ProfilePhase || r.Kind == parquet.ProfileIterations {
			t.of[i] = parent
			continue
		}
		t.of[i] = t.leaf(r, parent, functionOf(r.CallPath), "")
	}
	return t
}

// pathFrames have each function below the one that calls it; in it its calls of MPI by line, and the clusters that lie
// where the paths round them fork.
func (b *builder) pathFrames(p *parquet.Profile) *frames {
	t := newFrames(len(p.Rows))
	numbers := make(map[string]int)
	var paths []trace.CallPath
	if run := cmp.Or(b.source.Detail, b.source.Rows); run != nil {
		paths = run.CallPaths
		for i, name := range run.Names() {
			numbers[name] = i
		}
	}
	type place struct {
		path    string
		context int32
	}
	known := make(map[place]int32) // frames of the functions
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Kind == parquet.ProfilePhase {
			t.of[i] = -1
			if !r.InPhase {
				t.of[i] = 0
			}
			continue
		}
		parent, name, at := int32(0), functionOf(r.CallPath), strings.TrimPrefix(r.CallPath, functionOf(r.CallPath))
		at = strings.TrimPrefix(at, "@")
		if n, there := numbers[r.CallPath]; there && r.CallPath != "" && (r.Kind == parquet.ProfileComputation || r.Kind == parquet.ProfileMPI) {
			path := &paths[n]
			context := int32(len(path.Frames))
			if r.Kind == parquet.ProfileComputation {
				context = min(max(r.Context, 0), context)
			}
			key := place{r.CallPath, context}
			if parent, there = known[key]; !there {
				for k := range context {
					parent = t.within(parent, &path.Frames[len(path.Frames)-1-int(k)])
				}
				known[key] = parent
			}
			if len(path.Frames) > 0 {
				name, at = path.Function, path.Frames[0].Place()
			}
		}
		t.of[i] = t.leaf(r, parent, name, at)
	}
	return t
}

// within is the innermost function of a frame of a call path, those that the compiler has put it into round it.
func (t *frames) within(parent int32, f *trace.Frame) int32 {
	for _, s := range f.Inlined {
		parent = t.at(frameKey{parent: parent, of: calltree.Function, name: s.Function})
	}
	return t.at(frameKey{parent: parent, of: calltree.Function, name: cmp.Or(f.Function, f.Place(), unknownPath)})
}

// functionOf is the function in the name of a call path.
func functionOf(path string) string {
	name, _, _ := strings.Cut(path, "@")
	return name
}

// A frameSums is what threads have of each frame, with the frames in it.
type frameSums struct {
	ns, calls, most []float64
	whose, threads  []int32
	classes         [][]float64 // by class and frame
	bars            bars
}

// bars are what each group of threads has of each frame, without the frames in it.
type bars struct {
	group, frame []int32
	ns           []float64
}

// A byThread is the rows of a profile, one thread after the other.
type byThread struct {
	rows   []int32
	thread []int32 // of each of the rows
	class  []int32 // by thread, -1 = none
}

// inThreads puts the rows of threads in the order of threads.
func (b *builder) inThreads(p *parquet.Profile) byThread {
	var o byThread
	o.class = b.classes
	of := make([]int32, len(p.Rows))
	for i := range p.Rows {
		of[i] = -1
		r := &p.Rows[i]
		switch r.Kind {
		case parquet.ProfileDurations, parquet.ProfileTraffic, parquet.ProfileIterations:
			continue
		}
		if thread, known := b.threads[rundir.ThreadName{World: int(r.World), Rank: int(r.Rank), Thread: int(r.Thread)}]; known {
			of[i] = int32(thread)
			o.rows = append(o.rows, int32(i))
		}
	}
	slices.SortStableFunc(o.rows, func(x, y int32) int { return cmp.Compare(of[x], of[y]) })
	o.thread = make([]int32, len(o.rows))
	for k, i := range o.rows {
		o.thread[k] = of[i]
	}
	return o
}

// sum adds the rows up: to their frame and to all round it.
func (t *frames) sum(p *parquet.Profile, o byThread, classes int) frameSums {
	n := len(t.list)
	s := frameSums{ns: make([]float64, n), calls: make([]float64, n), most: make([]float64, n), whose: make([]int32, n), threads: make([]int32, n)}
	for range classes {
		s.classes = append(s.classes, make([]float64, n))
	}
	total := make([]int64, n)
	for i, k := range t.list {
		s.whose[i] = -1
		if k.of == calltree.Function || k.of == othersType {
			s.calls[i] = math.NaN() // how often a function ran is not known
		}
	}
	inclusive, own := make([]int64, n), make([]int64, n)
	seen := make([]bool, n)
	var touched []int32
	flush := func(thread int32) {
		slices.Sort(touched)
		for _, f := range touched {
			if ns := inclusive[f]; ns > 0 || s.whose[f] < 0 {
				if s.whose[f] < 0 || float64(ns) > s.most[f] {
					s.most[f], s.whose[f] = float64(ns), thread
				}
			}
			s.threads[f]++
			total[f] += inclusive[f]
			if c := o.class[thread]; c >= 0 && int(c) < classes {
				s.classes[c][f] += float64(inclusive[f])
			}
			if own[f] != 0 {
				s.bars.group, s.bars.frame, s.bars.ns = append(s.bars.group, thread), append(s.bars.frame, f), append(s.bars.ns, float64(own[f]))
			}
			inclusive[f], own[f], seen[f] = 0, 0, false
		}
		touched = touched[:0]
	}
	for k, i := range o.rows {
		if k > 0 && o.thread[k] != o.thread[k-1] {
			flush(o.thread[k-1])
		}
		r, leaf := &p.Rows[i], t.of[i]
		if leaf < 0 {
			continue
		}
		ns := r.TimeNS
		if r.Kind == parquet.ProfilePhase {
			s.calls[leaf] += float64(r.Records)
			ns = 0 // its parts have it
		} else {
			s.calls[leaf] += float64(r.Count)
			own[leaf] += ns
		}
		for f := leaf; f >= 0; f = t.list[f].parent {
			inclusive[f] += ns
			if !seen[f] {
				seen[f] = true
				touched = append(touched, f)
			}
		}
	}
	if len(o.rows) > 0 {
		flush(o.thread[len(o.rows)-1])
	}
	for f, ns := range total {
		s.ns[f] = float64(ns)
	}
	for i := range p.Rows { // iterations are of no thread
		if r := &p.Rows[i]; r.Kind == parquet.ProfileIterations && t.of[i] > 0 {
			s.calls[t.of[i]] += float64(r.Count) * float64(r.Records)
		}
	}
	return s
}

// fold leaves n frames, those with the most time, and puts others that are below one frame together, as one.
func (t *frames) fold(n int, ns []float64) (out int) {
	if len(t.list) <= n {
		return 0
	}
	order := numbers(len(t.list))
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(ns[y], ns[x]) }) // a frame before those in it
	keep := make([]bool, len(t.list))
	for _, f := range order[:max(n, 1)] {
		keep[f] = true
	}
	keep[0] = true
	to := make([]int32, len(t.list))
	less := newFrames(0)
	less.of = t.of
	for f, k := range t.list {
		if f == 0 {
			continue
		}
		parent := to[k.parent]
		switch {
		case less.list[parent].of == othersType:
			to[f] = parent
			out++
		case keep[f]:
			k.parent = parent
			to[f] = less.at(k)
		default:
			to[f] = less.at(frameKey{parent: parent, of: othersType})
			out++
		}
	}
	for i, f := range t.of {
		if f >= 0 {
			less.of[i] = to[f]
		}
	}
	*t = *less
	return out
}

// join sums bars up by groups of threads, of neighbours where there is no room for all.
func (a *bars) join(groups [][2]int, most int) (bars, [][2]int) {
	group := make([]int32, 0)
	for g, threads := range groups {
		for range threads[1] - threads[0] + 1 {
			group = append(group, int32(g))
		}
	}
	for {
		var joined bars
		at := make(map[int32]int)
		last := int32(-1)
		for i, thread := range a.group {
			if g := group[thread]; g != last {
				clear(at)
				last = g
			}
			k, there := at[a.frame[i]]
			if !there {
				k = len(joined.ns)
				at[a.frame[i]] = k
				joined.group, joined.frame, joined.ns = append(joined.group, last), append(joined.frame, a.frame[i]), append(joined.ns, 0)
			}
			joined.ns[k] += a.ns[i]
		}
		if len(joined.ns) <= most || len(groups) < 2 {
			return joined, groups
		}
		var halved [][2]int
		for i := 0; i < len(groups); i += 2 {
			halved = append(halved, [2]int{groups[i][0], groups[min(i+1, len(groups)-1)][1]})
		}
		groups = halved
		for i := range group {
			group[i] /= 2
		}
	}
}

// namesOf numbers the texts of frames.
type namesOf struct {
	list  []string
	index map[string]int32
}

func (n *namesOf) number(text string) int32 {
	if text == "" {
		return -1
	}
	i, known := n.index[text]
	if !known {
		i = int32(len(n.list))
		n.index[text] = i
		n.list = append(n.list, text)
	}
	return i
}

// addProfile adds what phases, functions and instances took.
func (b *builder) addProfile() {
	p := b.source.Profile
	if p == nil {
		return
	}
	named := slices.ContainsFunc(p.Rows, func(r parquet.ProfileRow) bool { return r.InPhase })
	doc := &Profile{Format: cmp.Or(p.Format, parquet.ProfileFormat), Phases: named, Names: []string{}, Groups: b.doc.Groups, Instances: []InstanceSeries{}}
	names := &namesOf{index: make(map[string]int32)}
	order := b.inThreads(p)
	classes := 0
	if m := b.source.Manifest; m != nil && len(m.Kept.Classes) > 1 {
		classes = len(m.Kept.Classes)
	}
	var phaseBars bars
	for _, tree := range []struct {
		name, title string
		of          *frames
	}{{"phase", "phase", phaseFrames(p, doc.Format, named)}, {"path", "call path", b.pathFrames(p)}} {
		t := tree.of
		s := t.sum(p, order, classes)
		// Classes have a column each.
		if out := t.fold(max(b.limits.Frames*frameColumns/(frameColumns+classes), 1), s.ns); out > 0 {
			s = t.sum(p, order, classes)
			doc.LeftOut = strings.TrimSpace(doc.LeftOut + fmt.Sprintf(" By %s, the %s %s with the least time are shown together, as others.",
				tree.title, units.Integer(out), units.Plural(out, "frame")))
		}
		b.addFrames("profile."+tree.name, t, s, names)
		if tree.name == "phase" {
			phaseBars = s.bars
		} else {
			doc.Paths = slices.ContainsFunc(t.list, func(k frameKey) bool { return k.of == calltree.Function })
		}
	}
	b.addBars(&phaseBars, doc)
	b.addInstances(doc, classes)
	doc.Names = append(doc.Names, names.list...)
	b.doc.Profile = doc
}

const frameColumns = 10 // that all frames have

func (b *builder) addFrames(prefix string, t *frames, s frameSums, names *namesOf) {
	n := len(t.list)
	of := make([]uint8, n)
	parent, name, place, cluster := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	for i, k := range t.list {
		of[i] = uint8(slices.Index(frameTypes, k.of))
		parent[i], name[i], place[i], cluster[i] = k.parent, names.number(k.name), names.number(k.place), k.cluster
	}
	pack.Add(&b.columns, prefix+".type", of)
	pack.Add(&b.columns, prefix+".parent", parent)
	pack.Add(&b.columns, prefix+".name", name)
	pack.Add(&b.columns, prefix+".place", place)
	pack.Add(&b.columns, prefix+".cluster", cluster)
	pack.Add(&b.columns, prefix+".ns", s.ns)
	pack.Add(&b.columns, prefix+".calls", s.calls)
	pack.Add(&b.columns, prefix+".most", s.most)
	pack.Add(&b.columns, prefix+".whose", s.whose)
	pack.Add(&b.columns, prefix+".threads", s.threads)
	for c, column := range s.classes {
		pack.Add(&b.columns, fmt.Sprintf("%s.class.%d", prefix, c), column)
	}
}

func (b *builder) addBars(all *bars, doc *Profile) {
	joined, groups := all.join(b.doc.Groups, b.limits.Bars)
	if len(groups) < len(b.doc.Groups) {
		doc.LeftOut = strings.TrimSpace(doc.LeftOut + fmt.Sprintf(" Bars are sums of %s threads each.", units.Integer(groups[0][1]-groups[0][0]+1)))
	}
	doc.Groups = groups
	pack.Add(&b.columns, "profile.bar.group", joined.group)
	pack.Add(&b.columns, "profile.bar.frame", joined.frame)
	pack.Add(&b.columns, "profile.bar.ns", joined.ns)
}
