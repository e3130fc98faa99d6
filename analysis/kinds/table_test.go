package kinds

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"moriens/analysis/team"
)

// drawn is a source of numbers for a test, anew in each run of it but for MORIENS_SEED.
func drawn(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("MORIENS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("MORIENS_SEED: %v", err)
		}
	}
	t.Logf("MORIENS_SEED=%d", seed)
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// alone is a crew of one member.
func alone(workers int) *crew { return &crew{team.Crew{}, workers, nil} }

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
	g := new(grams) // keys of the largest code are all of them at once: they tell nothing
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
