package kinds

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// cellsOf are the cells of points, one burst each.
func cellsOf(dims int, side float64, points [][]float64) *Cells {
	k := newCounter(dims)
	for _, p := range points {
		key := make([]int64, dims)
		for d, v := range p {
			key[d] = int64(math.Floor(v / side))
		}
		k.add(1, key...)
	}
	t := k.table()
	s := &Cells{Dims: dims, Side: side, Counts: t.Counts}
	for _, v := range t.Keys {
		s.Keys = append(s.Keys, int32(v))
	}
	return s
}

// hills are points round a middle in each dimension.
func hillOf(random *rand.Rand, n int, sigma float64, middle ...float64) (points [][]float64) {
	for range n {
		var p []float64
		for _, m := range middle {
			p = append(p, m+sigma*random.NormFloat64())
		}
		points = append(points, p)
	}
	return points
}

func TestBasins(t *testing.T) {
	random := drawn(t)
	for _, c := range []struct {
		name   string
		points [][]float64
		want   []int64 // bursts of basins, more or less
	}{
		{"two hills", slices.Concat(hillOf(random, 2000, .03, 1), hillOf(random, 1000, .03, 1.3)), []int64{2000, 1000}},
		{"no valley", slices.Concat(hillOf(random, 2000, .03, 1), hillOf(random, 2000, .03, 1.05)), []int64{4000}},
		{"one hill", hillOf(random, 3000, .04, 1), []int64{3000}},
		{"far apart", slices.Concat(hillOf(random, 500, .01, 1), hillOf(random, 40, .01, 5), hillOf(random, 500, .01, -7)), []int64{500, 500, 40}},
		{"isolated and too small", slices.Concat(hillOf(random, 500, .01, 1), hillOf(random, 3, .01, 5)), []int64{503}},
		{"isolated and just large enough", slices.Concat(hillOf(random, 500, .01, 1), hillOf(random, 4, .001, 5)), []int64{500, 4}},
		{"equal", slices.Repeat([][]float64{{3}}, 1000), []int64{1000}},
		{"two lengths", append(slices.Repeat([][]float64{{3}}, 1000), slices.Repeat([][]float64{{3.2}}, 100)...), []int64{1000, 100}},
		{"one burst", [][]float64{{0}}, []int64{1}},
		{"three single ones", [][]float64{{0}, {5}, {10}}, []int64{3}},
		{"no burst", nil, []int64{0}},
		{"two hills in two dimensions", slices.Concat(hillOf(random, 2000, .03, 1, 1), hillOf(random, 1000, .03, 1, 1.4)), []int64{2000, 1000}},
		{"one hill in two dimensions", hillOf(random, 2000, .05, 1, -1), []int64{2000}},
		{"small ones in two dimensions", slices.Concat(hillOf(random, 500, .01, 1, 1), hillOf(random, 3, .01, 5, 9), hillOf(random, 8, .002, -4, 0)), []int64{503, 8}},
		{"equal in three dimensions", slices.Repeat([][]float64{{3, 1, 0}}, 100), []int64{100}},
	} {
		dims := 1
		if len(c.points) > 0 {
			dims = len(c.points[0])
		}
		s := cellsOf(dims, .005, c.points)
		least := .01
		if dims > 1 {
			least = .02
		}
		x := seek(s, scales(least), func(int64) int64 { return 4 })
		bursts := make([]int64, len(x.basins))
		for i, of := range x.basinOf {
			bursts[of] += s.Counts[i]
		}
		for i, b := range x.basins {
			if b.Bursts != bursts[i] || b.Alone != (len(x.basins) == 1) {
				t.Errorf("%s: basin of %d bursts: %+v", c.name, bursts[i], b)
			}
		}
		slices.Sort(bursts)
		slices.Reverse(bursts)
		if len(c.points) > 1900 { // some are far out by chance, and a basin until order is evaluated
			for len(bursts) > len(c.want) && bursts[len(bursts)-1] < 15 {
				bursts = bursts[:len(bursts)-1]
			}
		}
		if !slices.EqualFunc(bursts, c.want, func(got, want int64) bool { return math.Abs(float64(got-want)) <= .02*float64(want) }) {
			t.Errorf("%s: basins of %v bursts, want %v", c.name, bursts, c.want)
		}
	}
}

// In one dimension a basin is an interval.
func TestBasinsAreIntervals(t *testing.T) {
	random := drawn(t)
	for range 30 {
		var points [][]float64
		for range 1 + random.IntN(8) {
			points = append(points, hillOf(random, 1+random.IntN(800), .005+.1*random.Float64(), 3*random.Float64())...)
		}
		x := seek(cellsOf(1, .005, points), scales(.01), func(int64) int64 { return 4 })
		if list := slices.Compact(slices.Clone(x.basinOf)); len(list) != len(x.basins) {
			t.Errorf("%d basins are %d intervals", len(x.basins), len(list))
		}
	}
}

// Densities of a grid are what counting all pairs gives, and so is the nearest of some cells.
func TestFieldsCountAll(t *testing.T) {
	random := drawn(t)
	for dims := 1; dims <= 4; dims++ {
		middle := make([]float64, dims)
		x := &seeker{cells: cellsOf(dims, .005, append(hillOf(random, 150, .08, middle...), hillOf(random, 50, .5, middle...)...))}
		all := make([]int32, x.cells.len())
		for i := range all {
			all[i] = int32(i)
		}
		f := x.field(all, .16)
		reach := .16*(1+1e-6) + 1e-9
		var some []int32
		for i := range f.count {
			sum := int64(0)
			for k, n := range f.count {
				if f.distance(int32(i), int32(k)) <= reach {
					sum += n
				}
			}
			if f.density[i] != sum {
				t.Fatalf("%d dimensions: density %d, want %d", dims, f.density[i], sum)
			}
			if random.IntN(3) == 0 {
				some = append(some, int32(i))
			}
		}
		tree := newNearTree(f, some)
		for i := range f.count {
			best := some[0]
			for _, j := range some {
				if f.distance(int32(i), j) < f.distance(int32(i), best) {
					best = j
				}
			}
			if got := tree.nearest(int32(i)); got != best {
				t.Fatalf("%d dimensions: cell %d is nearest to %d, want %d", dims, i, got, best)
			}
		}
	}
}

func TestWithin(t *testing.T) {
	s := &spread{cells: []int32{-3, 0, 1, 7}, counts: []int64{1, 2, 4, 8}, bursts: 15}
	for _, c := range []struct {
		from, to float64
		want     int64
	}{{-10, 10, 15}, {-2.5, -2.5, 1}, {-2.4, .4, 0}, {.5, 1.5, 6}, {1.6, 7.4, 0}, {7.5, 99, 8}, {8, 99, 0}, {3, 2, 0}} {
		if got := s.within(c.from, c.to); got != c.want {
			t.Errorf("from %v to %v: %d, want %d", c.from, c.to, got, c.want)
		}
	}
}

func TestSpreads(t *testing.T) {
	random := drawn(t)
	var a, b, both spread
	k, ka, kb := newCounter(1), newCounter(1), newCounter(1)
	for range 3000 {
		cell := int64(100 * random.NormFloat64())
		k.one(cell)
		if random.IntN(3) == 0 {
			ka.one(cell)
		} else {
			kb.one(cell)
		}
	}
	fill := func(s *spread, k *counter) {
		t := k.table()
		for i, n := range t.Counts {
			s.cells, s.counts, s.bursts = append(s.cells, int32(t.Keys[i])), append(s.counts, n), s.bursts+n
		}
	}
	fill(&both, k)
	fill(&a, ka)
	fill(&b, kb)
	sum := spread{slices.Clone(a.cells), slices.Clone(a.counts), a.bursts}
	sum.add(&b)
	if !slices.Equal(sum.cells, both.cells) || !slices.Equal(sum.counts, both.counts) || sum.bursts != both.bursts {
		t.Error("two parts are not the whole")
	}
	sum.take(&b)
	if sum.bursts != a.bursts || sum.quantile(.5) != a.quantile(.5) || sum.quantile(0) != a.quantile(0) || sum.quantile(1) != a.quantile(1) {
		t.Error("the whole less one part is not the other")
	}
	if q := new(spread).quantile(.5); !math.IsNaN(q) {
		t.Errorf("the median of nothing is %v", q)
	}
}

// A tail begins behind the peak; what has none keeps all.
func TestTails(t *testing.T) {
	random := drawn(t)
	k := newCounter(1)
	for range 2000 {
		k.one(int64(math.Floor(1000 + 4*random.NormFloat64())))
	}
	for range 100 {
		k.one(1060 + random.Int64N(400))
	}
	s := new(spread)
	x := k.table()
	for i, n := range x.Counts {
		s.cells, s.counts, s.bursts = append(s.cells, int32(x.Keys[i])), append(s.counts, n), s.bursts+n
	}
	tail := s.tail()
	if tail < 1015 || tail > 1060 {
		t.Errorf("the tail begins at %d", tail)
	}
	s.trim(tail)
	if s.bursts < 1990 || s.bursts > 2000 || s.cells[len(s.cells)-1] >= tail {
		t.Errorf("%d bursts are no tail", s.bursts)
	}
	for _, c := range []spread{{}, {[]int32{3}, []int64{24}, 24}, {[]int32{3}, []int64{1000}, 1000}, {[]int32{math.MaxInt32 - 1}, []int64{1000}, 1000}} {
		n := c.bursts
		if c.trim(c.tail()); c.bursts != n {
			t.Errorf("of %d bursts in one cell %d are no tail", n, c.bursts)
		}
	}
}
