package phase

import (
	"cmp"
	"slices"

	"moriens/analysis/moment"
)

// A Sum is what a thread has of a phase path: the static view.
type Sum struct {
	Path      int32
	Intervals int64 // with those that are part of the instance of another
	// Instances are the durations of the instances: their Total is the inclusive time.
	Instances   moment.Sum
	ExclusiveNS int64
}

// Sums are those of all paths that the thread has, ascending; the first is the program's.
func (t *Timeline) Sums() (list []Sum) {
	for own := range t.sums {
		if s := t.sums[own]; s.Intervals > 0 {
			s.Path = t.of(own)
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Sum) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// A Cut is a part of a record that is not all in the phase path in which it counts. The cuts of a record follow each
// other, in one path after the other, and add up to what of it overlaps no earlier record.
type Cut struct {
	Record int32
	Path   int32
	NS     int64
	EndNS  int64 // when it ends: of all but the last one a border of phases
}

// A Located thread is in which paths its records lie.
type Located struct {
	CallPath, BurstPath []int32 // in which each counts
	Calls, Bursts       []Cut   // by record; of those that are not all in the path in which they count
	Idle                []Idle  // by path
}

// An Idle is time in a path, directly in it, without a record.
type Idle struct {
	Path                         int32
	PausedNS, UnrecordedNS       int64
	PausedParts, UnrecordedParts int64
}

// ByPath are cuts of one record with one of each path, in the order in which they are first there, and which of these
// each is part of. What a record has counted is shared among them.
func ByPath(cuts []Cut) (list []Cut, at []int) {
	at = make([]int, len(cuts))
	var place map[int32]int // in list; of few they are looked up
	for i, c := range cuts {
		k, is := 0, false
		if len(list) <= 8 {
			k = slices.IndexFunc(list, func(x Cut) bool { return x.Path == c.Path })
			is = k >= 0
		} else {
			if place == nil {
				place = make(map[int32]int)
				for k, x := range list {
					place[x.Path] = k
				}
			}
			k, is = place[c.Path]
		}
		if !is {
			k = len(list)
			if list = append(list, Cut{Record: c.Record, Path: c.Path}); place != nil {
				place[c.Path] = k
			}
		}
		list[k].NS += c.NS
		list[k].EndNS = c.EndNS
		at[i] = k
	}
	return list, at
}

// A cutter has the cuts of the record at hand.
type cutter []Cut

// add adds a part of it.
func (c *cutter) add(x Cut) {
	if n := len(*c); n > 0 && (*c)[n-1].Path == x.Path {
		last := &(*c)[n-1]
		last.NS, last.EndNS = last.NS+x.NS, x.EndNS
		return
	}
	*c = append(*c, x)
}

// end appends its cuts to a list, unless all of it is in the path in which it counts. Without any time of its own a
// record has a cut of 0 ns.
func (c *cutter) end(to *[]Cut, counts Cut, durationNS int64) {
	switch n := len(*c); {
	case n == 0 && durationNS != 0:
		*to = append(*to, counts)
	case n > 1 || n == 1 && ((*c)[0].Path != counts.Path || (*c)[0].NS != durationNS):
		*to = append(*to, *c...)
	}
	*c = (*c)[:0]
}

// Locate finds out in which paths the records of a thread lie, whose intervals are those that were laid out. Its memory
// is that of into, whose contents are lost; nil: it has its own.
func (t *Timeline) Locate(intervals []Interval, r *Records, into *Located) Located {
	var l Located
	if into != nil {
		l = Located{CallPath: into.CallPath[:0], BurstPath: into.BurstPath[:0], Calls: into.Calls[:0], Bursts: into.Bursts[:0], Idle: into.Idle[:0]}
	}
	l.CallPath = slices.Grow(l.CallPath, len(r.EnterNS))[:len(r.EnterNS)]
	l.BurstPath = slices.Grow(l.BurstPath, len(r.StartNS))[:len(r.StartNS)]
	var c cutter
	idle := idleTimes{list: l.Idle}
	counts := int32(0) // in which the record at hand does
	for w := t.walk(intervals, r, nil); w.next(); {
		path := t.PathOf(w.in)
		if w.what == Paused || w.what == Unrecorded {
			idle.add(w.what, path, w.ns)
			continue
		}
		if w.first {
			counts = path
			if w.what == Burst {
				counts = t.PathOf(w.countsIn())
				l.BurstPath[w.record] = counts
			} else {
				l.CallPath[w.record] = counts
			}
			if counts == path && w.ns == w.lastsNS {
				continue
			}
		}
		if w.ns > 0 {
			c.add(Cut{w.record, path, w.ns, w.nowNS})
		}
		if w.whole() {
			to := &l.Calls
			if w.what == Burst {
				to = &l.Bursts
			}
			c.end(to, Cut{w.record, counts, 0, w.nowNS}, w.lastsNS)
		}
	}
	slices.SortFunc(idle.list, func(a, b Idle) int { return cmp.Compare(a.Path, b.Path) })
	l.Idle = idle.list
	return l
}

// idleTimes adds up the time without records, by path.
type idleTimes struct {
	list   []Idle
	place  map[int32]int // in list
	latest int
}

func (x *idleTimes) add(what What, path int32, ns int64) {
	if ns == 0 {
		return
	}
	if x.latest >= len(x.list) || x.list[x.latest].Path != path {
		at, is := x.place[path]
		if !is {
			if x.place == nil {
				x.place = make(map[int32]int)
			}
			at = len(x.list)
			x.list, x.place[path] = append(x.list, Idle{Path: path}), at
		}
		x.latest = at
	}
	idle := &x.list[x.latest]
	if what == Paused {
		idle.PausedNS += ns
		idle.PausedParts++
	} else {
		idle.UnrecordedNS += ns
		idle.UnrecordedParts++
	}
}
