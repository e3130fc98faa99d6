package sequence_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/sequence"
)

// threads puts sequences together. A burst of label l lasts l+1 times unit ns.
func threads(count int, sequences ...[]int32) sequence.Threads {
	t := sequence.Threads{Count: count}
	for _, s := range sequences {
		for _, label := range s {
			t.Labels = append(t.Labels, label)
			t.DurationNS = append(t.DurationNS, 100*int64(label+1))
		}
		t.Ends = append(t.Ends, len(t.Labels))
	}
	return t
}

func align(t interface{ Fatal(...any) }, threads sequence.Threads, workers int) *sequence.Score {
	s, err := sequence.Align(threads, workers)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// repeated is a pattern n times.
func repeated(n int, pattern ...int32) []int32 { return slices.Repeat(pattern, n) }

// without leaves out one burst.
func without(s []int32, at int) []int32 { return slices.Delete(slices.Clone(s), at, at+1) }

func TestPlanted(t *testing.T) {
	spmd := repeated(50, 1, 2, 3)
	hundred := make([]int32, 100)
	for i := range hundred {
		hundred[i] = int32(i)
	}
	master, worker := repeated(100, 1), repeated(100, 2, 3)
	for _, c := range []struct {
		name  string
		in    sequence.Threads
		score map[int32]float64 // of labels
		// by hand: mean of the scores by time
		global float64
	}{
		{"SPMD", threads(4, spmd, spmd, spmd, spmd), map[int32]float64{1: 1, 2: 1, 3: 1}, 1},
		{"one of four ranks lacks one of 50", threads(4, spmd, spmd, without(spmd, 31), spmd),
			map[int32]float64{1: 1, 2: 1 - 1./200, 3: 1}, // burst 31 is a 2
			(2*200 + 3*199*(1-1./200) + 4*200) / (2*200 + 3*199 + 4*200)},
		{"a master and three workers", threads(4, master, worker, worker, worker),
			map[int32]float64{1: .25, 2: .75, 3: .75}, (2*100*.25 + (3+4)*300*.75) / (2*100 + (3+4)*300)},
		{"a hundred clusters", threads(100, hundred, hundred, hundred), map[int32]float64{0: 1, 50: 1, 99: 1}, 1},
		{"a hundred clusters, a rank lacks one", threads(100, hundred, without(hundred, 40), hundred), map[int32]float64{39: 1, 40: 2. / 3, 41: 1},
			1 - 41*2./3/(3*5050-41)},
		{"an iteration less", threads(4, spmd, spmd[3:]), map[int32]float64{1: 1 - .5/50, 2: 1 - .5/50, 3: 1 - .5/50}, 1 - .5/50},
		{"a phase of one rank alone", threads(4, slices.Concat(spmd, repeated(600, 0), spmd), slices.Concat(spmd, spmd)),
			map[int32]float64{0: .5, 1: 1, 2: 1, 3: 1}, (600*.5 + 9*200) / (600 + 9*200)},
		// By chance a third of the phase would fit what the others do at a shift.
		{"a phase of one rank alone, of kinds that all have", threads(5, slices.Concat(spmd, repeated(20, 3, 1), spmd), slices.Concat(spmd, spmd), slices.Concat(spmd, spmd, []int32{4})),
			map[int32]float64{2: 1, 4: 1. / 3}, (2*320*320./3/120 + 3*300 + 4*320*320./3/120 + 5./3) / (2*320 + 3*300 + 4*320 + 5)},
		{"nothing in common", threads(4, repeated(3, 0), repeated(3, 1)), map[int32]float64{0: .5, 1: .5}, .5},
		{"nothing in common, long", threads(4, repeated(3000, 0), repeated(2000, 1)), map[int32]float64{0: .5, 1: .5}, .5},
		{"a rank without bursts", threads(2, spmd[:1], nil, spmd[:1]), map[int32]float64{1: 1}, 1},
	} {
		for _, c.in.Counting = range []bool{false, true} {
			s := align(t, c.in, 1)
			if math.Abs(s.Global-c.global) > 1e-12 {
				t.Errorf("%s (counting %v): %v, want %v", c.name, c.in.Counting, s.Global, c.global)
			}
			for label, want := range c.score {
				if got := s.Labels[label].Score; math.Abs(got-want) > 1e-12 {
					t.Errorf("%s (counting %v): label %d: %v, want %v", c.name, c.in.Counting, label, got, want)
				}
			}
		}
	}
}

// What some ranks do where others do something else shares columns.
func TestShared(t *testing.T) {
	s := align(t, threads(5, repeated(20, 1, 2, 4), repeated(20, 1, 3, 4), repeated(20, 1, 3, 4)), 1)
	if want := []sequence.Shared{{Labels: []int32{2, 3}, Columns: 20}}; !reflect.DeepEqual(s.Shared, want) {
		t.Errorf("%+v, want %+v", s.Shared, want)
	}
	if s.Labels[2].Columns != 20 || s.Labels[3].Columns != 20 || s.Labels[3].Score != 2./3 {
		t.Errorf("%+v", s.Labels)
	}
}

func TestNotDefined(t *testing.T) {
	for _, in := range []sequence.Threads{{}, {Ends: []int{0, 0}}, threads(3, []int32{1, 2}), threads(3, nil, []int32{1, 2}, nil)} {
		s := align(t, in, 1)
		if s.Defined() || !math.IsNaN(s.Global) {
			t.Errorf("%+v has the score %v", in, s.Global)
		}
		for _, l := range s.Labels {
			if !math.IsNaN(l.Score) {
				t.Errorf("%+v: %+v", in, l)
			}
		}
	}
	// Bursts without length count one each.
	in := threads(3, []int32{1, 2}, []int32{1})
	clear(in.DurationNS)
	if s := align(t, in, 1); s.Global != (2+.5)/3 {
		t.Errorf("%v, want %v", s.Global, 2.5/3)
	}
}

func TestAnchors(t *testing.T) {
	// By itself the alignment finds two 1s that agree; the anchor says that they are not the same.
	in := threads(3, []int32{1, 2, 1}, []int32{1})
	if s := align(t, in, 1); s.Labels[1].Columns != 2 {
		t.Errorf("without anchors: %+v", s.Labels[1])
	}
	in.Anchors = [][]sequence.Anchor{{{At: 0, Event: 7}, {At: 3, Event: 9}}, {{At: 0, Event: 7}, {At: 0, Event: 9}}}
	if s := align(t, in, 1); s.Labels[1].Columns != 3 || s.Segments != 3 || s.Labels[1].Score != .5 {
		t.Errorf("with anchors: %+v in %d segments", s.Labels[1], s.Segments)
	}
	// An anchor that not all have cuts nothing, nor does one of a thread without bursts.
	in = threads(3, []int32{1, 2}, []int32{1, 2}, nil)
	in.Anchors = [][]sequence.Anchor{{{At: 1, Event: 1}, {At: 1, Event: 2}}, {{At: 1, Event: 2}}, {}}
	if s := align(t, in, 1); s.Segments != 2 || s.Global != 1 {
		t.Errorf("%+v", s)
	}
}

func TestBadInput(t *testing.T) {
	good := func() sequence.Threads { return threads(3, []int32{1, 2}, []int32{1, 0, 2}) }
	for _, c := range []struct {
		want  string
		spoil func(*sequence.Threads)
	}{
		{"5 labels have 4 durations", func(x *sequence.Threads) { x.DurationNS = x.DurationNS[1:] }},
		{"has label 2", func(x *sequence.Threads) { x.Count = 2 }},
		{"has label -1", func(x *sequence.Threads) { x.Labels[4] = -1 }},
		{"lasts -3 ns", func(x *sequence.Threads) { x.DurationNS[0] = -3 }},
		{"thread 1 end at 1", func(x *sequence.Threads) { x.Ends[1] = 1 }},
		{"end at 9", func(x *sequence.Threads) { x.Ends[1] = 9 }},
		{"the last thread ends at burst 4 of 5", func(x *sequence.Threads) { x.Ends[1] = 4 }},
		{"anchors of 1 threads", func(x *sequence.Threads) { x.Anchors = make([][]sequence.Anchor, 1) }},
		{"anchor 0 of thread 1 is at burst 4 of 3", func(x *sequence.Threads) { x.Anchors = [][]sequence.Anchor{nil, {{At: 4}}} }},
		{"anchor 1 of thread 1 is at burst 1 of 3", func(x *sequence.Threads) { x.Anchors = [][]sequence.Anchor{nil, {{At: 2}, {At: 1, Event: 1}}} }},
		{"twice", func(x *sequence.Threads) { x.Anchors = [][]sequence.Anchor{{{At: 1}}, {{At: 1}, {At: 2}}} }},
		{"different orders", func(x *sequence.Threads) {
			x.Anchors = [][]sequence.Anchor{{{At: 1, Event: 1}, {At: 1, Event: 2}}, {{At: 1, Event: 2}, {At: 2, Event: 1}}}
		}},
	} {
		in := good()
		c.spoil(&in)
		if _, err := sequence.Align(in, 2); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %q", err, c.want)
		}
	}
}

// drawThreads draws ranks that do mostly the same, with anchors or without.
func drawThreads(t *rapid.T) sequence.Threads {
	count := rapid.IntRange(1, 40).Draw(t, "labels")
	common := rapid.SliceOfN(rapid.Int32Range(0, int32(count-1)), 10, 80).Draw(t, "common")
	common = slices.Repeat(common, rapid.IntRange(1, 4).Draw(t, "iterations"))
	duration := rapid.SliceOfN(rapid.Int64Range(0, 1000), count, count).Draw(t, "durations")
	if rapid.Bool().Draw(t, "alike") { // then numbers alone would distinguish some labels
		for i := range duration {
			duration[i] = 7
		}
	}
	in := sequence.Threads{Count: count, Counting: rapid.Bool().Draw(t, "counting")}
	anchored := rapid.Bool().Draw(t, "anchored")
	for range rapid.IntRange(2, 7).Draw(t, "threads") {
		noise := rapid.SampledFrom([]int{40, 12, 4}).Draw(t, "noise")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var anchors []sequence.Anchor
		begin := len(in.Labels)
		for i, label := range common {
			if anchored && i%7 == 0 {
				anchors = append(anchors, sequence.Anchor{At: len(in.Labels) - begin, Event: uint64(i)})
			}
			switch random.IntN(noise) {
			case 0:
				continue
			case 1:
				in.Labels = append(in.Labels, int32(random.IntN(count)))
			}
			in.Labels = append(in.Labels, label)
		}
		for _, label := range in.Labels[begin:] {
			in.DurationNS = append(in.DurationNS, duration[label])
		}
		in.Ends = append(in.Ends, len(in.Labels))
		if anchored {
			in.Anchors = append(in.Anchors, anchors)
		}
	}
	return in
}

// Every burst is in a column, no column has a thread twice, and a label's score is at least what it would be if no two
// threads agreed anywhere.
func TestScoresAreShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawThreads(t)
		s := align(t, in, rapid.IntRange(1, 3).Draw(t, "workers"))
		if !s.Defined() {
			return
		}
		most := make(map[int32]int) // the most bursts of a label that a thread has
		begin, sequences := 0, 0.
		for _, end := range in.Ends {
			if begin < end {
				sequences++
			}
			own := make(map[int32]int)
			for _, label := range in.Labels[begin:end] {
				own[label]++
				most[label] = max(most[label], own[label])
			}
			begin = end
		}
		for i, l := range s.Labels {
			if l.Bursts == 0 {
				if !math.IsNaN(l.Score) || l.Columns != 0 {
					t.Fatalf("label %d has no bursts: %+v", i, l)
				}
				continue
			}
			if l.Columns < most[int32(i)] || l.Columns > l.Bursts {
				t.Fatalf("label %d: %d columns for %d bursts, a thread has %d", i, l.Columns, l.Bursts, most[int32(i)])
			}
			if want := float64(l.Bursts) / (sequences * float64(l.Columns)); l.Score != want {
				t.Fatalf("label %d: %v, want %v: %+v", i, l.Score, want, l)
			}
		}
		if s.Global < 1/sequences-1e-9 || s.Global > 1+1e-9 {
			t.Fatalf("global %v of %v sequences", s.Global, sequences)
		}
	})
}

// Neither the numbers of the labels nor the order of the threads nor the workers matter, to the last bit.
func TestNumberingAndOrderDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawThreads(t)
		want := align(t, in, 1)

		labels := make([]int32, in.Count)
		for i := range labels {
			labels[i] = int32(i)
		}
		labels = rapid.Permutation(labels).Draw(t, "labels'")
		order := make([]int, len(in.Ends))
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "order")
		other := sequence.Threads{Count: in.Count, Counting: in.Counting}
		for _, from := range order {
			begin := 0
			if from > 0 {
				begin = in.Ends[from-1]
			}
			for i := begin; i < in.Ends[from]; i++ {
				other.Labels = append(other.Labels, labels[in.Labels[i]])
				other.DurationNS = append(other.DurationNS, in.DurationNS[i])
			}
			other.Ends = append(other.Ends, len(other.Labels))
			if in.Anchors != nil {
				other.Anchors = append(other.Anchors, in.Anchors[from])
			}
		}
		got := align(t, other, rapid.IntRange(1, 4).Draw(t, "workers"))
		if math.Float64bits(got.Global) != math.Float64bits(want.Global) {
			t.Fatalf("global %v, permuted %v", want.Global, got.Global)
		}
		for i, l := range want.Labels {
			if g := got.Labels[labels[i]]; math.Float64bits(g.Score) != math.Float64bits(l.Score) || g.Columns != l.Columns {
				t.Fatalf("label %d: %+v, permuted %+v", i, l, g)
			}
		}
		if len(got.Shared) != len(want.Shared) || got.Segments != want.Segments || got.Distinct != want.Distinct {
			t.Fatalf("%+v, permuted %+v", want, got)
		}
	})
}

// Sequences that differ from a common one in few places far apart are aligned as well as can be: only what was taken
// out or put in lowers a score.
func TestFewDifferences(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		const length, ranks = 4000, 8
		common := make([]int32, length)
		for i := range common {
			common[i] = int32(1 + i%9*i%7)
		}
		var sequences [][]int32
		edits := 0
		for range ranks {
			s := slices.Clone(common)
			for range 3 {
				at := 50 + random.IntN(length-200)
				s = slices.Insert(s, at, 60) // no other thread does that
				edits++
			}
			sequences = append(sequences, s)
		}
		got := align(t, threads(61, sequences...), 2)
		for label, l := range got.Labels {
			want := 1.
			if label == 60 {
				want = 1. / ranks
			}
			if l.Bursts > 0 && math.Abs(l.Score-want) > 1e-12 && (label != 60 || l.Score < want || l.Score > 2*want) {
				t.Errorf("seed %d: label %d has the score %v, want %v", seed, label, l.Score, want)
			}
		}
		if got.Labels[60].Bursts != edits {
			t.Fatalf("%d insertions, planted %d", got.Labels[60].Bursts, edits)
		}
	}
}

// Labels that could trade places leave several orders open in which to align: none may show.
func TestSymmetricLabels(t *testing.T) {
	for _, sequences := range [][][]int32{
		{{1, 1, 1}, {1, 0, 1}, {0, 1, 0}, {0, 0, 0}},
		{{1, 1, 0}, {1, 0, 1}, {0, 1, 0}, {0, 0, 1}},
		{{0, 0}, {0, 1}, {1, 0}, {1, 2}, {2, 2}, {2, 1}},
		{{1, 2}, {2, 2}, {1, 1}, {2, 1}, {0, 2}, {0, 1}},
		{{3, 2}, {1, 0}, {2}, {2, 1}, {0, 1}, {2, 0}},
	} {
		counting := false
		score := func(sequences [][]int32) float64 {
			in := threads(4, sequences...)
			in.Counting = counting
			for i := range in.DurationNS {
				in.DurationNS[i] = 1
			}
			return align(t, in, 1).Global
		}
		for _, counting = range []bool{false, true} {
			want := score(sequences)
			permutations(len(sequences), func(order []int) {
				permutations(4, func(name []int) {
					var renamed [][]int32
					for _, i := range order {
						var s []int32
						for _, label := range sequences[i] {
							s = append(s, int32(name[label]))
						}
						renamed = append(renamed, s)
					}
					if got := score(renamed); got != want {
						t.Fatalf("%v: score %v; of %v it is %v (counting %v)", sequences, want, renamed, got, counting)
					}
				})
			})
		}
	}
}

// permutations calls each with every order of the numbers below n.
func permutations(n int, each func([]int)) {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	var from func(int)
	from = func(i int) {
		if i == n {
			each(list)
			return
		}
		for k := i; k < n; k++ {
			list[i], list[k] = list[k], list[i]
			from(i + 1)
			list[i], list[k] = list[k], list[i]
		}
	}
	from(0)
}
