package period

import (
	"cmp"
	"slices"
	"sort"
)

// A span is a stretch of bursts: an iteration, or one trip of a loop within.
type span struct{ begin, end int32 }

// An inside shows what iterations hold: which loops, and how alike they are otherwise.
type inside struct {
	f    *folder
	runs []run   // by begin, the longer one first
	kind []int32 // of each burst, as it was before any mending
}

// inside looks into iterations. Bursts are distinguished from each other by the kinds given: the folder's own, or
// others, whose numbers then mean nothing to it.
func (f *folder) inside(kinds []int32) *inside {
	x := &inside{f: f, runs: f.sorted, kind: kinds}
	if len(kinds) > 0 && &kinds[0] != &f.raw[0] {
		x.kind = make([]int32, len(kinds))
		for i, k := range kinds {
			x.kind[i] = k + int32(f.symbols+len(f.loops))
		}
	}
	return x
}

func spans(begins []int32) []span {
	list := make([]span, 0, len(begins))
	for i := 1; i < len(begins); i++ {
		list = append(list, span{begins[i-1], begins[i]})
	}
	return list
}

// A place is a loop within iterations: the nth of its kind.
type place struct{ kind, nth int32 }

// A visit is one loop within one iteration.
type visit struct{ run, offset int32 }

// each calls item for everything in the span: a loop that is wholly inside, or a burst between (run -1). not is the
// loop whose trips the spans are, -1 none.
func (x *inside) each(s span, not int32, item func(kind, run, from int32)) {
	next := sort.Search(len(x.runs), func(i int) bool { return x.runs[i].from >= s.begin })
	for at := s.begin; at < s.end; {
		for next < len(x.runs) && x.runs[next].from <= at && (x.runs[next].from < at || x.runs[next].to > s.end || x.runs[next].kind == not) {
			next++
		}
		if next < len(x.runs) && x.runs[next].from == at && x.runs[next].to > at {
			r := &x.runs[next]
			item(r.kind, int32(next), at)
			at = r.to
			continue
		}
		item(x.kind[at], -1, at)
		at++
	}
}

func (x *inside) isLoop(kind int32) bool {
	return x.f.isLoop(kind) && int(kind) < x.f.symbols+len(x.f.loops)
}

// loops gives the loops within the spans that at least half of them have.
func (x *inside) loops(list []span, not int32) []Inner {
	visits := make(map[place][]visit)
	var order []place
	seen := make(map[int32]int32)
	for _, s := range list {
		clear(seen)
		x.each(s, not, func(kind, run, from int32) {
			if run < 0 {
				return
			}
			p := place{kind, seen[kind]}
			seen[kind]++
			if len(visits[p]) == 0 {
				order = append(order, p)
			}
			visits[p] = append(visits[p], visit{run, from - s.begin})
		})
	}
	var found []Inner
	for _, p := range order {
		here := visits[p]
		if 2*len(here) < len(list) {
			continue
		}
		var offsets, trips, periods []int32
		var within []span
		for _, v := range here {
			offsets = append(offsets, v.offset)
			bounds := x.trips(v)
			trips = append(trips, int32(len(bounds)-1))
			for _, s := range spans(bounds) {
				within = append(within, s)
				periods = append(periods, s.end-s.begin)
			}
		}
		low, high := slices.Min(trips), slices.Max(trips)
		found = append(found, Inner{
			Offset: median(offsets), Period: median(periods), Trips: median(trips), MinTrips: int(low), MaxTrips: int(high),
			Share: float64(len(here)) / float64(len(list)), Inner: x.loops(within, p.kind),
		})
	}
	slices.SortStableFunc(found, func(a, b Inner) int { return cmp.Compare(a.Offset, b.Offset) })
	return found
}

// trips gives the bursts at which the visited loop's trips begin, and where the last whole one ends.
func (x *inside) trips(v visit) []int32 {
	r := &x.runs[v.run]
	level := x.f.levels[r.level]
	lag := int32(len(x.f.loop(r.kind).body))
	var bounds []int32
	for i := r.begin; i <= r.end; i += lag {
		bounds = append(bounds, level.at[i])
	}
	return bounds
}

func median(list []int32) int {
	sorted := slices.Sorted(slices.Values(list))
	return int(sorted[(len(sorted)-1)/2])
}

// agreement is the share of the bursts of iterations that most iterations have as well, in whatever order. Loops within
// may go round any number of times, and a trip that is alone, because the loop was broken by damage, is still the
// loop's. A burst that lacks counts like one that is different or too much.
func (x *inside) agreement(list []span) float64 {
	var items []int32
	ends := make([]int, 0, len(list))
	bursts := 0
	for _, s := range list {
		x.each(s, -1, func(kind, _, _ int32) { items = append(items, kind) })
		ends = append(ends, len(items))
		bursts += int(s.end - s.begin)
	}
	if len(items) == 0 {
		return 0
	}
	u := newUsual(int(slices.Max(items))+1, len(list))
	u.each(items, ends, u.vote)
	total := u.settle()
	ofLoop := make(map[int32]bool)
	for k, n := range u.times {
		if n > 0 && x.isLoop(int32(k)) {
			x.f.enter(int32(k), ofLoop)
		}
	}
	different, size := 0, bursts
	u.each(items, ends, func(kinds []int32) {
		other, lacking := 0, total
		for _, k := range kinds {
			lacking -= int(min(u.count[k], u.times[k]))
			if more := u.count[k] - u.times[k]; more > 0 && !ofLoop[k] && !(x.isLoop(k) && u.times[k] > 0) {
				other += int(more)
			}
		}
		different += max(other, lacking)
		size += max(0, lacking-other)
	})
	return 1 - float64(different)/float64(size)
}

// usual is how often iterations have each kind of thing, by majority votes.
type usual struct {
	iterations int
	count      []int32 // by kind: in the iteration at hand
	times      []int32 // by kind: as often as most iterations have it
	votes      []int32
	in         []int32 // by kind: iterations that have it
	touched    []int32
}

func newUsual(kinds, iterations int) *usual {
	return &usual{
		iterations: iterations, count: make([]int32, kinds), times: make([]int32, kinds), votes: make([]int32, kinds), in: make([]int32, kinds),
	}
}

// each calls f for every iteration with the kinds that it has; count says how often it has them.
func (u *usual) each(items []int32, ends []int, f func(kinds []int32)) {
	begin := 0
	for _, end := range ends {
		u.touched = u.touched[:0]
		for _, k := range items[begin:end] {
			if u.count[k] == 0 {
				u.touched = append(u.touched, k)
			}
			u.count[k]++
		}
		f(u.touched)
		for _, k := range u.touched {
			u.count[k] = 0
		}
		begin = end
	}
}

func (u *usual) vote(kinds []int32) {
	for _, k := range kinds {
		u.in[k]++
		switch {
		case u.votes[k] == 0:
			u.times[k], u.votes[k] = u.count[k], 1
		case u.times[k] == u.count[k]:
			u.votes[k]++
		default:
			u.votes[k]--
		}
	}
}

// settle drops what only a minority has, and gives how many things an iteration usually has.
func (u *usual) settle() int {
	total := 0
	for k := range u.times {
		if 2*int(u.in[k]) <= u.iterations {
			u.times[k] = 0
		}
		total += int(u.times[k])
	}
	return total
}
