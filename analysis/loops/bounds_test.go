package loops

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What does not compress is bounded, and the counts remain exact.
func TestBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	sequence := slices.Concat(
		repeat(2000, func(int) []uint32 { return []uint32{uint32(random.IntN(12))} }),
		repeat(1000, func(int) []uint32 { return []uint32{20, 21, 22, 23} }),
		repeat(20_000, func(int) []uint32 { return []uint32{uint32(random.IntN(12))} }),
		// A loop whose iterations are all different.
		repeat(3000, func(int) []uint32 {
			return slices.Concat([]uint32{30, 31}, repeat(1+random.IntN(300), func(int) []uint32 { return []uint32{32} }), []uint32{33})
		}),
	)
	s := compress(t, Options{Items: 1024, Ratio: 1}, thread(sequence), thread(sequence[:100]), thread([]uint32{}))
	if s.Limit != 1024/3 {
		t.Errorf("limit %d", s.Limit)
	}
	q := s.Sequences[0]
	items := 0
	for _, b := range s.Bodies {
		for _, item := range b.Items {
			items += 1 + len(item.Turns) + len(item.Mixed)
		}
	}
	if items > 2*s.Limit+1 {
		t.Errorf("%d items, limit %d", items, s.Limit)
	}
	count := func(list []uint32) map[uint32]int {
		n := make(map[uint32]int)
		for _, x := range list {
			n[x]++
		}
		return n
	}
	got := s.Rebuild(0)
	if d := count(got); !reflect.DeepEqual(d, count(sequence)) {
		t.Errorf("counts %v, want %v", d, count(sequence))
	}
	if q.Mixed == 0 || q.Mixed >= q.Symbols {
		t.Errorf("%d of %d symbols summed up", q.Mixed, q.Symbols)
	}
	kept := false
	for _, item := range s.Bodies[q.Root].Items {
		kept = kept || len(item.Turns) == 1 && item.Turns[0].Times > 990 && !item.Unordered
	}
	if !kept {
		t.Error("the regular loop was not kept")
	}
	if !slices.Equal(s.Rebuild(1), sequence[:100]) || len(s.Rebuild(2)) != 0 {
		t.Error("a short sequence was not kept")
	}
}

// Where noise in the symbols makes a sequence too large, the calls still give its loops, and the counts of the symbols
// remain exact.
func TestBlurred(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	// Symbols 0 to 7, or, at each place, the same one as noise: 10 to 17. Coarse: 20 to 27.
	coarse := make([]uint32, 18)
	for i := range coarse {
		coarse[i] = 20 + uint32(i%10)
	}
	noisy := func(times, in int) []uint32 {
		return repeat(times, func(int) []uint32 {
			body := []uint32{0, 1, 2, 3, 4, 5, 6, 7}
			for k := range body {
				if random.IntN(in) == 0 && k > 0 {
					body[k] += 10
				}
			}
			return body
		})
	}
	sequence := noisy(5000, 2)
	s := compress(t, Options{Coarse: coarse}, thread(sequence))
	if n := len(s.Bodies); n != 2 {
		t.Errorf("%d bodies", n)
	}
	q := s.Sequences[0]
	if q.Blurred != 5000*7 || q.Mixed != 0 || q.Unordered != 0 {
		t.Errorf("%d blurred, %d mixed, %d unordered of %d", q.Blurred, q.Mixed, q.Unordered, q.Symbols)
	}
	got := s.Rebuild(0)
	count := make(map[uint32]int64)
	for i, symbol := range got {
		if coarse[symbol] != coarse[sequence[i]] {
			t.Fatalf("place %d: %d for %d", i, symbol, sequence[i])
		}
		count[symbol]++
		count[sequence[i]+100]++
	}
	for symbol := range uint32(18) {
		if count[symbol] != count[symbol+100] {
			t.Errorf("symbol %d: %d times, want %d", symbol, count[symbol], count[symbol+100])
		}
	}
	for _, c := range q.Counts {
		if c.Times != count[c.Symbol] || c.Duration.N != c.Times || c.Duration.Total < 1000*c.Times*int64(c.Symbol+1) {
			t.Errorf("symbol %d: %+v", c.Symbol, c)
		}
	}
	few := noisy(5000, 20)
	short := compress(t, Options{Coarse: coarse}, thread(few))
	if short.Sequences[0].Blurred != 0 || !slices.Equal(short.Rebuild(0), few) {
		t.Error("what is small enough is not exact")
	}
	if n := len(short.Bodies[short.Sequences[0].Root].Items); n != 1 || len(short.Bodies) > 60 {
		t.Errorf("%d items and %d bodies for one loop whose turns differ in few ways", n, len(short.Bodies))
	}
	if _, err := Compress([]Thread{thread([]uint32{18})}, Options{Coarse: coarse}); err == nil {
		t.Error("a symbol without a coarse one: no error")
	}
}

// A sequence that gets hardly shorter is not worth its items, unless it has few.
func TestRatio(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	sequence := repeat(1000, func(int) []uint32 { return []uint32{uint32(random.IntN(100))} })
	for n, want := range map[int]bool{LeastItems: true, 1000: false} {
		s := compress(t, Options{}, thread(sequence[:n]))
		items := 0
		for _, b := range s.Bodies {
			for _, item := range b.Items {
				items += 1 + len(item.Turns) + len(item.Mixed)
			}
		}
		if q := s.Sequences[0]; (q.Mixed == 0) != want || items > max(LeastItems, n/DefaultRatio) {
			t.Errorf("%d symbols: %d items, %d summed up", n, items, q.Mixed)
		}
	}
}

// A loop whose turns all differ takes more than what it stands for. What fits without it is kept as it was, not summed
// up.
func TestTurnsThatDiffer(t *testing.T) {
	sequence := repeat(LeastItems/2, func(i int) []uint32 { return append(slices.Repeat([]uint32{0}, i+1), 1) })
	for _, coarse := range [][]uint32{nil, {2, 2}} {
		s := compress(t, Options{Ratio: 16, Coarse: coarse}, thread(sequence), thread([]uint32{1}))
		if q := s.Sequences[0]; q.Mixed+q.Unordered+q.Blurred > 0 || !slices.Equal(s.Rebuild(0), sequence) {
			t.Errorf("coarse symbols %v: of %d symbols %d are summed up, %d lost their order, %d are blurred", coarse, q.Symbols, q.Mixed, q.Unordered, q.Blurred)
		}
	}
}

// What is only counted is spread over its place: every tenth of it has about a tenth of each symbol.
func TestSpread(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 100, 101, 9973, 30030} {
		symbols := make([]uint32, n)
		for i := range symbols {
			symbols[i] = uint32(10 * i / n)
		}
		spread(symbols)
		for symbol := range uint32(10) {
			total := 0
			for _, s := range symbols {
				if s == symbol {
					total++
				}
			}
			here := 0
			for _, s := range symbols[n/2 : n/2+n/10] {
				if s == symbol {
					here++
				}
			}
			if n >= 100 && (total != (n*int(symbol+1)+9)/10-(n*int(symbol)+9)/10 || max(here*10-total, total-here*10) > 60) {
				t.Errorf("%d symbols: %d of %d of symbol %d are in a tenth", n, here, total, symbol)
			}
		}
	}
}

// Where a sequence is slightly too long, one stretch is summed up and the rest keeps its order.
func TestStretch(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	sequence := repeat(300, func(int) []uint32 { return []uint32{uint32(random.IntN(40))} })
	s := compress(t, Options{Items: 260, Ratio: 1}, thread(sequence))
	q := s.Sequences[0]
	if q.Mixed == 0 || q.Mixed > 120 {
		t.Fatalf("%d of %d symbols are summed up", q.Mixed, q.Symbols)
	}
	same := 0
	for i, symbol := range s.Rebuild(0) {
		if symbol == sequence[i] {
			same++
		}
	}
	if same < 300-int(q.Mixed) {
		t.Errorf("%d symbols are in their place, %d summed up", same, q.Mixed)
	}
}

// Loops are found up to the longest period. What recurs after more is not folded.
func TestLongestPeriod(t *testing.T) {
	for period, want := range map[int]int{tooLong/2 + 1: 1, tooLong - 1: 1, tooLong: 3 * tooLong} {
		body := make([]uint32, period)
		for i := range body {
			body[i] = uint32(i)
		}
		f := newForest(nil)
		if got := len(f.foldAll(f.begin(slices.Repeat(body, 3))).nodes); got != want {
			t.Errorf("a period of %d comes to %d nodes, want %d", period, got, want)
		}
	}
}

// The stretch that is summed up is the one of fewest symbols with which all fits, to the last item.
func TestLeastStretch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newForest(nil)
		var symbols []uint32
		own := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 20).Draw(t, "own")
		total := 0
		for i, items := range own {
			symbols = append(symbols, slices.Repeat([]uint32{uint32(i)}, rapid.IntRange(1, 4).Draw(t, "times"))...)
			total += items
		}
		l := f.begin(symbols)
		s := &sizes{f, make([]int64, len(f.nodes)), make([]int64, len(f.bodies))}
		different, limit := rapid.IntRange(1, 10).Draw(t, "different"), rapid.IntRange(1, total).Draw(t, "limit")
		fewest := int64(0) // none fits
		for b := range own {
			inside := 0
			for a := b; a >= 0; a-- {
				inside += own[a]
				n := s.symbols(l, a, b+1)
				if total-inside+1+min(different, inside) <= limit && (fewest == 0 || n < fewest) {
					fewest = n
				}
			}
		}
		from, to, ok := s.stretch(l, own, different, limit)
		if got := s.symbols(l, from, to); ok != (fewest > 0) || got != fewest {
			t.Fatalf("items %v: from %d to %d, %d symbols, want %d", own, from, to, got, fewest)
		}
	})
}
