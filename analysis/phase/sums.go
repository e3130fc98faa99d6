package phase

import (
	"cmp"
	"slices"
	"sync"

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
func (t *Timeline) Sums(intervals []Interval) []Sum {
	var list []Sum
	var place []int // by path, plus 1
	of := func(path int32) *Sum {
		for int(path) >= len(place) {
			place = append(place, 0)
		}
		if place[path] == 0 {
			list = append(list, Sum{Path: path})
			place[path] = len(list)
		}
		return &list[place[path]-1]
	}
	program := of(0)
	program.Intervals = 1
	program.Instances.Add(t.EndNS - t.BeginNS)
	for i := range intervals {
		s := of(t.Path[i])
		s.Intervals++
		if t.Instance[i] == int32(i) {
			s.Instances.Add(intervals[i].EndNS - intervals[i].BeginNS)
		}
	}
	for k, p := range t.pieces {
		endNS := t.EndNS
		if k+1 < len(t.pieces) {
			endNS = t.pieces[k+1].fromNS
		}
		of(t.PathOf(p.interval)).ExclusiveNS += endNS - p.fromNS
	}
	slices.SortFunc(list, func(a, b Sum) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// A Cut is the part of a record in a phase path where the record is not all in the one in which it counts. The cuts of
// a record add up to what of it overlaps no earlier record.
type Cut struct {
	Record int32
	Path   int32
	NS     int64
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

// cutBuffers are for cuts of a thread until it is known how many there are.
var cutBuffers = sync.Pool{New: func() any { return new([2][]Cut) }}

// Locate finds out in which paths the records of a thread lie.
func (t *Timeline) Locate(r *Records) Located {
	buffer := cutBuffers.Get().(*[2][]Cut)
	defer cutBuffers.Put(buffer)
	l := Located{CallPath: make([]int32, len(r.EnterNS)), BurstPath: make([]int32, len(r.StartNS)), Calls: buffer[0][:0], Bursts: buffer[1][:0]}
	idle := make(map[int32]*Idle)
	var latest *Idle
	of := func(path int32) *Idle {
		if latest != nil && latest.Path == path {
			return latest
		}
		if latest = idle[path]; latest == nil {
			latest = &Idle{Path: path}
			idle[path] = latest
		}
		return latest
	}
	var open Cut // the part at hand: of one record and path
	openWhat := Unrecorded
	had := false // the record at hand has other parts
	flush := func(last bool) {
		if openWhat != Call && openWhat != Burst {
			return
		}
		counts, cuts := l.CallPath, &l.Calls
		durationNS := func() int64 { return r.ExitNS[open.Record] - r.EnterNS[open.Record] }
		if openWhat == Burst {
			counts, cuts = l.BurstPath, &l.Bursts
			durationNS = func() int64 { return r.DurationNS[open.Record] }
		}
		cut := had || !last || counts[open.Record] != open.Path || open.NS != durationNS()
		if cut && (open.NS > 0 || last && !had) { // without any time of its own a record has a cut of 0 ns
			*cuts = append(*cuts, open)
		}
		had = had || cut && open.NS > 0
	}
	next := func(what What, record int32) {
		if openWhat != what || open.Record != record {
			flush(true)
			open, openWhat, had = Cut{Record: record, Path: -1}, what, false
		}
	}
	t.Walk(r, func(p Part) {
		path := t.PathOf(p.Interval)
		switch p.What {
		case Paused:
			of(path).PausedNS += p.NS
			of(path).PausedParts++
		case Unrecorded:
			of(path).UnrecordedNS += p.NS
			of(path).UnrecordedParts++
		default:
			if open.Path >= 0 && open.Path != path {
				flush(false)
				open.NS = 0
			}
			open.Path = path
			open.NS += p.NS
		}
	}, func(what What, record, interval int32) {
		next(what, record)
		switch what {
		case Call:
			l.CallPath[record] = t.PathOf(interval)
		case Burst:
			l.BurstPath[record] = t.PathOf(interval)
		}
		open.Path = t.PathOf(interval)
	})
	flush(true)
	*buffer = [2][]Cut{l.Calls, l.Bursts}
	l.Calls, l.Bursts = append([]Cut(nil), l.Calls...), append([]Cut(nil), l.Bursts...)
	for _, x := range idle {
		l.Idle = append(l.Idle, *x)
	}
	slices.SortFunc(l.Idle, func(a, b Idle) int { return cmp.Compare(a.Path, b.Path) })
	return l
}
