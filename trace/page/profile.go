package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/internal/hint"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/calltree/rows"
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

// frames are a tree of what ran in what, the root first, each behind its parent. The File of a call is its place.
type frames struct {
	list []calltree.Node
	of   []int32 // by row of the profile: the frame that has its time, or its calls where it is a phase's; -1 = none
	// whole says that call paths are known of classes of threads alone: rows of these are of frames, and those of threads
	// by place of the program alone.
	whole bool
}

// framesOf places the rows of a profile. placed says of a row what decides where it belongs; false: it has no time.
func framesOf(p *parquet.Profile, shape rows.Shape, placed func(r *parquet.ProfileRow) (rows.Row, bool)) (*frames, error) {
	t := &frames{of: make([]int32, len(p.Rows)), whole: p.Classes && shape.Whole(parquet.ProfileMPI)}
	tree := rows.New("", shape)
	known := make(map[rows.Row]int32)
	for i := range p.Rows {
		row, timed := placed(&p.Rows[i])
		at, there := known[row]
		if !there {
			at, _ = tree.Of(&row)
			known[row] = at
		}
		if t.of[i] = at; !timed {
			t.of[i] = -1
		}
	}
	t.list = tree.Nodes
	if tree.Err != nil {
		return nil, hint.Default(fmt.Errorf("%s: %w", rundir.ProfileFile, tree.Err), rundir.AdviseDamage)
	}
	return t, nil
}

func noPath(string) *trace.CallPath { return nil }

// phaseFrames have each phase below the one round it, in it the clusters and the functions of MPI. Where the program
// has named no phase, the iterations that were found take their place.
func phaseFrames(p *parquet.Profile, format int, named bool) (*frames, error) {
	shape := rows.Shape{Phases: true, Flat: format < 2, Iterations: !named, Calls: rows.ByFunction, Path: noPath}
	return framesOf(p, shape, func(r *parquet.ProfileRow) (rows.Row, bool) {
		row := rows.Row{Kind: r.Kind, Path: functionOf(r.CallPath), Phase: r.Phase, Cluster: rows.KindOf(r), Iterations: -1, InPhase: r.InPhase}
		if !named {
			row.Iterations = r.Iterations
		}
		return row, r.Kind != parquet.ProfileTraffic
	})
}

// pathFrames have each function below the one that calls it; in it its calls of MPI by line, and the clusters that lie
// where the paths round them fork.
func (b *builder) pathFrames(p *parquet.Profile) (*frames, error) {
	paths := make(map[string]*trace.CallPath)
	if run := cmp.Or(b.source.Detail, b.source.Rows); run != nil {
		for i, name := range run.Names() {
			if path := &run.CallPaths[i]; name != "" && len(path.Frames) > 0 {
				paths[name] = path
			}
		}
	}
	shape := rows.Shape{Calls: rows.ByFrames, Path: func(name string) *trace.CallPath { return paths[name] }}
	return framesOf(p, shape, func(r *parquet.ProfileRow) (rows.Row, bool) {
		row := rows.Row{Iterations: -1}
		row.Kind, _ = r.OfClass()
		if r.Paths > 0 { // frames of its class have it
			row.Kind = parquet.ProfilePhase
			return row, r.Kind != parquet.ProfileTraffic
		}
		switch row.Kind {
		case parquet.ProfileMPI:
			row.Path = r.CallPath
		case parquet.ProfileComputation:
			row.Path, row.Cluster, row.Context = r.CallPath, rows.KindOf(r), r.Context
		case parquet.ProfilePhase: // the program's alone
			return row, !r.InPhase
		case parquet.ProfilePaused, parquet.ProfileUnrecorded:
		default: // of no thread, or without a time
			row.Kind = parquet.ProfilePhase
			return row, false
		}
		return row, true
	})
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
		if _, is := r.OfClass(); is {
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
func (t *frames) sum(p *parquet.Profile, format int, o byThread, classes int) frameSums {
	n := len(t.list)
	s := frameSums{ns: make([]float64, n), calls: make([]float64, n), most: make([]float64, n), whose: make([]int32, n), threads: make([]int32, n)}
	for range classes {
		s.classes = append(s.classes, make([]float64, n))
	}
	total := make([]int64, n)
	for i, k := range t.list {
		s.whose[i] = -1
		if k.Type == calltree.Function || k.Type == othersType || format < 2 && (k.Type == calltree.Program || k.Type == calltree.Phase) {
			s.calls[i] = math.NaN() // how often a function ran is not known; nor a phase, in format 1
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
		switch {
		case r.Kind == parquet.ProfilePhase:
			s.calls[leaf] += float64(r.Records)
			ns = 0 // its parts have it
		case t.whole && r.Paths > 0: // frames of its class have it
		default:
			s.calls[leaf] += float64(r.Count)
			own[leaf] += ns
		}
		for f := leaf; f >= 0; f = t.list[f].Parent {
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
	if t.whole {
		t.sumClasses(p, &s, total)
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

// sumClasses adds the rows of classes, which are in the program's frame by the rows of threads. Which threads have such
// a frame, and which has the most, is not known.
func (t *frames) sumClasses(p *parquet.Profile, s *frameSums, total []int64) {
	for i := range p.Rows {
		r, leaf := &p.Rows[i], t.of[i]
		if _, is := r.OfClass(); !is || leaf <= 0 {
			continue
		}
		s.calls[leaf] += float64(r.Count)
		for f := leaf; f > 0; f = t.list[f].Parent {
			total[f] += r.TimeNS
			s.most[f], s.whose[f], s.threads[f] = math.NaN(), -1, -1
			if c := int(r.Class); c >= 0 && c < len(s.classes) {
				s.classes[c][f] += float64(r.TimeNS)
			}
		}
	}
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
	less := rows.New("", rows.Shape{})
	for f, k := range t.list {
		if f == 0 {
			continue
		}
		parent := to[k.Parent]
		switch {
		case less.Nodes[parent].Type == othersType:
			to[f] = parent
			out++
		case keep[f]:
			k.Parent = parent
			to[f] = less.Child(k)
		default:
			to[f] = less.Child(calltree.Node{Parent: parent, Type: othersType})
			out++
		}
	}
	for i, f := range t.of {
		if f >= 0 {
			t.of[i] = to[f]
		}
	}
	t.list = less.Nodes
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
func (b *builder) addProfile() error {
	p := b.source.Profile
	if p == nil {
		return nil
	}
	named := slices.ContainsFunc(p.Rows, func(r parquet.ProfileRow) bool { return r.InPhase })
	doc := &Profile{Format: cmp.Or(p.Format, parquet.ProfileFormat), Phases: named, Names: []string{}, Groups: b.doc.Groups, Instances: []InstanceSeries{}}
	names := &namesOf{index: make(map[string]int32)}
	order := b.inThreads(p)
	classes := 0
	if m := b.source.Manifest; m != nil && len(m.Kept.Classes) > 1 {
		classes = len(m.Kept.Classes)
	}
	byPhase, err := phaseFrames(p, doc.Format, named)
	if err != nil {
		return err
	}
	byPath, err := b.pathFrames(p)
	if err != nil {
		return err
	}
	var phaseBars bars
	for _, tree := range []struct {
		name, title string
		of          *frames
	}{{"phase", "phase", byPhase}, {"path", "call path", byPath}} {
		t := tree.of
		s := t.sum(p, doc.Format, order, classes)
		// Classes have a column each.
		if out := t.fold(max(b.limits.Frames*frameColumns/(frameColumns+classes), 1), s.ns); out > 0 {
			s = t.sum(p, doc.Format, order, classes)
			doc.LeftOut = strings.TrimSpace(doc.LeftOut + fmt.Sprintf(" By %s, the %s %s with the least time are shown together, as others.",
				tree.title, units.Integer(out), units.Plural(out, "frame")))
		}
		b.addFrames("profile."+tree.name, t, s, names)
		if tree.name == "phase" {
			phaseBars = s.bars
		} else {
			doc.Paths = slices.ContainsFunc(t.list, func(k calltree.Node) bool { return k.Type == calltree.Function })
		}
	}
	b.addBars(&phaseBars, doc)
	b.addInstances(doc, classes)
	doc.Names = append(doc.Names, names.list...)
	b.doc.Profile = doc
	return nil
}

const frameColumns = 10 // that all frames have

func (b *builder) addFrames(prefix string, t *frames, s frameSums, names *namesOf) {
	n := len(t.list)
	of := make([]uint8, n)
	parent, name, place, cluster := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	for i, k := range t.list {
		of[i] = uint8(slices.Index(frameTypes, k.Type))
		text := k.Name
		switch k.Type {
		case calltree.Phase, calltree.Function, calltree.MPI:
		default: // the page has its own words
			text = ""
		}
		parent[i], name[i], place[i], cluster[i] = k.Parent, names.number(text), names.number(k.File), k.Cluster
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
