package kinds

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// How speeds are compared: kinds.md, step 1.
const (
	speedCell   = .01 // of the histograms, ln units
	speedReach  = 70  // cells that a thread may be quicker or slower
	speedGroups = 16  // that are looked at, the largest
	leastSpeed  = 4   // cells
	betterSpeed = 1.25
	moreOverlap = .15
	mostPaces   = 1 << 16  // cells of a thread's bursts: those of all durations that 64 bits can count are far fewer
	leastPaced  = 40       // bursts of a thread in these groups: with fewer chance has it look slow
	mostOverlap = 1 + 1e-6 // of shares that are rounded
)

// speeds finds by thread how many cells of speedCell longer it takes than the others in everything.
func (l *local) speeds(c *executor) []int32 {
	sizes := make([]int64, l.Groups)
	for _, g := range l.Group {
		sizes[g]++
	}
	c.Reduce(team.Sum, sizes)
	number := largest(sizes, speedGroups)
	perCell := int32(math.Round(speedCell / l.Side))
	t := c.tally(1, l.n, func(k *counter, from, to int) {
		h := histograms{local: l, counter: k, number: number, perCell: perCell}
		l.eachThread(from, to, h.count)
	})
	shifts := make([]int32, len(l.Ends))
	moved := c.decide(t, func(sum *Table) (moved []int64) {
		for thread, cells := range newPaces(sum, len(l.Ends), c.workers).shifts(c.workers) {
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

// histograms counts the bursts of threads by group and cell, thread after thread.
type histograms struct {
	*local
	counter *counter
	number  []int8 // by group; below 0 = it is not looked at
	perCell int32
	counts  []int64
}

func (h *histograms) key(thread, group int, cell int32) int64 {
	return int64(thread)<<40 | int64(group)<<32 | int64(uint32(floorDiv(cell, h.perCell)+1<<30))
}

// count counts bursts of a thread, in an array unless they lie too far apart for that.
func (h *histograms) count(thread, from, to int) {
	var lowest, highest, begin [speedGroups]int
	for j := range lowest {
		lowest[j], highest[j] = math.MaxInt, math.MinInt
	}
	for i := from; i < to; i++ {
		if j := h.number[h.Group[i]]; j >= 0 {
			lowest[j], highest[j] = min(lowest[j], int(h.Cell[i])), max(highest[j], int(h.Cell[i]))
		}
	}
	width := 0
	for j := range begin {
		if begin[j] = width; lowest[j] <= highest[j] {
			width += highest[j] - lowest[j] + 1
		}
	}
	if width > 8*(to-from)+1<<10 {
		for i := from; i < to; i++ {
			if j := h.number[h.Group[i]]; j >= 0 {
				h.counter.one(h.key(thread, int(j), h.Cell[i]))
			}
		}
		h.counter.cut()
		return
	}
	h.counts = slices.Grow(h.counts[:0], width)[:width]
	clear(h.counts)
	for i := from; i < to; i++ {
		if j := h.number[h.Group[i]]; j >= 0 {
			h.counts[begin[j]+int(h.Cell[i])-lowest[j]]++
		}
	}
	for j := range begin {
		for cell := lowest[j]; cell <= highest[j]; cell++ {
			if n := h.counts[begin[j]+cell-lowest[j]]; n > 0 {
				h.counter.last(h.key(thread, j, int32(cell)), n)
			}
		}
	}
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

func newPaces(t *Table, threads, n int) *paces {
	p := &paces{threads: threads, total: make([]float64, threads)}
	var rows []int // of t, where each pace begins
	for i := 0; i < t.Len(); i++ {
		if i == 0 || t.Keys[i]>>32 != t.Keys[i-1]>>32 {
			rows = append(rows, i)
		}
	}
	rows = append(rows, t.Len())
	list := make([]pace, len(rows)-1)
	workers.Chunks(len(list), n, func(_, from, to int) {
		for i := from; i < to; i++ {
			list[i].fill(t, rows[i], rows[i+1])
		}
	})
	for i, x := range list {
		if x.shares == nil {
			continue
		}
		p.total[x.thread] += x.bursts
		group := t.Keys[rows[i]] >> 32 & (1<<8 - 1)
		p.of[group] = append(p.of[group], x)
	}
	return p
}

// fill takes the bursts of some rows, which are of one thread and group. It leaves out what lies farther apart than
// durations can.
func (x *pace) fill(t *Table, from, to int) {
	cell := func(k int) int { return int(uint32(t.Keys[k])) - 1<<30 }
	x.thread, x.first = int(t.Keys[from]>>40), cell(from)-2
	if cell(to-1)-x.first > mostPaces {
		return
	}
	x.shares = make([]float64, cell(to-1)-x.first+3)
	for k := from; k < to; k++ {
		n := float64(t.Counts[k])
		x.bursts += n
		for d, w := range [5]float64{1, 2, 3, 2, 1} {
			x.shares[cell(k)-x.first-2+d] += n * w
		}
	}
	for k := range x.shares {
		x.shares[k] /= 9 * x.bursts
	}
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
	var references []*reference
	for _, group := range p.of {
		if len(group) >= min(some, 5) {
			references = append(references, &reference{group: group})
		}
	}
	sizes := make([]int, len(references))
	for i, r := range references {
		sizes[i] = len(r.group)
	}
	workers.Every(sizes, n, func(i int) { references[i].findMedian() })
	here := make([]float64, p.threads)
	p.each(references, n, func(to, x *pace, w float64) { here[x.thread] += w * to.overlap(x) })
	overlaps := make([][]float64, p.threads) // by thread and shift; nil where none can be that much better
	p.each(references, n, func(to, x *pace, w float64) {
		if betterSpeed*here[x.thread] > mostOverlap {
			return
		}
		if overlaps[x.thread] == nil {
			overlaps[x.thread] = make([]float64, 2*speedReach+1)
		}
		sum := overlaps[x.thread]
		for s, v := range to.overlaps(x) {
			sum[s] += w * v
		}
	})
	first := true
	for t, sums := range overlaps {
		if p.total[t] > 0 && some == 2 && first { // of two threads none is the slow one: the second is compared with the first
			first = false
			continue
		}
		if sums == nil || p.total[t] < leastPaced {
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

// each gives the paces of groups, group after group, with what each is compared with and the share of its thread's
// bursts that it has. n workers do; each thread is once in a group.
func (p *paces) each(references []*reference, n int, do func(to, x *pace, w float64)) {
	for _, r := range references {
		workers.Chunks(len(r.group), n, func(_, from, end int) {
			for i := from; i < end; i++ {
				x := &r.group[i]
				do(r.without(i), x, x.bursts/p.total[x.thread])
			}
		})
	}
}

// A reference is what the threads' bursts of a group are like together.
type reference struct {
	group  []pace
	first  int
	median []float64 // of five threads and more
}

// findMedian finds the median of five threads and more.
func (r *reference) findMedian() {
	group := r.group
	if len(group) < 5 {
		return
	}
	last := math.MinInt
	r.first = math.MaxInt
	for i := range group {
		r.first = min(r.first, group[i].first)
		last = max(last, group[i].first+len(group[i].shares))
	}
	some := make([]int, last-r.first) // by cell: threads with a share
	for i := range group {
		cells := some[group[i].first-r.first:]
		for k, v := range group[i].shares {
			if v > 0 {
				cells[k]++
			}
		}
	}
	r.median = make([]float64, len(some))
	sum := 0.
	list := make([]float64, 0, len(group))
	for cell, n := range some {
		if n < len(group)-len(group)/2 { // the median is 0
			continue
		}
		list = list[:0]
		for i := range group {
			if k := cell + r.first - group[i].first; k >= 0 && k < len(group[i].shares) && group[i].shares[k] > 0 {
				list = append(list, group[i].shares[k])
			}
		}
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

// overlap is how much two paces have in common, 0 … 1.
func (p *pace) overlap(other *pace) (sum float64) {
	for k := max(0, p.first-other.first); k < len(other.shares) && other.first+k-p.first < len(p.shares); k++ {
		sum += min(other.shares[k], p.shares[other.first+k-p.first])
	}
	return sum
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
