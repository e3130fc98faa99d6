package levels

import (
	"cmp"
	"slices"

	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// ByClass makes the rows of a profile fewer: where several call paths lead to one place, the rows of threads are by
// place, and those by call path are summed over the classes of threads; of is each thread's. So it is with the places
// of which fewer rows remain by that. It returns the profile itself, and nil, where there is no such place. The profile
// is not changed.
//
// For each thread the rows of a phase have the same time as before, and for each class those by place as those by call
// path.
func ByClass(p *parquet.Profile, run *trace.Run, of []int32) (*parquet.Profile, *rundir.ByClass) {
	m := newMerging(p, run, of)
	which, places, callPaths := m.worthwhile()
	if places == 0 {
		return p, nil
	}
	return m.merge(which), &rundir.ByClass{Places: places, CallPaths: callPaths}
}

// A merging makes rows of rows. Those of one thread and kind stand together.
type merging struct {
	p       *parquet.Profile
	kept    []rowKey // by row, without place: path and phase are numbers of their names
	places  []int32  // by row: where its calls are made; -1: it has none, or nothing is to be merged there
	classes []int32  // by row: that of its thread, of traffic of the rank's first; -1 = none
	names   []string // of places
	paths   []int32  // by place: call paths that lead there
}

// A rowKey is what rows that become one have in common, beside their thread.
type rowKey struct {
	class                           int32 // -1: it is of a thread
	kind                            kindOf
	path, phase                     int32
	cluster, ofKind, context, found int32
	inPhase                         bool
}

// A kindOf numbers kinds of rows that there are of classes.
type kindOf uint8

func newMerging(p *parquet.Profile, run *trace.Run, of []int32) *merging {
	type rankName struct{ world, rank int32 }
	classOf, classOfRank := make(map[rundir.ThreadName]int32), make(map[rankName]int32)
	for i := range run.Threads {
		t := &run.Threads[i]
		classOf[rundir.NameOf(t)] = of[i]
		rank := rankName{int32(t.World), int32(t.Rank)}
		if _, known := classOfRank[rank]; !known {
			classOfRank[rank] = of[i]
		}
	}
	n := len(p.Rows)
	m := &merging{p: p, kept: make([]rowKey, n), places: make([]int32, n), classes: make([]int32, n)}
	placeOf := make(map[string]int32) // by call path
	number := make(map[string]int32)  // of places
	paths, phases, kinds := newNumbers(), newNumbers(), newNumbers()
	names, places := run.Names(), run.PlaceNames()
	for i, name := range names {
		k, known := number[places[i]]
		if !known {
			k = int32(len(m.names))
			number[places[i]] = k
			m.names = append(m.names, places[i])
		}
		placeOf[name] = k
	}
	m.paths = make([]int32, len(m.names))
	var placeOfPath []int32 // by number of the path
	var last rundir.ThreadName
	class, known := int32(-1), false
	for i := range p.Rows {
		r := &p.Rows[i]
		m.places[i], m.classes[i] = -1, -1
		switch r.Kind {
		case parquet.ProfileDurations, parquet.ProfileIterations:
			continue
		case parquet.ProfileTraffic:
			m.classes[i] = classOfRank[rankName{r.World, r.Rank}]
		default:
			if name := (rundir.ThreadName{World: int(r.World), Rank: int(r.Rank), Thread: int(r.Thread)}); !known || name != last {
				class, last, known = classOf[name], name, true
			}
			m.classes[i] = class
		}
		if _, has := parquet.ClassKind(r.Kind); !has {
			continue
		}
		path := paths.of(r.CallPath)
		if int(path) == len(placeOfPath) { // it is seen for the first time
			place, is := placeOf[r.CallPath]
			if !is {
				place = -1
			} else {
				m.paths[place]++
			}
			placeOfPath = append(placeOfPath, place)
		}
		m.places[i] = placeOfPath[path]
		m.kept[i] = rowKey{
			class: -1, kind: kindOf(kinds.of(r.Kind)), path: path, phase: phases.of(r.Phase), cluster: r.Cluster, ofKind: r.OfKind, context: r.Context,
			found: r.Iterations, inPhase: r.InPhase,
		}
	}
	return m
}

// numbers are given to texts, which come again and again.
type numbers struct {
	known  map[string]int32
	text   string
	latest int32
}

func newNumbers() *numbers { return &numbers{known: make(map[string]int32), latest: -1} }

func (n *numbers) of(text string) int32 {
	if n.latest >= 0 && text == n.text {
		return n.latest
	}
	k, known := n.known[text]
	if !known {
		k = int32(len(n.known))
		n.known[text] = k
	}
	n.text, n.latest = text, k
	return k
}

// placeKey is the key of a row of a thread by place: in which functions that lies is not known.
func (m *merging) placeKey(i int) rowKey {
	key := m.kept[i]
	key.path, key.context = m.places[i], -1
	return key
}

func (m *merging) classKey(i int) rowKey {
	key := m.kept[i]
	key.class = m.classes[i]
	return key
}

// byPlace is a row of a thread by place.
func (m *merging) byPlace(i int) parquet.ProfileRow {
	r := m.p.Rows[i]
	r.CallPath, r.Paths, r.Class = m.names[m.places[i]], m.paths[m.places[i]], m.classes[i]
	if r.Kind == parquet.ProfileComputation {
		r.Context = -1
	}
	return r
}

// ofClass is a row of a thread as that of its class.
func (m *merging) ofClass(i int) parquet.ProfileRow {
	r := m.p.Rows[i]
	r.Kind, _ = parquet.ClassKind(r.Kind)
	r.Class, r.World, r.Rank, r.Thread = m.classes[i], 0, 0, 0
	return r
}

// sameThread says whether a row is of the same thread as the one before it.
func (m *merging) sameThread(i int) bool {
	if i == 0 {
		return false
	}
	a, b := &m.p.Rows[i-1], &m.p.Rows[i]
	return a.World == b.World && a.Rank == b.Rank && a.Thread == b.Thread
}

// worthwhile says by place whether fewer rows remain.
func (m *merging) worthwhile() (list []bool, places, callPaths int) {
	less := make([]int, len(m.names))
	ofThread, ofClass := make(map[rowKey]bool), make(map[rowKey]bool)
	count := func(seen map[rowKey]bool, place int32, key rowKey) {
		if !seen[key] {
			seen[key] = true
			less[place]--
		}
	}
	for i, place := range m.places {
		if !m.sameThread(i) {
			clear(ofThread)
		}
		if place < 0 || m.paths[place] < 2 {
			continue
		}
		less[place]++
		count(ofThread, place, m.placeKey(i))
		count(ofClass, place, m.classKey(i))
	}
	list = make([]bool, len(less))
	for place, rows := range less {
		if list[place] = rows > 0; list[place] {
			places, callPaths = places+1, callPaths+int(m.paths[place])
		}
	}
	return list, places, callPaths
}

func (m *merging) merge(places []bool) *parquet.Profile {
	out := &parquet.Profile{Format: m.p.Format, Counters: m.p.Counters, Classes: true}
	add := func(to *[]parquet.ProfileRow, at map[rowKey]int, key rowKey, row func() parquet.ProfileRow, more *parquet.ProfileRow) int {
		k, known := at[key]
		if !known {
			k = len(*to)
			at[key] = k
			r := row()
			r.Counters = slices.Clone(r.Counters)
			*to = append(*to, r)
			return k
		}
		addRow(&(*to)[k], more)
		return k
	}
	var moved, classes []parquet.ProfileRow
	var latest []rundir.ThreadName // by row of a class: the thread that was added last
	ofThread, ofClass := make(map[rowKey]int), make(map[rowKey]int)
	for i := range m.p.Rows {
		if !m.sameThread(i) {
			clear(ofThread)
		}
		from := &m.p.Rows[i]
		if m.places[i] < 0 || !places[m.places[i]] {
			r := *from
			r.Class = m.classes[i]
			out.Rows = append(out.Rows, r)
			continue
		}
		to := &out.Rows
		if from.Kind == parquet.ProfileTraffic {
			to = &moved
		}
		add(to, ofThread, m.placeKey(i), func() parquet.ProfileRow { return m.byPlace(i) }, from)
		k := add(&classes, ofClass, m.classKey(i), func() parquet.ProfileRow { return m.ofClass(i) }, from)
		name := rundir.ThreadName{World: int(from.World), Rank: int(from.Rank), Thread: int(from.Thread)}
		if k == len(latest) {
			latest = append(latest, name)
			classes[k].Threads = 1
		} else if latest[k] != name {
			latest[k] = name
			classes[k].Threads++
		}
	}
	slices.SortStableFunc(classes, func(a, b parquet.ProfileRow) int { return cmp.Compare(a.Class, b.Class) })
	out.Rows = append(append(out.Rows, moved...), classes...)
	return out
}

// addRow adds a row to one of the same key.
func addRow(to, r *parquet.ProfileRow) {
	to.MinNS, to.MaxNS = extremes(to.Records > 0, r.Records > 0, [4]int64{to.MinNS, to.MaxNS, r.MinNS, r.MaxNS})
	for k := range r.Counters {
		a, b := &to.Counters[k], &r.Counters[k]
		a.Min, a.Max = extremes(to.Count > a.Missing, r.Count > b.Missing, [4]int64{a.Min, a.Max, b.Min, b.Max})
		a.Sum, a.Squares, a.Missing = calltree.Sum(a.Sum, b.Sum), a.Squares+b.Squares, a.Missing+b.Missing
	}
	to.Count, to.Records = to.Count+r.Count, to.Records+r.Records
	to.TimeNS, to.WholeNS, to.EstimatedNS = to.TimeNS+r.TimeNS, to.WholeNS+r.WholeNS, to.EstimatedNS+r.EstimatedNS
	to.SquaresNS2 += r.SquaresNS2
	to.InTraffic = to.InTraffic && r.InTraffic // else that has the bytes of a part
	to.SentBytes, to.ReceivedBytes = to.SentBytes+r.SentBytes, to.ReceivedBytes+r.ReceivedBytes
}

// extremes are the least and the most of two, of which each may have none.
func extremes(has, other bool, x [4]int64) (least, most int64) {
	switch {
	case !other:
		return x[0], x[1]
	case !has:
		return x[2], x[3]
	}
	return min(x[0], x[2]), max(x[1], x[3])
}
