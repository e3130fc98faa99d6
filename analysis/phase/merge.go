package phase

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"moriens/analysis/moment"
	"moriens/internal/team"
)

// Reduce makes of what each member of a team has added what all have. It is collective.
func (x *Instances) Reduce(t team.Team) error {
	if t.Size() == 1 {
		return nil
	}
	own := make([]int64, 0, len(x.series))
	for key := range x.series {
		own = append(own, int64(key))
	}
	all, err := team.Gather(t, own)
	if err != nil {
		return err
	}
	keys := slices.Concat(all...)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	sums := slices.Clone(x.counts)
	var first, last, most, longest [][]int64
	var squares []int64
	for _, k := range keys {
		key := int(k)
		if x.series[key] == nil {
			x.series[key] = newSeries(x.points[key/x.things], key%x.things == Whole)
		}
		s := x.series[key]
		sums = append(sums, s.sum, s.direct, s.calls, s.threads)
		first, last = append(first, s.least, s.begin), append(last, s.end)
		most, longest = append(most, s.most), append(longest, s.longest)
		for _, w := range s.squares {
			squares = append(squares, int64(w.Low&math.MaxUint32), int64(w.Low>>32), int64(w.High&math.MaxUint32), int64(w.High>>32))
		}
	}
	if err := reduce(t, team.Sum, append(sums, squares)); err != nil {
		return err
	}
	if err := reduce(t, team.Min, first); err != nil {
		return err
	}
	if err := reduce(t, team.Max, last); err != nil {
		return err
	}
	var threads, numbers [][]int64
	for _, k := range keys {
		s := x.series[int(k)]
		threads, numbers = append(threads, s.mostThread), append(numbers, s.longestInstance)
	}
	if err := reduceOf(t, most, threads); err != nil {
		return err
	}
	if err := reduceOf(t, longest, numbers); err != nil {
		return err
	}
	for _, k := range keys {
		for point := range x.series[int(k)].squares {
			x.series[int(k)].squares[point] = wide(squares[:4])
			squares = squares[4:]
		}
	}
	return x.reduceSingle(t)
}

// reduce takes columns of all members together.
func reduce(t team.Team, op team.Op, columns [][]int64) error {
	values := slices.Concat(columns...)
	if err := t.AllReduce(values, op); err != nil {
		return err
	}
	for _, c := range columns {
		values = values[copy(c, values):]
	}
	return nil
}

// reduceOf takes the largest values, and of those who have them the first.
func reduceOf(t team.Team, values, of [][]int64) error {
	own := make([][]int64, len(values))
	for i := range values {
		own[i] = slices.Clone(values[i])
	}
	if err := reduce(t, team.Max, values); err != nil {
		return err
	}
	for i := range values {
		for k := range values[i] {
			if own[i][k] != values[i][k] {
				of[i][k] = math.MaxInt64
			}
		}
	}
	return reduce(t, team.Min, of)
}

// wide makes one number of sums of its words of 32 bits.
func wide(words []int64) moment.Wide {
	var w moment.Wide
	for i, x := range words {
		part := moment.Wide{Low: uint64(x)}
		switch i {
		case 1:
			part = moment.Wide{High: uint64(x) >> 32, Low: uint64(x) << 32}
		case 2:
			part = moment.Wide{High: uint64(x)}
		case 3:
			part = moment.Wide{High: uint64(x) << 32}
			if uint64(x)>>32 != 0 {
				part = moment.Wide{High: math.MaxUint64, Low: math.MaxUint64}
			}
		}
		w = w.Plus(part)
	}
	return w
}

// singleWidth is how many numbers make up a Single.
const singleWidth = 9

// reduceSingle collects the values of single threads, unless they are too many.
func (x *Instances) reduceSingle(t team.Team) error {
	lost := int64(0)
	if x.lost {
		lost = 1
	}
	sums := []int64{lost, int64(len(x.single))}
	if err := t.AllReduce(sums, team.Sum); err != nil {
		return err
	}
	if sums[0] > 0 || sums[1] > int64(x.keep) {
		x.single, x.lost = nil, true
		return nil
	}
	mine := make([]int64, 0, singleWidth*len(x.single))
	for _, s := range x.single {
		mine = append(mine, int64(s.Thread), int64(s.Path), int64(s.Thing), s.First, s.Calls, s.SumNS, s.DirectNS, s.LongestNS, s.LongestNumber)
	}
	all, err := team.Gather(t, mine)
	if err != nil {
		return err
	}
	x.single = nil
	for n := range slices.Chunk(slices.Concat(all...), singleWidth) {
		s := Single{Thread: int32(n[0]), Path: int32(n[1]), Thing: int(n[2]), First: n[3], Calls: n[4], SumNS: n[5], DirectNS: n[6], LongestNS: n[7], LongestNumber: n[8]}
		s.Instances = x.size(int(s.Path), int(s.First/x.group[s.Path]))
		x.single = append(x.single, s)
	}
	return nil
}

// Len is how many points Each hands out.
func (x *Instances) Len() (n int) {
	x.Each(func(Point) { n++ })
	return n
}

// LenWith is how many sums there would be at most, if a path had so many points at most, which are no more than it has
// now: exactly as many where each point is of one instance now.
func (x *Instances) LenWith(points int) (n int) {
	for key, s := range x.series {
		path := key / x.things
		group := groupOf(x.most[path], points)
		next := int64(0) // point that is not counted yet
		for point, threads := range s.threads {
			if threads == 0 {
				continue
			}
			first := int64(point) * x.group[path]
			last := (first + x.size(path, point) - 1) / group
			n += int(last + 1 - min(max(first/group, next), last+1))
			next = last + 1
		}
	}
	return n
}

// Each hands out the sums over threads by path, thing and instance.
func (x *Instances) Each(give func(Point)) {
	for _, key := range slices.Sorted(maps.Keys(x.series)) {
		path, s := key/x.things, x.series[key]
		for point, n := range s.threads {
			if n == 0 {
				continue
			}
			p := Point{
				Path: int32(path), Thing: key % x.things, First: int64(point) * x.group[path], Instances: x.size(path, point), Threads: x.counts[path][point],
				Calls: s.calls[point], SumNS: s.sum[point], DirectNS: s.direct[point], LeastNS: s.least[point], MostNS: s.most[point],
				MostThread: s.mostThread[point], Squares: s.squares[point],
			}
			if n < p.Threads { // the others have none of it
				p.LeastNS = 0
			}
			if s.longest != nil {
				p.LongestNS, p.LongestInstance = s.longest[point], s.longestInstance[point]
				p.BeginNS, p.EndNS = s.begin[point], s.end[point]
			}
			give(p)
		}
	}
}

// Single are the values of single threads in the same order, within that by thread, and whether they are all: where
// there were more than Instances may keep, there are none.
func (x *Instances) Single() (list []Single, all bool) {
	slices.SortFunc(x.single, func(a, b Single) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Thing, b.Thing), cmp.Compare(a.First, b.First), cmp.Compare(a.Thread, b.Thread))
	})
	return x.single, !x.lost
}
