package kinds

import (
	"math"
	"slices"
)

// What the peak of a leaf is, and its tail.
const (
	peakReach  = 4  // cells on either side of one whose bursts make its density
	tailBegins = 4. // times the half width at half height above the peak
)

// mostDims is how many dimensions there are at most: with the length of a burst their numbers have 4 bits of a key.
const mostDims = 15

// A spread is how a leaf's bursts lie along one dimension.
type spread struct {
	cells  []int32 // ascending
	counts []int64
	bursts int64
}

func (s *spread) add(o *spread) {
	if o.bursts == 0 {
		return
	}
	var cells []int32
	var counts []int64
	i, k := 0, 0
	for i < len(s.cells) || k < len(o.cells) {
		switch {
		case k == len(o.cells) || i < len(s.cells) && s.cells[i] < o.cells[k]:
			cells, counts = append(cells, s.cells[i]), append(counts, s.counts[i])
			i++
		case i == len(s.cells) || o.cells[k] < s.cells[i]:
			cells, counts = append(cells, o.cells[k]), append(counts, o.counts[k])
			k++
		default:
			cells, counts = append(cells, s.cells[i]), append(counts, s.counts[i]+o.counts[k])
			i, k = i+1, k+1
		}
	}
	s.cells, s.counts, s.bursts = cells, counts, s.bursts+o.bursts
}

// quantile is the place of the middle of a cell, in sides.
func (s *spread) quantile(q float64) float64 {
	at := int64(math.Round(q * float64(s.bursts-1)))
	for i, n := range s.counts {
		if at -= n; at < 0 {
			return float64(s.cells[i]) + .5
		}
	}
	return math.NaN()
}

// spreads are by leaf how its bursts lie along each of some columns.
func (l *local) spreads(c *executor, leaf func(i int) int32, leaves int, columns ...func(i int) int32) [][]spread {
	return spreadsOf(c, l.n, leaf, leaves, columns...)
}

func spreadsOf(c *executor, n int, leaf func(i int) int32, leaves int, columns ...func(i int) int32) [][]spread {
	t := c.count(1, n, func(k *counter, from, to int) {
		windows := newWindows(k, leaves*len(columns))
		for i := from; i < to; i++ {
			if x := leaf(i); x >= 0 {
				for j, column := range columns {
					windows.one(int(x)*len(columns)+j, int64(x)<<36|int64(j)<<32, column(i))
				}
			}
		}
		windows.flush()
	})
	list := make([][]spread, leaves)
	for x := range list {
		list[x] = make([]spread, len(columns))
	}
	for i, n := range t.Counts {
		key := t.Keys[i]
		s := &list[key>>36][key>>32&15]
		s.cells, s.counts, s.bursts = append(s.cells, int32(uint32(key)^1<<31)), append(s.counts, n), s.bursts+n
	}
	return list
}

// windows count keys that lie close together, each set of them in an array of its own as far as they fit there: a
// counter's search takes several times as long.
type windows struct {
	counter *counter
	of      []window
}

const (
	windowSize  = 1 << 10 // keys of a window
	mostWindows = 1 << 12 // memory: of more sets none has a window
)

// A window is the keys round the first one of a set, by their last words.
type window struct {
	head   int64 // of the keys
	first  int64 // last word
	counts []int32
}

func newWindows(k *counter, sets int) *windows {
	if sets > mostWindows {
		sets = 0
	}
	return &windows{k, make([]window, sets)}
}

// one counts the key of a head and a last word, of a set that has one head.
func (w *windows) one(set int, head int64, last int32) {
	if set < len(w.of) {
		x := &w.of[set]
		if x.counts == nil {
			*x = window{head, int64(last) - windowSize/4, make([]int32, windowSize)}
		}
		if at := int64(last) - x.first; at >= 0 && at < windowSize {
			x.counts[at]++
			return
		}
	}
	w.counter.one(head | int64(uint32(last)^1<<31))
}

// flush gives the counter what was counted.
func (w *windows) flush() {
	for _, x := range w.of {
		for at, n := range x.counts {
			if n > 0 {
				w.counter.add(int64(n), x.head|int64(uint32(int32(x.first+int64(at)))^1<<31))
			}
		}
	}
}

// within is how many bursts lie between two places, in sides.
func (s *spread) within(from, to float64) (n int64) {
	i, _ := slices.BinarySearch(s.cells, int32(math.Ceil(from-.5)))
	for ; i < len(s.cells) && float64(s.cells[i])+.5 <= to; i++ {
		n += s.counts[i]
	}
	return n
}

// peak is where a leaf is densest, as an index into its cells, and how many bursts are round it.
func (s *spread) peak() (at int, density int64) {
	from, to, sum := 0, 0, int64(0)
	for i, cell := range s.cells {
		for to < len(s.cells) && int64(s.cells[to]) <= int64(cell)+peakReach {
			sum += s.counts[to]
			to++
		}
		for int64(s.cells[from]) < int64(cell)-peakReach {
			sum -= s.counts[from]
			from++
		}
		if sum > density {
			at, density = i, sum
		}
	}
	return at, density
}

// tail is the first cell of a leaf's tail: bursts that take much longer than its peak is wide. Of a leaf without tail
// that is no cell of it.
func (s *spread) tail() int32 {
	if s.bursts < few {
		return math.MaxInt32
	}
	at, height := s.peak()
	from, to := at, at
	for from > 0 && int64(s.cells[from-1]) >= int64(s.cells[at])-peakReach {
		from--
	}
	for ; to < len(s.cells); to++ { // the window slides on until it holds less than half
		for ; int64(s.cells[from]) < int64(s.cells[to])-peakReach; from++ {
		}
		sum := int64(0)
		for k := from; k < len(s.cells) && int64(s.cells[k]) <= int64(s.cells[to])+peakReach; k++ {
			sum += s.counts[k]
		}
		if 2*sum < height {
			break
		}
	}
	width := int64(s.cells[min(to, len(s.cells)-1)]) - int64(s.cells[at]) + peakReach/2
	return int32(min(int64(s.cells[at])+int64(tailBegins*float64(width)), math.MaxInt32))
}

// trim cuts the tail off.
func (s *spread) trim(tail int32) {
	n, _ := slices.BinarySearch(s.cells, tail)
	for _, c := range s.counts[n:] {
		s.bursts -= c
	}
	s.cells, s.counts = s.cells[:n], s.counts[:n]
}

// take takes bursts out that are among them.
func (s *spread) take(part *spread) {
	k := 0
	for i, cell := range s.cells {
		if k < len(part.cells) && part.cells[k] == cell {
			s.counts[i] -= part.counts[k]
			k++
		}
	}
	s.bursts -= part.bursts
}
