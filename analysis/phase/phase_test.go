package phase

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/moment"
	"moriens/internal/team"
)

// A planted thread is short enough to ask each of its nanoseconds.
type planted struct {
	beginNS, endNS int64
	intervals      []Interval
	records        Records
}

// plant draws nested intervals and records that follow each other, with gaps; with marks before the first record and
// behind the last.
func plant(t *rapid.T, label string) (p planted) {
	draw := func(most int, what string) int64 { return int64(rapid.IntRange(0, most).Draw(t, label+what)) }
	now := draw(5, "origin")
	p.beginNS = now
	for range rapid.IntRange(0, 12).Draw(t, label+"records") {
		from := now + draw(4, "gap")
		now = from + draw(9, "length")
		switch draw(5, "what") {
		case 0:
			p.records.Pauses = append(p.records.Pauses, Span{from, now})
		case 1, 2:
			p.records.StartNS, p.records.DurationNS = append(p.records.StartNS, from), append(p.records.DurationNS, now-from)
		default:
			p.records.EnterNS, p.records.ExitNS = append(p.records.EnterNS, from), append(p.records.ExitNS, now)
			p.records.Calls = append(p.records.Calls, 1+draw(3, "polls"))
		}
	}
	p.endNS = now
	var nest func(depth int32, from, to int64)
	nest = func(depth int32, from, to int64) {
		for range rapid.IntRange(0, 3).Draw(t, label+"intervals") {
			begin := from + draw(int(max(0, to-from)), "begin")
			end := begin + draw(int(max(0, to-begin)), "duration")
			p.intervals = append(p.intervals, Interval{Name: uint32(draw(2, "name")), Depth: depth, BeginNS: begin, EndNS: end, Number: -1})
			if depth < 3 {
				nest(depth+1, begin, end)
			}
			from = end
		}
	}
	nest(0, max(0, p.beginNS-draw(3, "early")), p.endNS+draw(3, "late"))
	return p
}

// An answer is what each nanosecond says.
type answer struct {
	inclusive, exclusive map[string]int64
	spent                map[spot]int64 // directly in a path
	within               map[spot]int64 // with the phases in it, by instance
}

type spot struct {
	path     string
	instance int
	what     What
	record   int // of calls and bursts
}

// names are the path of an interval, in which one directly in another of the same name is part of it, and those that
// are open round it, itself included: one for each instance.
func (p *planted) open(ns int64) (paths []string, instances []int) {
	path, last := "", ""
	count := make(map[string]int) // instances that have begun
	for i := range p.intervals {
		x := &p.intervals[i]
		chain := p.chain(i)
		if chain.outer == i {
			count[chain.path]++
		}
		// Of intervals that begin and end at one time none has a nanosecond.
		if x.BeginNS <= ns && ns < x.EndNS && chain.path != last {
			path, last = chain.path, chain.path
			paths, instances = append(paths, path), append(instances, count[path]-1)
		}
	}
	return paths, instances
}

type chain struct {
	path  string
	outer int
}

// chain is the path of an interval by the depths of those before it.
func (p *planted) chain(i int) chain {
	x := &p.intervals[i]
	if x.Depth == 0 {
		return chain{string(rune('a' + x.Name)), i}
	}
	k := i - 1
	for p.intervals[k].Depth != x.Depth-1 {
		k--
	}
	up := p.chain(k)
	name := string(rune('a' + x.Name))
	if up.path[len(up.path)-1:] == name {
		return up
	}
	return chain{up.path + "/" + name, i}
}

// at is the record that has a nanosecond.
func (p *planted) at(ns int64) (What, int) {
	for i, from := range p.records.EnterNS {
		if from <= ns && ns < p.records.ExitNS[i] {
			return Call, i
		}
	}
	for i, from := range p.records.StartNS {
		if from <= ns && ns < from+p.records.DurationNS[i] {
			return Burst, i
		}
	}
	for i, x := range p.records.Pauses {
		if x.BeginNS <= ns && ns < x.EndNS {
			return Paused, i
		}
	}
	return Unrecorded, 0
}

func (p *planted) ask() answer {
	a := answer{inclusive: map[string]int64{}, exclusive: map[string]int64{}, spent: map[spot]int64{}, within: map[spot]int64{}}
	begin, end := p.beginNS, p.endNS
	for _, x := range p.intervals {
		begin, end = min(begin, x.BeginNS), max(end, x.EndNS)
	}
	for ns := begin; ns < end; ns++ {
		paths, instances := p.open(ns)
		paths, instances = append([]string{""}, paths...), append([]int{0}, instances...)
		what, record := p.at(ns)
		in := paths[len(paths)-1]
		a.exclusive[in]++
		a.spent[spot{in, 0, what, record}]++
		for k, path := range paths {
			a.inclusive[path]++
			a.within[spot{path, instances[k], what, record}]++
		}
	}
	return a
}

func layAll(t *rapid.T, list []planted) ([]Timeline, *Paths) {
	lines := make([]Timeline, len(list))
	for i := range list {
		var err error
		if lines[i], err = Lay(list[i].beginNS, list[i].endNS, list[i].intervals); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := Number(lines, team.Threads{})
	if err != nil {
		t.Fatal(err)
	}
	return lines, paths
}

func text(paths *Paths, path int32) string {
	s := ""
	for k, name := range paths.Names(path) {
		if k > 0 {
			s += "/"
		}
		s += string(rune('a' + name))
	}
	return s
}

func positive[K comparable](m map[K]int64) map[K]int64 {
	maps.DeleteFunc(m, func(_ K, n int64) bool { return n == 0 })
	return m
}

// Sums, cuts and idle times are what every nanosecond says.
func TestStatic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := []planted{plant(t, "first "), plant(t, "second ")}
		lines, paths := layAll(t, list)
		var memory Located // of the thread before
		for i := range list {
			p, want := &list[i], list[i].ask()
			inclusive, exclusive := map[string]int64{}, map[string]int64{}
			total, intervals := int64(0), int64(0)
			for _, s := range lines[i].Sums() {
				inclusive[text(paths, s.Path)], exclusive[text(paths, s.Path)] = s.Instances.Total, s.ExclusiveNS
				total += s.ExclusiveNS
				intervals += s.Intervals
			}
			if !maps.Equal(positive(inclusive), positive(want.inclusive)) || !maps.Equal(positive(exclusive), positive(want.exclusive)) {
				t.Fatalf("%+v: inclusive %v, exclusive %v, want %v, %v", *p, inclusive, exclusive, want.inclusive, want.exclusive)
			}
			if total != lines[i].EndNS-lines[i].BeginNS || intervals != int64(len(p.intervals))+1 {
				t.Fatalf("exclusive times are %d ns of %d; %d intervals", total, lines[i].EndNS-lines[i].BeginNS, intervals)
			}
			l := lines[i].Locate(p.intervals, &p.records, &memory)
			if got := spentOf(p, &l, paths); !maps.Equal(got, positive(want.spent)) {
				t.Fatalf("%+v: spent\n%v, want\n%v", *p, got, want.spent)
			}
			for k, enter := range p.records.EnterNS {
				open, _ := p.open(enter)
				if got, in := text(paths, l.CallPath[k]), append([]string{""}, open...); got != in[len(in)-1] {
					t.Fatalf("%+v: call %d counts in %q, want %q", *p, k, got, in)
				}
			}
		}
	})
}

// spentOf is the time that each record has in each path, by its cuts or as a whole.
func spentOf(p *planted, l *Located, paths *Paths) map[spot]int64 {
	got := map[spot]int64{}
	add := func(what What, record int, path int32, ns int64) { got[spot{text(paths, path), 0, what, record}] += ns }
	has := func(cuts []Cut, record int) bool {
		return slices.ContainsFunc(cuts, func(c Cut) bool { return int(c.Record) == record })
	}
	for k, enter := range p.records.EnterNS {
		if !has(l.Calls, k) {
			add(Call, k, l.CallPath[k], p.records.ExitNS[k]-enter)
		}
	}
	for k, ns := range p.records.DurationNS {
		if !has(l.Bursts, k) {
			add(Burst, k, l.BurstPath[k], ns)
		}
	}
	for _, c := range l.Calls {
		add(Call, int(c.Record), c.Path, c.NS)
	}
	for _, c := range l.Bursts {
		add(Burst, int(c.Record), c.Path, c.NS)
	}
	for _, x := range l.Idle {
		add(Unrecorded, 0, x.Path, x.UnrecordedNS)
	}
	positive(got)
	for k, x := range p.records.Pauses { // which Idle does not distinguish
		for ns := x.BeginNS; ns < x.EndNS; ns++ {
			open, _ := p.open(ns)
			in := append([]string{""}, open...)
			got[spot{in[len(in)-1], 0, Paused, k}]++
		}
	}
	return got
}

// thingOf numbers calls from 10 and bursts from 100 on.
func thingOf(what What, record int32) int {
	switch what {
	case Call:
		return 10 + int(record)
	case Burst:
		return 100 + int(record)
	}
	return 1 + int(what)
}

const things = 200

// What instances have is what every nanosecond says, of both threads together, and in whatever order they come.
func TestDynamic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := []planted{plant(t, "first "), plant(t, "second "), plant(t, "third ")}
		lines, paths := layAll(t, list)
		counts := make([]int64, paths.Len())
		for i := range lines {
			lines[i].Counts(counts)
		}
		sum := func(order []int) ([]Point, []Single) {
			x := NewInstances(slices.Clone(counts), Limits{things, MostPoints, math.MaxInt})
			for _, i := range order {
				x.Add(int32(i), &lines[i], list[i].intervals, &list[i].records, thingOf)
			}
			if err := x.Reduce(team.Solo{}); err != nil {
				t.Fatal(err)
			}
			var points []Point
			x.Each(func(p Point) { points = append(points, p) })
			single, all := x.Single()
			if !all {
				t.Fatal("values of single threads are lacking")
			}
			return points, single
		}
		points, single := sum([]int{0, 1, 2})
		again, singleAgain := sum([]int{2, 0, 1})
		if !reflect.DeepEqual(points, again) || !reflect.DeepEqual(single, singleAgain) {
			t.Fatalf("in another order %+v, not %+v", again, points)
		}
		got, want := map[spot]int64{}, map[spot]int64{}
		for _, s := range single {
			if s.Thing != Whole {
				got[spot{text(paths, s.Path), int(s.First), What(s.Thread), s.Thing}] += s.SumNS
			}
		}
		for i := range list {
			for at, ns := range list[i].ask().within {
				want[spot{at.path, at.instance, What(i), thingOf(at.what, int32(at.record))}] += ns
			}
		}
		if !maps.Equal(positive(got), positive(want)) {
			t.Fatalf("%+v: instances\n%v, want\n%v", list, got, want)
		}
		checkPoints(t, points, single, list, lines, paths)
	})
}

// An instance is the n-th of a path.
type instance struct {
	path   string
	number int64
}

// extents are when the first thread begins each instance, and the last one ends it.
func extents(list []planted) map[instance]Span {
	all := make(map[instance]Span)
	take := func(at instance, begin, end int64) {
		s, known := all[at]
		if !known {
			s = Span{begin, end}
		}
		all[at] = Span{min(s.BeginNS, begin), max(s.EndNS, end)}
	}
	for i := range list {
		p := &list[i]
		begin, end := p.beginNS, p.endNS
		count := make(map[string]int64)
		for k, x := range p.intervals {
			begin, end = min(begin, x.BeginNS), max(end, x.EndNS)
			if c := p.chain(k); c.outer == k {
				take(instance{c.path, count[c.path]}, x.BeginNS, x.EndNS)
				count[c.path]++
			}
		}
		take(instance{"", 0}, begin, end)
	}
	return all
}

// checkPoints adds up the values of single threads.
func checkPoints(t *rapid.T, points []Point, single []Single, list []planted, lines []Timeline, paths *Paths) {
	extents := extents(list)
	type place struct {
		path  int32
		thing int
		first int64
	}
	of := make(map[place][]Single)
	threads := make(map[place]int64)
	for _, s := range single {
		at := place{s.Path, s.Thing, s.First}
		of[at] = append(of[at], s)
		if s.Thing == Whole {
			threads[at]++
		}
	}
	exclusive := make(map[int32]int64)
	for _, p := range points {
		at := place{p.Path, p.Thing, p.First}
		want := Point{Path: p.Path, Thing: p.Thing, First: p.First, Instances: 1, Threads: threads[place{p.Path, Whole, p.First}], LeastNS: math.MaxInt64, MostNS: -1, LongestInstance: p.LongestInstance, LongestNS: p.LongestNS}
		for _, s := range of[at] {
			want.Calls, want.SumNS, want.DirectNS, want.LeastNS = want.Calls+s.Calls, want.SumNS+s.SumNS, want.DirectNS+s.DirectNS, min(want.LeastNS, s.SumNS)
			want.Squares = want.Squares.Plus(moment.Square(s.SumNS))
			if s.SumNS > want.MostNS {
				want.MostNS, want.MostThread = s.SumNS, int64(s.Thread)
			}
		}
		if int64(len(of[at])) < want.Threads {
			want.LeastNS = 0
		}
		if p.Thing == Whole {
			want.LongestNS, want.LongestInstance = want.MostNS, p.First
			at := instance{text(paths, p.Path), p.First}
			want.BeginNS, want.EndNS = extents[at].BeginNS, extents[at].EndNS
			delete(extents, at)
			exclusive[p.Path] += p.DirectNS
		}
		if p != want {
			t.Fatalf("%+v, want %+v", p, want)
		}
		delete(of, at)
	}
	if len(of)+len(extents) > 0 {
		t.Fatalf("no points of %v, of instances %v", of, extents)
	}
	for i := range list {
		for _, s := range lines[i].Sums() {
			exclusive[s.Path] -= s.ExclusiveNS
		}
	}
	if len(positive(exclusive)) > 0 {
		t.Fatalf("static less dynamic: %v", exclusive)
	}
}

// How many sums fewer points make is known before they are made: exactly where each point is of one instance, and else
// no less than there will be, and no more than there are.
func TestLenWith(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := []planted{plant(t, "first "), plant(t, "second ")}
		lines, paths := layAll(t, list)
		counts := make([]int64, paths.Len())
		for i := range lines {
			lines[i].Counts(counts)
		}
		sum := func(points int) *Instances {
			x := NewInstances(slices.Clone(counts), Limits{things, points, math.MaxInt})
			for i := range lines {
				x.Add(int32(i), &lines[i], list[i].intervals, &list[i].records, thingOf)
			}
			return x
		}
		now := rapid.SampledFrom([]int{1, 2, 3, 5, MostPoints}).Draw(t, "points")
		x := sum(now)
		for points := now; points > 0; points = min(points-1, 6) {
			got, want := x.LenWith(points), sum(points).Len()
			if got < want || got > x.Len() && points == now || now == MostPoints && got != want {
				t.Fatalf("%d points of %d: %d sums, there are %d; %d now", points, now, got, want, x.Len())
			}
		}
	})
}
