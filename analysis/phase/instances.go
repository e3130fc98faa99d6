package phase

import (
	"math"
	"sync"

	"moriens/analysis/moment"
)

// Instances are the dynamic view: what each instance of each path took, and what of it each thing that threads do.
//
// Local: Add takes a thread in. Merge: Reduce adds up the members of a team. Solve: Each hands out the sums.
type Instances struct {
	paths, things int
	most          []int64 // instances of each path on one thread
	points        []int   // of each path
	group         []int64 // instances that a point stands for
	keep          int     // values of single threads at most; beyond, none of them

	mu     sync.Mutex
	counts [][]int64       // by path and point: threads that have it
	series map[int]*series // by path and thing
	single []Single
	lost   bool // single has had to be dropped
}

// Things number what threads do in an instance. Thing Whole is the instance itself; further numbers are the caller's.
const Whole = 0

// A series has the sums of a thing in the instances of a path, a column each of one element per point.
type series struct {
	sum, direct, calls, threads, least, most, mostThread []int64
	squares                                              []moment.Wide
	longest, longestInstance                             []int64 // of Whole
	begin, end                                           []int64 // likewise
}

// A Point is what the threads of a run have of a thing in an instance, or in a group of instances that follow each
// other. Times are ns, with what lies in phases within; DirectNS without.
type Point struct {
	Path             int32
	Thing            int
	First, Instances int64 // number of the first, and how many
	Threads          int64 // that have one of them
	Calls            int64
	SumNS, DirectNS  int64
	LeastNS, MostNS  int64 // of one thread
	MostThread       int64 // the first that has MostNS
	Squares          moment.Wide
	LongestNS        int64 // of Whole: the longest instance on one thread
	LongestInstance  int64 // and its number
	BeginNS, EndNS   int64 // of Whole: when the first thread begins it, and the last one ends it
}

// A Single is what one thread has of a thing.
type Single struct {
	Thread                   int32
	Path                     int32
	Thing                    int
	First, Instances         int64
	Calls, SumNS, DirectNS   int64
	LongestNS, LongestNumber int64 // of Whole
}

// MostPoints is how many points a path has at most where there is room.
const MostPoints = 4096

// Limits say what is summed up, and how finely.
type Limits struct {
	Things int // that there are
	Points int // of a path at most
	Single int // values of single threads at most: where there are more, there are none
}

// NewInstances prepares for threads whose paths are numbered: counts[path] is the largest number of instances that a
// thread has, which is the same at all members of a team.
func NewInstances(counts []int64, l Limits) *Instances {
	x := &Instances{paths: len(counts), things: l.Things, keep: l.Single, most: counts, points: make([]int, len(counts)), group: make([]int64, len(counts)), series: make(map[int]*series)}
	x.counts = make([][]int64, len(counts))
	for p, n := range counts {
		x.group[p] = groupOf(n, l.Points)
		x.points[p] = int((n + x.group[p] - 1) / x.group[p])
		x.counts[p] = make([]int64, x.points[p])
	}
	return x
}

// groupOf is how many instances a point stands for, of so many of a path.
func groupOf(instances int64, points int) int64 {
	return max(1, (instances+int64(points)-1)/int64(points))
}

// An own has what one thread has of a thing in the instances of a path, by point.
type own []amount

type amount struct{ inclusive, direct, calls int64 }

// A tally adds up one thread.
type tally struct {
	x     *Instances
	lists []own // by path and thing; nil: it has none
	keys  []int // of which there are lists
	room  *room
}

// A room is memory for amounts of one thread after the other, which are 0 in between: taking it from the system for
// each of many threads takes longer than adding up.
type room struct {
	all  []amount
	used int
}

var rooms = sync.Pool{New: func() any { return new(room) }}

func (r *room) take(n int) own {
	if len(r.all)-r.used < n {
		r.all, r.used = make([]amount, max(n, 2*len(r.all))), 0 // what was taken is let go with its tally
	}
	r.used += n
	return own(r.all[r.used-n : r.used : r.used])
}

func (r *room) giveBack() {
	clear(r.all[:r.used])
	r.used = 0
	rooms.Put(r)
}

func (l *tally) of(path int32, thing int) own {
	key := int(path)*l.x.things + thing
	if l.lists[key] == nil {
		l.lists[key] = l.room.take(l.x.points[path])
		l.keys = append(l.keys, key)
	}
	return l.lists[key]
}

// Add takes a thread in, whose paths are numbered, with the intervals that were laid out. thing says what a call, burst
// or pause is, or what is not recorded, whose number is 0.
func (x *Instances) Add(thread int32, t *Timeline, intervals []Interval, r *Records, thing func(what What, record int32) int) {
	l := &tally{x: x, lists: make([]own, x.paths*x.things), room: rooms.Get().(*room)}
	defer l.room.giveBack()
	program := &l.of(0, Whole)[0]
	what := 0
	for w := t.walk(intervals, r, x); w.next(); {
		if w.first || w.what == Unrecorded {
			what = thing(w.what, w.record)
		}
		if w.first && w.what != Paused {
			n := int64(1)
			if w.what == Call && r.Calls != nil {
				n = r.Calls[w.record]
			}
			path, point := x.place(t, w.countsIn())
			l.of(path, what)[point].calls += n
		}
		if w.ns == 0 {
			continue
		}
		if len(w.open) == 0 {
			program.direct += w.ns
			l.of(0, what)[0].direct += w.ns
			continue
		}
		at := &w.open[len(w.open)-1]
		l.of(at.path, Whole)[at.point].direct += w.ns
		a := &l.of(at.path, what)[at.point]
		a.direct += w.ns
		a.inclusive += w.ns
		for k := at.above; k >= 0; k = at.above {
			at = &w.open[k]
			l.of(at.path, what)[at.point].inclusive += w.ns
		}
	}
	l.inProgram()
	program.inclusive, program.calls = t.EndNS-t.BeginNS, 1
	extents := make([]*extent, x.paths)
	extents[0] = newExtent(1)
	extents[0].take(0, Span{t.BeginNS, t.EndNS}, 0)
	for i := range intervals {
		path, point := x.place(t, int32(i))
		a := &l.of(path, Whole)[point]
		a.calls++
		if number, whole := t.Number(int32(i)); whole {
			s := Span{intervals[i].BeginNS, intervals[i].EndNS}
			a.inclusive += s.EndNS - s.BeginNS
			if extents[path] == nil {
				extents[path] = newExtent(x.points[path])
			}
			extents[path].take(int(point), s, int64(number))
		}
	}
	x.take(thread, l, extents)
}

// place is in which path and point an interval of a thread is, or the program.
func (x *Instances) place(t *Timeline, interval int32) (path, point int32) {
	if interval < 0 {
		return 0, 0
	}
	path = t.Path[interval]
	number, _ := t.Number(interval)
	if group := x.group[path]; group > 1 {
		return path, int32(int64(number) / group)
	}
	return path, number
}

// inProgram gives the program all time: each part lies directly in one phase or in the program.
func (l *tally) inProgram() {
	for i := range len(l.keys) {
		thing := l.keys[i] % l.x.things
		if thing == Whole {
			continue
		}
		ns := int64(0)
		for _, a := range l.lists[l.keys[i]] {
			ns += a.direct
		}
		if ns != 0 {
			l.of(0, thing)[0].inclusive += ns
		}
	}
}

// Expect says which threads will be added. Values of single threads are not collected in vain: where there are more
// instances alone than may be kept, none are.
func (x *Instances) Expect(threads []*Timeline) {
	n := 0
	for _, t := range threads {
		last := make([]int32, x.paths) // by path: the latest point, plus 1
		for i := range t.Path {
			_, whole := t.Number(int32(i))
			if path, point := x.place(t, int32(i)); whole && point+1 > last[path] { // another one, if not seen out of order
				last[path] = point + 1
				n++
			}
		}
		if n > x.keep {
			x.lost = true
			return
		}
	}
}

// An extent has for each point of a path what one thread has of its instances: the longest, and when the first begins
// and the last ends. A point without one has -1 as its longest.
type extent struct {
	ns, number []int64
	spans      []Span
}

func newExtent(points int) *extent {
	e := &extent{make([]int64, points), make([]int64, points), make([]Span, points)}
	for i := range e.ns {
		e.ns[i] = -1
	}
	return e
}

// take adds an instance, which is behind those before it.
func (e *extent) take(point int, s Span, number int64) {
	if e.ns[point] < 0 {
		e.spans[point] = s
	}
	e.spans[point].EndNS = s.EndNS
	if ns := s.EndNS - s.BeginNS; ns > e.ns[point] {
		e.ns[point], e.number[point] = ns, number
	}
}

// take adds what a thread has. All are sums, least and largest values, so that the order of threads changes nothing.
func (x *Instances) take(thread int32, l *tally, extents []*extent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for path := range x.paths {
		for point, a := range l.lists[path*x.things+Whole] {
			if a.calls > 0 {
				x.counts[path][point]++
			}
		}
	}
	for _, key := range l.keys {
		path, thing := key/x.things, key%x.things
		s := x.series[key]
		if s == nil {
			s = newSeries(x.points[path], thing == Whole)
			x.series[key] = s
		}
		for point, a := range l.lists[key] {
			ns := a.inclusive
			if ns == 0 && a.calls == 0 {
				continue
			}
			s.add(point, a, int64(thread))
			if thing == Whole {
				s.extend(point, extents[path])
			}
			if x.lost {
				continue
			}
			single := Single{
				Thread: thread, Path: int32(path), Thing: thing, First: int64(point) * x.group[path], Instances: x.size(path, point),
				Calls: a.calls, SumNS: ns, DirectNS: a.direct,
			}
			if thing == Whole {
				e := extents[path]
				single.LongestNS, single.LongestNumber = e.ns[point], e.number[point]
			}
			if x.single = append(x.single, single); len(x.single) > x.keep {
				x.single, x.lost = nil, true
			}
		}
	}
}

// size is how many instances a point stands for: the last may be of fewer than its group.
func (x *Instances) size(path, point int) int64 {
	return min(x.group[path], x.most[path]-int64(point)*x.group[path])
}

func newSeries(points int, whole bool) *series {
	column := func(with int64) []int64 {
		c := make([]int64, points)
		for i := range c {
			c[i] = with
		}
		return c
	}
	s := &series{
		sum: column(0), direct: column(0), calls: column(0), threads: column(0), least: column(math.MaxInt64), most: column(-1), mostThread: column(math.MaxInt64),
		squares: make([]moment.Wide, points),
	}
	if whole {
		s.longest, s.longestInstance = column(-1), column(math.MaxInt64)
		s.begin, s.end = column(math.MaxInt64), column(math.MinInt64)
	}
	return s
}

func (s *series) add(point int, a amount, thread int64) {
	ns := a.inclusive
	s.sum[point] += ns
	s.direct[point] += a.direct
	s.calls[point] += a.calls
	s.threads[point]++
	s.least[point] = min(s.least[point], ns)
	s.squares[point] = s.squares[point].Plus(moment.Square(ns))
	if ns > s.most[point] || ns == s.most[point] && thread < s.mostThread[point] {
		s.most[point], s.mostThread[point] = ns, thread
	}
}

func (s *series) extend(point int, e *extent) {
	if ns, number := e.ns[point], e.number[point]; ns > s.longest[point] || ns == s.longest[point] && number < s.longestInstance[point] {
		s.longest[point], s.longestInstance[point] = ns, number
	}
	s.begin[point], s.end[point] = min(s.begin[point], e.spans[point].BeginNS), max(s.end[point], e.spans[point].EndNS)
}
