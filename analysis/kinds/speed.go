package kinds

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/team"
	"moriens/analysis/workers"
)

// How speeds are compared: kinds.md, step 1.
const (
	speedCell   = .01 // of the histograms, ln units
	speedReach  = 70  // cells that a thread may be quicker or slower
	speedGroups = 16  // that are looked at, the largest
	leastSpeed  = 4   // cells
	betterSpeed = 1.25
	moreOverlap = .15
	mostPaces   = 1 << 16 // cells of a thread's bursts: those of all durations that 64 bits can count are far fewer
)

// speeds finds by thread how many cells of speedCell longer it takes than the others in everything.
func (l *local) speeds(c *crew) []int32 {
	sizes := make([]int64, l.Groups)
	for _, g := range l.Group {
		sizes[g]++
	}
	c.Reduce(team.Sum, sizes)
	number := largest(sizes, speedGroups)
	perCell := int32(math.Round(speedCell / l.Side))
	t := c.tally(1, l.n, func(k *counter, from, to int) {
		l.eachThread(from, to, func(thread, from, to int) {
			for i := from; i < to; i++ {
				if j := number[l.Group[i]]; j >= 0 {
					k.one(int64(thread)<<40 | int64(j)<<32 | int64(uint32(floorDiv(l.Cell[i], perCell)+1<<30)))
				}
			}
			k.cut()
		})
	})
	shifts := make([]int32, len(l.Ends))
	moved := c.decide(t, func(sum *Table) (moved []int64) {
		for thread, cells := range newPaces(sum, len(l.Ends)).shifts(c.workers) {
			if cells != 0 {
				moved = append(moved, int64(thread), int64(cells))
			}
		}
		return moved
	})
	for ; len(moved) > 0; moved = moved[2:] {
		shifts[moved[0]] = int32(moved[1])
	}
	return shifts
}

func floorDiv(a, b int32) int32 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

// largest numbers the groups with most bursts from 0; all others are -1.
func largest(sizes []int64, most int) []int8 {
	order := make([]int, len(sizes))
	for g := range order {
		order[g] = g
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	number := slices.Repeat([]int8{-1}, len(sizes))
	for j, g := range order[:min(most, len(order))] {
		number[g] = int8(j)
	}
	return number
}

// A pace is how a thread's bursts of one group are spread: smoothed shares by cell.
type pace struct {
	thread int
	bursts float64
	first  int // cell
	shares []float64
}

// paces are those of all threads in the groups looked at.
type paces struct {
	threads int
	of      [speedGroups][]pace // by thread, of those with bursts
	total   []float64           // by thread: bursts in these groups
}

func newPaces(t *Table, threads int) *paces {
	p := &paces{threads: threads, total: make([]float64, threads)}
	for i := 0; i < t.Len(); {
		head := t.Keys[i] >> 32
		from := i
		for i < t.Len() && t.Keys[i]>>32 == head {
			i++
		}
		cell := func(k int) int { return int(uint32(t.Keys[k])) - 1<<30 }
		x := pace{thread: int(head >> 8), first: cell(from) - 2}
		if cell(i-1)-x.first > mostPaces {
			continue
		}
		x.shares = make([]float64, cell(i-1)-x.first+3)
		for k := from; k < i; k++ {
			n := float64(t.Counts[k])
			x.bursts += n
			for d, w := range [5]float64{1, 2, 3, 2, 1} {
				x.shares[cell(k)-x.first-2+d] += n * w
			}
		}
		for k := range x.shares {
			x.shares[k] /= 9 * x.bursts
		}
		p.total[x.thread] += x.bursts
		group := head & (1<<8 - 1)
		p.of[group] = append(p.of[group], x)
	}
	return p
}

// shifts are by thread how many cells it is to be moved back, found by n workers.
func (p *paces) shifts(n int) []int32 {
	list := make([]int32, p.threads)
	some := 0
	for _, n := range p.total {
		if n > 0 {
			some++
		}
	}
	if some < 2 {
		return list
	}
	overlaps := make([][]float64, p.threads) // by thread and shift
	for _, group := range p.of {
		if len(group) < min(some, 5) {
			continue
		}
		reference := newReference(group)
		workers.Chunks(len(group), n, func(_, from, end int) { // each thread is once in a group
			for i := from; i < end; i++ {
				x := &group[i]
				if overlaps[x.thread] == nil {
					overlaps[x.thread] = make([]float64, 2*speedReach+1)
				}
				to := reference.without(i)
				w := x.bursts / p.total[x.thread]
				sum := overlaps[x.thread]
				for s, v := range to.overlaps(x) {
					sum[s] += w * v
				}
			}
		})
	}
	first := true
	for t, sums := range overlaps {
		if sums == nil || some == 2 && first { // of two threads none is the slow one: the second is compared with the first
			first = first && sums == nil
			continue
		}
		best := 0
		for s, v := range sums {
			if v > sums[best] {
				best = s
			}
		}
		here, shift := sums[speedReach], int32(best-speedReach)
		if sums[best] >= betterSpeed*here && sums[best]-here >= moreOverlap && max(shift, -shift) >= leastSpeed {
			list[t] = shift
		}
	}
	return list
}

// A reference is what the threads' bursts of a group are like together.
type reference struct {
	group  []pace
	first  int
	median []float64 // of five threads and more
}

func newReference(group []pace) *reference {
	r := &reference{group: group}
	if len(group) < 5 {
		return r
	}
	last := math.MinInt
	r.first = math.MaxInt
	for i := range group {
		r.first = min(r.first, group[i].first)
		last = max(last, group[i].first+len(group[i].shares))
	}
	lists := make([][]float64, last-r.first) // by cell: shares above 0
	for i := range group {
		for k, v := range group[i].shares {
			if v > 0 {
				at := group[i].first + k - r.first
				lists[at] = append(lists[at], v)
			}
		}
	}
	r.median = make([]float64, len(lists))
	sum := 0.
	for cell, list := range lists {
		slices.Sort(list)
		at := func(k int) float64 { // the k-th of all threads' shares
			if k -= len(group) - len(list); k >= 0 {
				return list[k]
			}
			return 0
		}
		r.median[cell] = (at((len(group)-1)/2) + at(len(group)/2)) / 2
		sum += r.median[cell]
	}
	for cell := range r.median {
		r.median[cell] /= max(sum, 1e-9)
	}
	return r
}

// without is what one thread of the group is compared with: the median of all of them, or the mean of the few others.
func (r *reference) without(i int) *pace {
	if r.median != nil {
		return &pace{first: r.first, shares: r.median}
	}
	mean := pace{first: math.MaxInt}
	last := math.MinInt
	for k := range r.group {
		if k != i {
			mean.first = min(mean.first, r.group[k].first)
			last = max(last, r.group[k].first+len(r.group[k].shares))
		}
	}
	mean.shares = make([]float64, last-mean.first)
	for k := range r.group {
		if k == i {
			continue
		}
		for at, v := range r.group[k].shares {
			mean.shares[r.group[k].first+at-mean.first] += v / float64(len(r.group)-1)
		}
	}
	return &mean
}

// overlaps are how much two paces have in common, 0 … 1, with the other moved back by -speedReach … speedReach cells.
func (p *pace) overlaps(other *pace) (sums [2*speedReach + 1]float64) {
	for k, v := range other.shares {
		if v == 0 {
			continue
		}
		at := other.first + k - p.first + speedReach // in p, moved back by -speedReach
		for s := max(0, at-len(p.shares)+1); s <= min(at, 2*speedReach); s++ {
			sums[s] += min(v, p.shares[at-s])
		}
	}
	return sums
}
