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
		x.group[p] = max(1, (n+int64(l.Points)-1)/int64(l.Points))
		x.points[p] = int((n + x.group[p] - 1) / x.group[p])
		x.counts[p] = make([]int64, x.points[p])
	}
	return x
}

// Counts raises to, which has an element for each path, to the number of instances that a thread has of each.
func (t *Timeline) Counts(to []int64) {
	to[0] = max(to[0], 1)
	for i, path := range t.Path {
		to[path] = max(to[path], int64(t.Number[i])+1)
	}
}

// An own has what one thread has of a thing in the instances of a path.
type own struct{ inclusive, direct, calls []int64 }

// A tally adds up one thread.
type tally struct {
	x     *Instances
	slots []int32 // by path and thing, plus 1
	list  []own
	keys  []int
}

func (l *tally) of(path int32, thing int) *own {
	key := int(path)*l.x.things + thing
	k := l.slots[key]
	if k == 0 {
		n := l.x.points[path]
		buffer := make([]int64, 3*n)
		l.list = append(l.list, own{buffer[:n:n], buffer[n : 2*n : 2*n], buffer[2*n:]})
		l.keys = append(l.keys, key)
		k = int32(len(l.list))
		l.slots[key] = k
	}
	return &l.list[k-1]
}

// Add takes a thread in, whose paths are numbered. thing says what a call, burst or pause is, or what is not
// recorded, whose number is 0.
func (x *Instances) Add(thread int32, t *Timeline, intervals []Interval, r *Records, thing func(what What, record int32) int) {
	l := &tally{x: x, slots: make([]int32, x.paths*x.things)}
	t.Walk(r, func(p Part) {
		what := thing(p.What, p.Record)
		in, direct := p.Interval, true
		if in >= 0 {
			in = t.Instance[in]
		}
		for {
			path, point := t.PathOf(in), t.point(x, in)
			o := l.of(path, what)
			o.inclusive[point] += p.NS
			if direct {
				o.direct[point] += p.NS
				l.of(path, Whole).direct[point] += p.NS
			}
			if in < 0 {
				return
			}
			in, direct = t.Above[in], false
		}
	}, func(what What, record, in int32) {
		if what == Paused {
			return
		}
		n := int64(1)
		if what == Call && r.Calls != nil {
			n = r.Calls[record]
		}
		if in >= 0 {
			in = t.Instance[in]
		}
		l.of(t.PathOf(in), thing(what, record)).calls[t.point(x, in)] += n
	})
	program := l.of(0, Whole)
	program.inclusive[0], program.calls[0] = t.EndNS-t.BeginNS, 1
	longest := map[int32]*longest{0: {ns: []int64{t.EndNS - t.BeginNS}, number: []int64{0}}}
	for i := range intervals {
		point := t.point(x, int32(i))
		o := l.of(t.Path[i], Whole)
		o.calls[point]++
		if t.Instance[i] == int32(i) {
			ns := intervals[i].EndNS - intervals[i].BeginNS
			o.inclusive[point] += ns
			longestOf(longest, t.Path[i], x.points[t.Path[i]]).take(point, ns, int64(t.Number[i]))
		}
	}
	x.take(thread, l, longest)
}

// point is that of an interval's instance, or of the program.
func (t *Timeline) point(x *Instances, in int32) int {
	if in < 0 {
		return 0
	}
	return int(int64(t.Number[in]) / x.group[t.Path[in]])
}

// A longest has for each point of a path the longest instance on one thread; -1: none.
type longest struct{ ns, number []int64 }

func longestOf(all map[int32]*longest, path int32, points int) *longest {
	if all[path] == nil {
		g := &longest{make([]int64, points), make([]int64, points)}
		for i := range g.ns {
			g.ns[i] = -1
		}
		all[path] = g
	}
	return all[path]
}

func (g *longest) take(point int, ns, number int64) {
	if ns > g.ns[point] {
		g.ns[point], g.number[point] = ns, number
	}
}

// take adds what a thread has. All are sums, least and largest values, so that the order of threads changes nothing.
func (x *Instances) take(thread int32, l *tally, longest map[int32]*longest) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for path := range x.paths {
		if k := l.slots[path*x.things+Whole]; k > 0 {
			for point, n := range l.list[k-1].calls {
				if n > 0 {
					x.counts[path][point]++
				}
			}
		}
	}
	for i, key := range l.keys {
		path, thing := key/x.things, key%x.things
		s := x.series[key]
		if s == nil {
			s = newSeries(x.points[path], thing == Whole)
			x.series[key] = s
		}
		o := &l.list[i]
		for point, ns := range o.inclusive {
			if ns == 0 && o.calls[point] == 0 {
				continue
			}
			s.add(point, ns, o.direct[point], o.calls[point], int64(thread))
			single := Single{
				Thread: thread, Path: int32(path), Thing: thing, First: int64(point) * x.group[path], Instances: x.size(path, point),
				Calls: o.calls[point], SumNS: ns, DirectNS: o.direct[point],
			}
			if thing == Whole {
				g := longest[int32(path)]
				s.lengthen(point, g.ns[point], g.number[point])
				single.LongestNS, single.LongestNumber = g.ns[point], g.number[point]
			}
			if x.lost {
				continue
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
	}
	return s
}

func (s *series) add(point int, ns, direct, calls, thread int64) {
	s.sum[point] += ns
	s.direct[point] += direct
	s.calls[point] += calls
	s.threads[point]++
	s.least[point] = min(s.least[point], ns)
	s.squares[point] = s.squares[point].Plus(moment.Square(ns))
	if ns > s.most[point] || ns == s.most[point] && thread < s.mostThread[point] {
		s.most[point], s.mostThread[point] = ns, thread
	}
}

func (s *series) lengthen(point int, ns, number int64) {
	if ns > s.longest[point] || ns == s.longest[point] && number < s.longestInstance[point] {
		s.longest[point], s.longestInstance[point] = ns, number
	}
}
