package sequence_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"moriens/analysis/sequence"
	"moriens/internal/testenv"
)

// permuted are the threads in another order, their labels under other names.
func permuted(in sequence.Threads, random *rand.Rand) (out sequence.Threads, names []int) {
	names = random.Perm(in.Count)
	out = sequence.Threads{Count: in.Count, Counting: in.Counting}
	for _, from := range random.Perm(len(in.Ends)) {
		begin := 0
		if from > 0 {
			begin = in.Ends[from-1]
		}
		for i := begin; i < in.Ends[from]; i++ {
			out.Labels = append(out.Labels, int32(names[in.Labels[i]]))
			out.DurationNS = append(out.DurationNS, in.DurationNS[i])
		}
		out.Ends = append(out.Ends, len(out.Labels))
		if in.Anchors != nil {
			out.Anchors = append(out.Anchors, in.Anchors[from])
		}
	}
	return out, names
}

// asPieces are the segments of threads that all have the same anchors.
func asPieces(in sequence.Threads) (pieces []sequence.Piece, sums []sequence.Sums) {
	sums = make([]sequence.Sums, in.Count)
	for i, label := range in.Labels {
		sums[label].Bursts++
		sums[label].TimeNS += in.DurationNS[i]
	}
	begin := 0
	for t, end := range in.Ends {
		from, segment := begin, uint64(0)
		if in.Anchors != nil {
			for _, x := range in.Anchors[t] {
				pieces = append(pieces, sequence.Piece{Segment: segment, Labels: in.Labels[from : begin+x.At], Threads: 1})
				from, segment = begin+x.At, segment+1
			}
		}
		pieces = append(pieces, sequence.Piece{Segment: segment, Labels: in.Labels[from:end], Threads: 1})
		begin = end
	}
	return pieces, sums
}

// Over many blocks too, no bit depends on workers, members, the order of threads, the names of labels, or on whether
// sequences come in pieces.
func TestCountingOfMany(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	for _, share := range []float64{.005, .04, .12, .5} {
		for _, anchored := range []bool{false, true} {
			in := disturbed(2+random.IntN(5), 2000+random.IntN(3000), share, anchored, random.Uint64())
			in.Counting = true
			want := align(t, in, 1)
			text := fmt.Sprintf("%+v", want)
			for workers := 2; workers <= 8; workers++ {
				if got := align(t, in, workers); fmt.Sprintf("%+v", got) != text {
					t.Fatalf("%d workers: %+v, want %s", workers, got, text)
				}
			}
			for members := 1; members <= 5; members++ {
				of := make([]int32, len(in.Ends))
				for i := range of {
					of[i] = int32(random.IntN(members))
				}
				requireSameScore(t, in, of, members)
			}
			pieces, sums := asPieces(in)
			random.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
			got, err := sequence.AlignPieces(pieces, len(in.Ends), sums, true, 3)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%+v", got) != text {
				t.Fatalf("pieces: %+v, want %s", got, text)
			}
			other, names := permuted(in, random)
			got = align(t, other, 2)
			if got.Global != want.Global || got.Counted != want.Counted || len(got.Shared) != len(want.Shared) {
				t.Fatalf("permuted: %+v, want %s", got, text)
			}
			for i, l := range want.Labels {
				if got.Labels[names[i]] != l {
					t.Fatalf("label %d: %+v, permuted %+v", i, l, got.Labels[names[i]])
				}
			}
		}
	}
}

// Where edits are feasible the score by counting is at most .01 away where few bursts differ, and .02 where more do.
// Where most blocks differ it is .02 away on average, and seldom more than .03.
func TestCountingIsCloseToEdits(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 1))
	var all, n float64
	for _, c := range []struct{ ranks, length int }{{2, 20_000}, {4, 5000}, {16, 2000}, {100, 500}} {
		for _, anchored := range []bool{false, true} {
			for _, of := range []struct {
				share      float64
				draws      int
				most, mean float64 // away: each, and all draws on average
			}{{0, 1, .01, .01}, {.01, 1, .01, .01}, {.03, 1, .02, .02}, {.12, 5, .06, .02}} {
				away := 0.
				for range of.draws {
					in := disturbed(c.ranks, c.length, of.share, anchored, random.Uint64())
					edits := align(t, in, 2)
					in.Counting = true
					counting := align(t, in, 2)
					t.Logf("%d ranks, anchors %v, %v disturbed: edits %.4f, counting %.4f of %.2f", c.ranks, anchored, of.share, edits.Global, counting.Global, counting.Counted)
					d := math.Abs(edits.Global - counting.Global)
					if away += d / float64(of.draws); d > of.most {
						t.Errorf("%d ranks, anchors %v, %v disturbed: edits %v, counting %v", c.ranks, anchored, of.share, edits.Global, counting.Global)
					}
					if edits.Counted != 0 || of.share == 0 && counting.Counted != 0 || !anchored && of.share == .12 && counting.Counted < .4 {
						t.Errorf("%d ranks, anchors %v, %v disturbed: %v counted, by edits %v", c.ranks, anchored, of.share, counting.Counted, edits.Counted)
					}
				}
				if away > of.mean {
					t.Errorf("%d ranks, anchors %v, %v disturbed: on average %v away", c.ranks, anchored, of.share, away)
				}
				all, n = all+away, n+1
			}
		}
	}
	if all/n > .01 {
		t.Errorf("on average %v away", all/n)
	}
}

// What one thread alone does between bursts that differ spoils nothing behind it: of 20,000 bursts each .02 of the
// score at most, but where a fifth is disturbed. There it can take two thousand bursts to find back, seldom, so the
// mean is asked. An aligner that never finds back loses .12 to .24, and .03 on average.
func TestCountingGoesOnBehindWhatOneDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 2))
	for _, share := range []float64{.02, .12, .2} {
		var lost, n float64
		for _, alone := range []int{1, 7, 60, 200, 600} {
			for _, alien := range []bool{true, false} {
				in := disturbedLoop(2, 20_000, 20_000, share, false, random.Uint64()) // a loop would agree again after an iteration
				first, second := in.Labels[:in.Ends[0]], in.Labels[in.Ends[0]:]
				score := func(first []int32) float64 {
					in := threads(7, first, second)
					in.Counting = true
					var sum, n float64
					for _, l := range align(t, in, 1).Labels[:6] {
						sum, n = sum+l.Score, n+1
					}
					return sum / n
				}
				with := make([]int32, alone)
				for i := range with {
					if with[i] = 6; !alien {
						with[i] = int32(random.IntN(6))
					}
				}
				less := score(first) - score(slices.Insert(slices.Clone(first), 4000, with...))
				if !alien { // these have columns too
					less -= float64(alone) / 40_000
				}
				if lost, n = lost+less, n+1; share < .2 && less > .02 {
					t.Errorf("%v disturbed, %d bursts alone (alien %v): %v lost", share, alone, alien, less)
				}
			}
		}
		if lost/n > .025 {
			t.Errorf("%v disturbed: %v lost on average", share, lost/n)
		}
	}
}

// Half of the bursts are counted where the second of two threads differs everywhere.
func TestCounted(t *testing.T) {
	in := threads(4, repeated(3000, 0), repeated(3000, 1))
	in.Counting = true
	if s := align(t, in, 1); s.Counted != .5 || s.Global != .5 || s.Labels[0].Columns != 3000 || len(s.Shared) != 1 || s.Shared[0].Columns != 3000 {
		t.Errorf("%+v", s)
	}
	// What is disturbed in one stretch is counted there alone: 1,000 of 200,000 bursts, and a block or so.
	first := disturbed(1, 100_000, 0, false, 3).Labels
	second := slices.Clone(first)
	for i := 50_000; i < 51_000; i += 3 {
		second[i] = 7
	}
	in = threads(8, first, second)
	in.Counting = true
	if s := align(t, in, 1); s.Counted < .004 || s.Counted > .008 || s.Labels[7].Columns != 334 {
		t.Errorf("counted %v of the bursts: %+v", s.Counted, s.Labels)
	}
	if s := align(t, threads(2, repeated(9, 1)), 1); s.Counted != 0 {
		t.Errorf("one thread: %+v", s)
	}
}
