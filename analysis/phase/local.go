package phase

import "fmt"

// A Timeline is in which phase a thread is when. It does not keep the intervals: with them it is large.
type Timeline struct {
	BeginNS, EndNS int64   // of the program
	Path           []int32 // of each interval

	own     Paths
	to      []int32 // numbers of the thread's own paths; nil: as they are
	sums    []Sum   // by own path; of those without an interval nothing but the program's
	most    []int64 // by own path: the largest number of an instance, plus 1
	numbers []int32 // of the instance of each interval: ^n where it is part of the one round it
}

// Lay lays out the time of a thread, which begins and ends with the program and with what reaches over that. Paths are
// the thread's own until Number has numbered them. Intervals that do not nest are an error.
func Lay(beginNS, endNS int64, intervals []Interval) (Timeline, error) {
	return lay(Paths{}, beginNS, endNS, intervals)
}

// lay is Lay of a thread some of whose paths have numbers.
func lay(own Paths, beginNS, endNS int64, intervals []Interval) (Timeline, error) {
	t := Timeline{
		own: own, BeginNS: beginNS, EndNS: endNS, Path: make([]int32, len(intervals)), numbers: make([]int32, len(intervals)),
		sums: make([]Sum, own.Len()), most: make([]int64, own.Len()),
	}
	for i := range intervals {
		t.BeginNS, t.EndNS = min(t.BeginNS, intervals[i].BeginNS), max(t.EndNS, intervals[i].EndNS)
	}
	t.EndNS = max(t.BeginNS, t.EndNS)
	t.sums[0].Intervals, t.most[0] = 1, 1
	t.sums[0].Instances.Add(t.EndNS - t.BeginNS)
	var open []int32 // outermost first
	now, in := t.BeginNS, int32(0)
	pass := func(ns int64) {
		t.sums[in].ExclusiveNS += ns - now
		now = ns
	}
	leave := func(depth int) {
		for len(open) > depth {
			pass(intervals[open[len(open)-1]].EndNS)
			open = open[:len(open)-1]
			if in = 0; len(open) > 0 {
				in = t.Path[open[len(open)-1]]
			}
		}
	}
	for i := range intervals {
		x := &intervals[i]
		if int(x.Depth) > len(open) || x.Depth < 0 || x.EndNS < x.BeginNS {
			return t, fmt.Errorf("phase %d: depth %d in %d others, from %d to %d ns", i, x.Depth, len(open), x.BeginNS, x.EndNS)
		}
		leave(int(x.Depth))
		round := int32(-1)
		if len(open) > 0 {
			round = open[len(open)-1]
		}
		if round >= 0 && (x.BeginNS < intervals[round].BeginNS || x.EndNS > intervals[round].EndNS) || x.BeginNS < now {
			return t, fmt.Errorf("phase %d: from %d to %d ns, beyond the one round it or before the one ahead of it", i, x.BeginNS, x.EndNS)
		}
		pass(x.BeginNS)
		path := t.own.child(in, x.Name)
		if int(path) == len(t.sums) {
			t.sums, t.most = append(t.sums, Sum{}), append(t.most, 0)
		}
		s := &t.sums[path]
		s.Intervals++
		t.Path[i] = path
		if round >= 0 && path == in {
			number, _ := t.Number(round)
			t.numbers[i] = ^number
		} else {
			number := x.Number
			if number < 0 {
				number = int32(t.most[path])
			}
			t.numbers[i], t.most[path] = number, max(t.most[path], int64(number)+1)
			s.Instances.Add(x.EndNS - x.BeginNS)
		}
		open, in = append(open, int32(i)), path
	}
	leave(0)
	pass(t.EndNS)
	return t, nil
}

// number gives the paths of the intervals the numbers that all threads have.
func (t *Timeline) number(to []int32) {
	t.to = to
	for i, path := range t.Path {
		t.Path[i] = to[path]
	}
}

// of is the number of one of the thread's own paths.
func (t *Timeline) of(own int) int32 {
	if t.to == nil {
		return int32(own)
	}
	return t.to[own]
}

// PathOf is the path of an interval, or of the program.
func (t *Timeline) PathOf(interval int32) int32 {
	if interval < 0 {
		return 0
	}
	return t.Path[interval]
}

// Number is the number of an interval's instance, and whether the interval is that instance: else it is part of the
// one round it.
func (t *Timeline) Number(interval int32) (number int32, whole bool) {
	if n := t.numbers[interval]; n < 0 {
		return ^n, false
	}
	return t.numbers[interval], true
}

// Counts raises to, which has an element for each path, to the number of instances that a thread has of each.
func (t *Timeline) Counts(to []int64) {
	for own, n := range t.most {
		path := t.of(own)
		to[path] = max(to[path], n)
	}
}
