package sequence_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"moriens/analysis/sequence"
	"moriens/internal/testenv"
)

func shuffledScore(t testing.TB, in sequence.Threads, workers int) float64 {
	s, err := sequence.Shuffled(in, workers)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shuffle shuffles the labels of each thread.
func shuffle(in sequence.Threads, random *rand.Rand) sequence.Threads {
	out := in
	out.Labels, out.DurationNS = append([]int32(nil), in.Labels...), append([]int64(nil), in.DurationNS...)
	begin := 0
	for _, end := range in.Ends {
		l, d := out.Labels[begin:end], out.DurationNS[begin:end]
		random.Shuffle(len(l), func(i, j int) { l[i], l[j], d[i], d[j] = l[j], l[i], d[j], d[i] })
		begin = end
	}
	return out
}

func TestShuffledByHand(t *testing.T) {
	for _, counting := range []bool{false, true} {
		// One label cannot be shuffled.
		in := threads(2, repeated(500, 1), repeated(500, 1), repeated(500, 1))
		in.Counting = counting
		if got := shuffledScore(t, in, 1); got != 1 {
			t.Errorf("one label: %v", got)
		}
		// Nothing is in common, in whatever order.
		in = threads(4, repeated(300, 0), repeated(300, 1, 2))
		in.Counting = counting
		if got := shuffledScore(t, in, 2); math.Abs(got-.5) > 1e-12 {
			t.Errorf("nothing in common: %v", got)
		}
		for _, in := range []sequence.Threads{{}, threads(3, []int32{1, 2}), threads(3, nil, []int32{1, 2}, nil)} {
			in.Counting = counting
			if got := shuffledScore(t, in, 1); !math.IsNaN(got) {
				t.Errorf("%+v: %v", in, got)
			}
		}
	}
	bad := threads(1, []int32{1}, []int32{0})
	if _, err := sequence.Shuffled(bad, 1); err == nil {
		t.Error("a label out of range")
	}
}

// Where anchors leave nothing to align the score is that of a column whose threads draw by themselves.
func TestShuffledColumns(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 3))
	for _, ranks := range []int{2, 5, 40} {
		in := sequence.Threads{Count: 4}
		const length = 10_000
		share := []float64{.1, .2, .3, .4}
		for range ranks {
			var anchors []sequence.Anchor
			for i := range length {
				label := int32(0)
				for x := random.Float64(); label < 3 && x >= share[label]; label++ {
					x -= share[label]
				}
				in.Labels, in.DurationNS = append(in.Labels, label), append(in.DurationNS, 10)
				anchors = append(anchors, sequence.Anchor{At: i, Event: uint64(i)})
			}
			in.Ends, in.Anchors = append(in.Ends, len(in.Labels)), append(in.Anchors, anchors)
		}
		want := 0.
		for _, p := range share { // p is also the share of the time
			want += p * p / (1 - math.Pow(1-p, float64(ranks)))
		}
		if got := shuffledScore(t, in, 2); math.Abs(got-want) > .005 {
			t.Errorf("%d ranks: %v, want %v", ranks, got, want)
		}
	}
}

// It is the score of threads that are shuffled, as Align has it: on average, for both are drawn.
func TestShuffledIsAsAligned(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 4))
	for _, c := range []struct{ ranks, length int }{{2, 50_000}, {7, 10_000}, {100, 1000}, {1000, 100}} {
		for _, anchored := range []bool{false, true} {
			const draws = 5
			got, want := 0., 0.
			for range draws {
				in := disturbed(c.ranks, c.length, .05, anchored, random.Uint64())
				in.Counting = true
				score := shuffledScore(t, in, 2)
				got, want = got+score/draws, want+align(t, shuffle(in, random), 2).Global/draws
				if score > align(t, in, 2).Global {
					t.Errorf("%d ranks of %d bursts, anchors %v: more than in order", c.ranks, c.length, anchored)
				}
			}
			t.Logf("%d ranks of %d bursts, anchors %v: %.4f, all bursts aligned %.4f", c.ranks, c.length, anchored, got, want)
			if math.Abs(got-want) > .015 {
				t.Errorf("%d ranks of %d bursts, anchors %v: %v, all bursts aligned %v", c.ranks, c.length, anchored, got, want)
			}
		}
	}
}

// No bit depends on the order of threads, on names of labels, on workers or members.
func TestShuffledDoesNotDepend(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 5))
	for _, anchored := range []bool{false, true} {
		for _, length := range []int{300, 220_000} { // all bursts, or a part
			if testing.Short() && length > 1000 && anchored {
				continue // the race detector takes half a minute
			}
			in := disturbed(4, length, .1, anchored, random.Uint64())
			in.Counting = true
			// Threads that are alike, and one without bursts.
			in.Labels, in.DurationNS = append(in.Labels, in.Labels[:in.Ends[0]]...), append(in.DurationNS, in.DurationNS[:in.Ends[0]]...)
			in.Ends = append(in.Ends, len(in.Labels), len(in.Labels))
			if anchored {
				in.Anchors = append(in.Anchors, in.Anchors[0], nil)
			}
			want := shuffledScore(t, in, 1)
			step := 1
			if length > 1000 {
				step = 3
			}
			for workers := 2; workers <= 8; workers += step {
				if got := shuffledScore(t, in, workers); got != want {
					t.Fatalf("%d workers: %v, one: %v", workers, got, want)
				}
			}
			other, _ := permuted(in, random)
			if got := shuffledScore(t, other, 2); got != want {
				t.Fatalf("permuted: %v, want %v", got, want)
			}
			for members := 2; members <= 5; members += step {
				of := make([]int32, len(in.Ends))
				for i := range of {
					of[i] = int32(random.IntN(members))
				}
				scores, errs := shared(in, of, members, sequence.Shuffled)
				for rank, got := range scores {
					if errs[rank] != nil || got != want {
						t.Fatalf("member %d of %d: %v (%v), want %v", rank, members, got, errs[rank], want)
					}
				}
			}
		}
	}
}

// columnExpectation is what a shuffle gives if its columns are those of the ordinals: what Shuffled is not.
func columnExpectation(in sequence.Threads) float64 {
	none := make([]float64, in.Count) // by label, the share of columns without it
	bursts, time := make([]float64, in.Count), make([]float64, in.Count)
	for i := range none {
		none[i] = 1
	}
	begin, length, total := 0, 0, 0.
	for _, end := range in.Ends {
		own := make([]float64, in.Count)
		for i := begin; i < end; i++ {
			own[in.Labels[i]]++
			time[in.Labels[i]] += float64(in.DurationNS[i])
			total += float64(in.DurationNS[i])
		}
		for label, n := range own {
			none[label] *= 1 - n/float64(end-begin)
			bursts[label] += n
		}
		length, begin = max(length, end-begin), end
	}
	score := 0.
	for label, n := range bursts {
		if n > 0 {
			score += time[label] / total * n / (float64(len(in.Ends)*length) * (1 - none[label]))
		}
	}
	return score
}

// BenchmarkShuffled says beside the score of a shuffle what all shuffled bursts, aligned, and what columns without gaps
// would have.
func BenchmarkShuffled(b *testing.B) {
	for _, ranks := range []int{2, 100, 10_000} {
		for _, anchored := range []bool{false, true} {
			in := disturbed(ranks, 9_600_000/ranks, .12, anchored, 1)
			in.Counting = true
			s, err := sequence.Align(shuffle(in, rand.New(rand.NewPCG(1, 6))), 2)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("ranks=%d/anchored=%v", ranks, anchored), func(b *testing.B) {
				var got float64
				for b.Loop() {
					got = shuffledScore(b, in, 2)
				}
				b.ReportMetric(got, "shuffled")
				b.ReportMetric(s.Global, "all")
				b.ReportMetric(columnExpectation(in), "columns")
			})
		}
	}
}
