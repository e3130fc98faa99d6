package kinds

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"moriens/internal/team"
	"moriens/internal/testenv"
)

// drawn is a source of numbers for a test.
func drawn(t testing.TB) *rand.Rand {
	t.Helper()
	return testenv.Drawer(testenv.Seed(t), t.Name())
}

// alone is a team of one member.
func alone(workers int) *executor { return &executor{team.Panicking{}, workers, nil} }

// What a counter counts is what a map counts, in ascending order, and so are merged parts of it.
func TestTablesCountLikeMaps(t *testing.T) {
	random := drawn(t)
	for width := 1; width <= 3; width++ {
		want := make(map[[3]int64]int64)
		parts := make([]Table, 4)
		for p := range parts {
			k := newCounter(width)
			for range 5000 * p { // the first is empty
				var key [3]int64
				for d := range width {
					key[d] = random.Int64N(40) - 20
					if random.IntN(50) == 0 {
						key[d] = []int64{math.MinInt64, math.MaxInt64, 1 << 40}[random.IntN(3)]
					}
				}
				want[key]++
				if width == 1 && random.IntN(2) == 0 {
					k.one(key[0])
				} else {
					k.add(1, key[:width]...)
				}
			}
			parts[p] = k.table()
		}
		all := Merge(width, parts...)
		if all.Len() != len(want) {
			t.Fatalf("width %d: %d keys, want %d", width, all.Len(), len(want))
		}
		for i, n := range all.Counts {
			var key [3]int64
			copy(key[:], all.Key(i))
			if want[key] != n {
				t.Errorf("width %d: %v was met %d times, want %d", width, all.Key(i), n, want[key])
			}
			if i > 0 && slices.Compare(all.Key(i-1), all.Key(i)) >= 0 {
				t.Errorf("width %d: %v before %v", width, all.Key(i-1), all.Key(i))
			}
		}
	}
}

func TestTablesDropWhatWasTakenOut(t *testing.T) {
	k := newCounter(2)
	k.add(3, -1, 5)
	k.add(2, -2, 5)
	k.add(-3, -1, 5)
	if got := k.table(); got.Len() != 1 || !slices.Equal(got.Keys, []int64{-2, 5}) || got.Counts[0] != 2 {
		t.Errorf("%+v", got)
	}
	if got := Merge(2); got.Len() != 0 || got.Width != 2 {
		t.Errorf("nothing is %+v", got)
	}
}

func TestWorkersCountAlike(t *testing.T) {
	random := drawn(t)
	keys := make([]int64, 10_000)
	for i := range keys {
		keys[i] = random.Int64N(300)
	}
	count := func(workers int) Table {
		return alone(workers).count(1, len(keys), func(k *counter, from, to int) {
			for _, key := range keys[from:to] {
				k.one(key)
			}
		})
	}
	want := count(1)
	for workers := 2; workers <= 8; workers++ {
		if got := count(workers); !slices.Equal(got.Keys, want.Keys) || !slices.Equal(got.Counts, want.Counts) {
			t.Errorf("%d workers count otherwise", workers)
		}
	}
}

// A counter that knows which keys are done counts as one that is not.
func TestDoneKeysCount(t *testing.T) {
	random := drawn(t)
	whole, cut := newCounter(1), newCounter(1)
	for begin := range int64(20) {
		for range random.IntN(300) {
			key := begin<<32 | random.Int64N(40)
			whole.one(key)
			cut.one(key)
		}
		cut.cut()
	}
	if got, want := cut.table(), whole.table(); !slices.Equal(got.Keys, want.Keys) || !slices.Equal(got.Counts, want.Counts) {
		t.Errorf("%d keys, want %d", got.Len(), want.Len())
	}
}

// Values of cells are found however far these are from each other.
func TestValuesByCell(t *testing.T) {
	random := drawn(t)
	for _, reach := range []int32{1, 100, 1 << 15, 1 << 29} {
		want := make(map[int32]int32)
		for range 200 {
			want[random.Int32N(2*reach)-reach] = random.Int32()
		}
		var values []int32
		cells := slices.Sorted(maps.Keys(want))
		for _, cell := range cells {
			values = append(values, want[cell])
		}
		got := newByCell(cells, values)
		for cell := range want {
			for _, near := range []int32{cell, cell - 1, cell + 1, -cell} {
				if got.at(near) != want[near] {
					t.Errorf("reach %d, cell %d: %d, want %d", reach, near, got.at(near), want[near])
				}
			}
		}
	}
}

// Spreads are what counting gives, wherever the values lie.
func TestSpreadsOfAnyReach(t *testing.T) {
	random := drawn(t)
	for _, reach := range []int32{10, windowSize, 4 * windowSize, math.MaxInt32 / 2} {
		const n, leaves = 3000, 5
		leafOf, values := make([]int32, n), [2][]int32{make([]int32, n), make([]int32, n)}
		want := make(map[[3]int32]int64)
		for i := range n {
			leafOf[i] = random.Int32N(leaves+1) - 1
			for j := range values {
				values[j][i] = random.Int32N(2*reach) - reach + int32(j)
				if leafOf[i] >= 0 {
					want[[3]int32{leafOf[i], int32(j), values[j][i]}]++
				}
			}
		}
		column := func(j int) func(int) int32 { return func(i int) int32 { return values[j][i] } }
		found := 0
		for leaf, spreads := range spreadsOf(alone(3), n, func(i int) int32 { return leafOf[i] }, leaves, column(0), column(1)) {
			for j, s := range spreads {
				if !slices.IsSorted(s.cells) {
					t.Errorf("reach %d: cells %v", reach, s.cells)
				}
				for i, cell := range s.cells {
					found++
					if s.counts[i] != want[[3]int32{int32(leaf), int32(j), cell}] {
						t.Errorf("reach %d, leaf %d, column %d: %d in cell %d, want %d", reach, leaf, j, s.counts[i], cell, want[[3]int32{int32(leaf), int32(j), cell}])
					}
				}
			}
		}
		if found != len(want) {
			t.Errorf("reach %d: %d cells, want %d", reach, found, len(want))
		}
	}
}

func TestScales(t *testing.T) {
	for _, c := range []struct {
		least float64
		want  int
	}{{.01, 11}, {.02, 9}, {.32, 1}, {1, 1}, {.005, 13}} {
		list := scales(c.least)
		if len(list) != c.want || c.least <= Coarsest && list[0] != Coarsest || list[len(list)-1] < c.least*(1-1e-3) {
			t.Errorf("down to %v: %v", c.least, list)
		}
		for k, eps := range list[1:] {
			if r := list[k] / eps; math.Abs(r-math.Sqrt2) > 1e-12 {
				t.Errorf("down to %v: %v after %v", c.least, eps, list[k])
			}
		}
	}
	if a, b := MostSide(1, .01), MostSide(2, .02); a != .005 || b != .005 {
		t.Errorf("sides %v and %v", a, b)
	}
}

func TestFloorDiv(t *testing.T) {
	for a := int32(-9); a <= 9; a++ {
		for b := int32(1); b <= 4; b++ {
			if got, want := floorDiv(a, b), int32(math.Floor(float64(a)/float64(b))); got != want {
				t.Errorf("%d / %d = %d, want %d", a, b, got, want)
			}
		}
	}
}

// Codes differ up to the largest, which all have that do not fit.
func TestCodes(t *testing.T) {
	c := codes{5}
	if c.leaf(0) != 1 || c.leaf(4) != 5 || c.noise(0) != 6 || c.noise(2) != 8 {
		t.Errorf("codes %d, %d, %d, %d", c.leaf(0), c.leaf(4), c.noise(0), c.noise(2))
	}
	many := codes{codeMost}
	if many.leaf(codeMost-2) != codeMost-1 || many.leaf(codeMost-1) != codeMost || many.leaf(codeMost+7) != codeMost || many.noise(3) != codeMost {
		t.Error("codes beyond the largest")
	}
	if n := len(identity(codeMost + 9)); n != codeMost+1 {
		t.Errorf("%d codes", n)
	}
	g := new(grams) // keys of the largest code are all of them at once: they carry no information
	k := newCounter(1)
	for context := int64(1); context < 3; context++ {
		k.add(1000, codeMost<<contextBits|context)
		k.add(1000*context, 7<<contextBits|context)
	}
	g[twoBefore] = k.table()
	if u := g.foretold(7, codeMost); u != 0 {
		t.Errorf("the largest code is foretold to %v", u)
	}
}

func TestStepsOfDurations(t *testing.T) {
	random := drawn(t)
	last := int32(-1)
	for ns := int64(0); ns < 1<<14; ns++ {
		s := Step(ns)
		if s < last || s > last+1 {
			t.Fatalf("step %d of %d ns after %d", s, ns, last)
		}
		last = s
	}
	for range 20_000 {
		ns := random.Int64N(math.MaxInt64) >> random.IntN(62)
		if got := lengthOf(float64(Step(ns)) + .5); math.Abs(got-float64(ns)) > float64(ns)/1000 {
			t.Fatalf("%d ns are %v", ns, got)
		}
		if ns < math.MaxInt64 && Step(ns) > Step(ns+1) {
			t.Fatalf("step of %d ns is above that of the next", ns)
		}
	}
}

func TestCores(t *testing.T) {
	durations := []int64{100, 200, 300, 400, 500, 1 << 62, 0, 0, 7}
	of := []int32{0, 0, 0, 0, 0, 1, 3, 3, None}
	for workers := 1; workers < 4; workers++ {
		median, core, err := Cores(team.Threads{}, workers, len(of), 4, func(i int) int32 { return of[i] }, func(i int) int64 { return durations[i] })
		if err != nil {
			t.Fatal(err)
		}
		if median[0] != 300 || math.Abs(core[0]-1./3) > 1e-12 {
			t.Errorf("median %v, core %v", median[0], core[0])
		}
		if math.Abs(median[1]/(1<<62)-1) > 1e-3 || core[1] != 0 {
			t.Errorf("of one long burst: %v, %v", median[1], core[1])
		}
		if !math.IsNaN(median[2]) || !math.IsNaN(core[2]) {
			t.Errorf("of no bursts: %v, %v", median[2], core[2])
		}
		if median[3] != 0 {
			t.Errorf("of bursts without length: %v, %v", median[3], core[3])
		}
	}
}

func newDraws(a, b uint64) *rand.Rand { return rand.New(rand.NewPCG(a, b)) }

// A leaf whose peak has fewer bursts above its middle than below has the tail of its whole peak.
func TestTailOfLopsidedPeak(t *testing.T) {
	var s spread
	for cell := int32(96); cell <= 120; cell++ {
		n := int64(5)
		switch {
		case cell < 100:
			n = 10
		case cell == 100:
			n = 1
		case cell < 105:
			n = 8
		}
		s.cells, s.counts, s.bursts = append(s.cells, cell), append(s.counts, n), s.bursts+n
	}
	if at, height := s.peak(); s.cells[at] != 100 || height != 73 {
		t.Fatalf("the peak is at cell %d, of %d bursts", s.cells[at], height)
	}
	// Round cell 118 there are 35 bursts, less than half of 73.
	if got, want := s.tail(), int32(100+tailBegins*(18+peakReach/2)); got != want {
		t.Errorf("the tail begins at cell %d, want %d", got, want)
	}
}
