package loops

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// thread gives symbols times that distinguish bursts.
func thread(symbols []uint32) Thread {
	t := Thread{Symbols: symbols}
	for i, s := range symbols {
		t.DurationNS = append(t.DurationNS, int64(1000*(s+1)+uint32(i%7)))
		t.GapNS = append(t.GapNS, int64(10+i%3))
	}
	return t
}

func compress(t testing.TB, o Options, threads ...Thread) *Structure {
	t.Helper()
	s, err := Compress(threads, o)
	if err != nil {
		t.Fatal(err)
	}
	checkTimes(t, s, threads)
	return s
}

// checkTimes checks that the times at all places together are those of all threads, symbol by symbol, and that each
// place has as many bursts as it stands for.
func checkTimes(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Structure, threads []Thread) {
	t.Helper()
	type sum struct{ n, ns, gap int64 }
	want, got := make(map[uint32]sum), make(map[uint32]sum)
	for i := range threads {
		for k, symbol := range threads[i].Symbols {
			x := want[symbol]
			want[symbol] = sum{x.n + 1, x.ns + threads[i].DurationNS[k], x.gap + threads[i].GapNS[k]}
		}
	}
	add := func(symbol uint32, n, ns, gap int64) {
		if x := got[symbol]; n > 0 {
			got[symbol] = sum{x.n + n, x.ns + ns, x.gap + gap}
		}
	}
	// Bodies of coarse symbols do not count, but what was counted beside them.
	exact := make(map[int32]bool)
	var reach func(body int32)
	reach = func(body int32) {
		if exact[body] {
			return
		}
		exact[body] = true
		for _, item := range s.Bodies[body].Items {
			for _, turn := range item.Turns {
				reach(turn.Body)
			}
		}
	}
	for _, q := range s.Sequences {
		if q.Counts == nil {
			reach(q.Root)
		}
		for _, c := range q.Counts {
			add(c.Symbol, c.Duration.N, c.Duration.Total, c.Gap.Total)
		}
	}
	for i, b := range s.Bodies {
		if !exact[int32(i)] {
			continue
		}
		for _, item := range b.Items {
			if item.Duration.N != item.Times*b.Rounds || slices.ContainsFunc(item.Mixed, func(c Count) bool { return c.Duration.N != c.Times*b.Rounds }) {
				t.Fatalf("in %d rounds: %+v", b.Rounds, item)
			}
			add(item.Symbol, item.Duration.N, item.Duration.Total, item.Gap.Total)
			for _, c := range item.Mixed {
				add(c.Symbol, c.Duration.N, c.Duration.Total, c.Gap.Total)
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("times %v, want %v", got, want)
	}
}

// size is that of what a structure would be written as, its times left out.
func size(t testing.TB, s *Structure) int {
	t.Helper()
	bare := *s
	bare.Bodies = nil
	for _, b := range s.Bodies {
		b.Items = slices.Clone(b.Items)
		for k := range b.Items {
			b.Items[k].Duration.Squares, b.Items[k].Duration.Total, b.Items[k].Gap.Total = b.Items[k].Gap.Squares, 0, 0
		}
		bare.Bodies = append(bare.Bodies, b)
	}
	text, err := json.Marshal(bare)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// program draws a sequence of nested loops whose inner counts may vary, with single symbols out of place.
func program(t *rapid.T, depth int) []uint32 {
	var out []uint32
	for range rapid.IntRange(1, 4).Draw(t, "items") {
		if depth == 0 || rapid.Bool().Draw(t, "symbol") {
			out = append(out, uint32(rapid.IntRange(0, 4).Draw(t, "which")))
			continue
		}
		body := program(t, depth-1)
		other := program(t, depth-1)
		for range rapid.IntRange(1, 9).Draw(t, "times") {
			if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
				out = append(out, other...)
			} else {
				out = append(out, body...)
			}
		}
	}
	return out
}

// What is rebuilt is what the threads did, whatever that is.
func TestRebuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var coarse []uint32
		if rapid.Bool().Draw(t, "alike") {
			coarse = []uint32{5, 6, 5, 6, 5}
		}
		var threads []Thread
		for range rapid.IntRange(1, 4).Draw(t, "threads") {
			if n := len(threads); n > 0 && rapid.Bool().Draw(t, "same") {
				threads = append(threads, threads[rapid.IntRange(0, n-1).Draw(t, "as")])
				continue
			}
			threads = append(threads, thread(program(t, 3)))
		}
		s, err := Compress(threads, Options{Items: 1 << 20, Ratio: 1, Coarse: coarse})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Compress(threads, Options{Items: 1 << 20, Ratio: 1, Coarse: coarse, Workers: 4}); err != nil || !reflect.DeepEqual(s, again) {
			t.Fatal("with 4 workers the answer is another")
		}
		checkTimes(t, s, threads)
		for i, th := range threads {
			q := s.Sequences[s.Of[i]]
			if got := s.Rebuild(int(s.Of[i])); q.Mixed+q.Unordered+q.Blurred == 0 && !slices.Equal(got, th.Symbols) || len(got) != len(th.Symbols) {
				t.Fatalf("thread %d:\n%v, rebuilt\n%v from\n%+v", i, th.Symbols, got, s)
			}
			if q.Mixed+q.Unordered+q.Blurred > 0 && len(th.Symbols) < MostItems/4 {
				t.Fatalf("%d symbols were summed up, %d lost their order, %d are blurred, of %d", q.Mixed, q.Unordered, q.Blurred, len(th.Symbols))
			}
		}
	})
}

// repeat is a body so many times, each with what differ puts in its place.
func repeat(times int, body func(i int) []uint32) (out []uint32) {
	for i := range times {
		out = append(out, body(i)...)
	}
	return out
}

func TestSizeHardlyGrows(t *testing.T) {
	step := func(int) []uint32 {
		solver := repeat(25, func(int) []uint32 { return []uint32{3, 4, 3, 5} })
		return slices.Concat([]uint32{0, 1, 2}, solver, []uint32{6, 6, 6, 7}, repeat(3, func(int) []uint32 { return []uint32{8, 8, 9} }))
	}
	for name, body := range map[string]func(i int) []uint32{
		"nested":   step,
		"one kind": func(int) []uint32 { return []uint32{1} },
		"output every 100th": func(i int) []uint32 {
			if i%100 == 99 {
				return append(step(i), 10, 11, 12)
			}
			return step(i)
		},
		"alternating": func(i int) []uint32 {
			if i%2 == 0 {
				return []uint32{1, 2, 3}
			}
			return []uint32{1, 2, 4, 5}
		},
	} {
		sizes := make(map[int]int)
		for _, n := range []int{200, 20_000} {
			sequence := slices.Concat([]uint32{20, 21}, repeat(n, body), []uint32{22})
			s := compress(t, Options{}, thread(sequence))
			if got := s.Rebuild(0); !slices.Equal(got, sequence) {
				t.Fatalf("%s: rebuilt otherwise", name)
			}
			sizes[n] = size(t, s)
		}
		if sizes[20_000] > sizes[200]*110/100+20 {
			t.Errorf("%s: %d bytes for 200 iterations, %d for 20,000", name, sizes[200], sizes[20_000])
		}
	}
}

// Loops inside that go round a different number of times each, and single iterations that differ, do not hide the outer
// loop.
func TestVaryingLoops(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	sequence := repeat(1000, func(i int) []uint32 {
		solver := repeat(5+random.IntN(6), func(int) []uint32 { return []uint32{3, 4} })
		return slices.Concat([]uint32{0, 1, 2}, solver, []uint32{5})
	})
	s := compress(t, Options{}, thread(sequence))
	if got := s.Rebuild(0); !slices.Equal(got, sequence) {
		t.Fatal("rebuilt otherwise")
	}
	root := s.Bodies[s.Sequences[0].Root]
	outer := 0
	for _, item := range root.Items {
		if len(item.Turns) > 400 {
			outer++
		}
	}
	if outer != 1 || len(root.Items) > 20 {
		t.Errorf("the sequence itself has %d items, %d of them loops over the iterations", len(root.Items), outer)
	}
	if len(s.Bodies) > 30 {
		t.Errorf("%d bodies for 6 different iterations", len(s.Bodies))
	}
}

// What lies between two loops is kept once, though each turn round them has inner loops of its own.
func TestSharedBetweenLoops(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	sequence := repeat(300, func(int) []uint32 {
		inner := func(a, b uint32) []uint32 {
			return repeat(2+random.IntN(30), func(int) []uint32 { return []uint32{a, b} })
		}
		return slices.Concat([]uint32{0, 1, 2, 3, 4, 5, 6, 7}, inner(8, 9), []uint32{10, 11, 12, 13, 14, 15}, inner(16, 17))
	})
	s := compress(t, Options{}, thread(sequence), thread(sequence[:len(sequence)/2]))
	for i, want := range [][]uint32{sequence, sequence[:len(sequence)/2]} {
		if !slices.Equal(s.Rebuild(i), want) {
			t.Fatal("rebuilt otherwise")
		}
	}
	places := make(map[uint32]int)
	for _, b := range s.Bodies {
		for _, item := range b.Items {
			if item.Times > 0 {
				places[item.Symbol]++
			}
		}
	}
	for symbol, n := range places {
		if n > 6 {
			t.Errorf("symbol %d is kept at %d places", symbol, n)
		}
	}
}

func TestNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	sequence := repeat(500, func(i int) []uint32 {
		body := []uint32{0, 1, 2, 3, 4, 5, 6, 7}
		if random.IntN(10) == 0 {
			body[random.IntN(8)] = 9
		}
		return body
	})
	s := compress(t, Options{}, thread(sequence))
	if got := s.Rebuild(0); !slices.Equal(got, sequence) {
		t.Fatal("rebuilt otherwise")
	}
	items := 0
	for _, b := range s.Bodies {
		items += len(b.Items)
	}
	if items > 800 {
		t.Errorf("%d items for 50 iterations of 8 bursts that differ", items)
	}
}

// The same body on many threads is there once, with the times of all.
func TestShared(t *testing.T) {
	var threads []Thread
	for i := range 10 {
		n := 100
		if i == 3 {
			n = 101
		}
		threads = append(threads, thread(repeat(n, func(int) []uint32 { return []uint32{0, 1, 2} })))
	}
	s := compress(t, Options{}, threads...)
	if len(s.Sequences) != 2 || s.Sequences[0].Threads != 9 || len(s.Bodies) != 3 || !slices.Equal(s.Of, []int32{0, 0, 0, 1, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("%d sequences of %v, %d bodies", len(s.Sequences), s.Of, len(s.Bodies))
	}
}

func TestRefuses(t *testing.T) {
	for name, th := range map[string]Thread{
		"lengths": {Symbols: []uint32{1, 2}, DurationNS: []int64{1}, GapNS: []int64{1, 2}},
		"symbol":  {Symbols: []uint32{1 << 31}, DurationNS: []int64{1}, GapNS: []int64{1}},
	} {
		if _, err := Compress([]Thread{th}, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkCompress(b *testing.B) {
	step := func(int) []uint32 {
		return slices.Concat([]uint32{0, 1, 2}, repeat(10, func(int) []uint32 { return []uint32{3, 4, 3, 5} }), []uint32{6, 6, 6, 7})
	}
	for _, n := range []int{1_000_000, 10_000_000} {
		for _, threads := range []int{1, 100, 10_000} {
			for _, kind := range []string{"regular", "noisy", "random"} {
				random := rand.New(rand.NewPCG(1, 2))
				var list []Thread
				for range threads {
					var sequence []uint32
					for len(sequence) < n/threads {
						sequence = append(sequence, step(0)...)
					}
					sequence = sequence[:n/threads]
					for k := range sequence {
						if kind == "random" {
							sequence[k] = random.Uint32N(20)
						} else if kind == "noisy" && random.IntN(50) == 0 {
							sequence[k] = 9
						}
					}
					list = append(list, thread(sequence))
				}
				b.Run(fmt.Sprintf("%s/bursts=%d/threads=%d", kind, n, threads), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						s, err := Compress(list, Options{Workers: 2})
						if err != nil {
							b.Fatal(err)
						}
						b.ReportMetric(float64(len(s.Bodies)), "bodies")
						b.ReportMetric(float64(s.Sequences[0].Mixed)/float64(s.Sequences[0].Symbols), "mixed")
					}
				})
			}
		}
	}
}
