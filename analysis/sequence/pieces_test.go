package sequence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/sequence"
)

// cutUp is what the threads do by segment, alike pieces being distinguished or together, and idle ones left out or not.
func cutUp(t *rapid.T, in sequence.Threads) (pieces []sequence.Piece, threads int, sums []sequence.Sums) {
	common := make(map[uint64]int)
	begin := 0
	for thread, end := range in.Ends {
		if end > begin {
			threads++
			if in.Anchors != nil {
				for _, a := range in.Anchors[thread] {
					common[a.Event]++
				}
			}
		}
		begin = end
	}
	sums = make([]sequence.Sums, in.Count)
	for i, label := range in.Labels {
		sums[label].Bursts++
		sums[label].TimeNS += in.DurationNS[i]
	}
	last := uint64(0)
	for _, n := range common {
		if n == threads {
			last++
		}
	}
	begin = 0
	sawLast := false
	for thread, end := range in.Ends {
		segment, from := uint64(0), 0
		add := func(to int) {
			idle := from == to && (segment < last || sawLast)
			if !idle || rapid.Bool().Draw(t, "tell") {
				sawLast = sawLast || segment == last
				pieces = append(pieces, sequence.Piece{Segment: segment, Labels: in.Labels[begin+from : begin+to], Threads: 1})
			}
			segment, from = segment+1, to
		}
		if end > begin {
			if in.Anchors != nil {
				for _, a := range in.Anchors[thread] {
					if common[a.Event] == threads {
						add(a.At)
					}
				}
			}
			add(end - begin)
		}
		begin = end
	}
	pieces = rapid.Permutation(pieces).Draw(t, "order")
	if rapid.Bool().Draw(t, "together") {
		pieces = together(pieces)
	}
	return pieces, threads, sums
}

// together makes one of the pieces that are alike.
func together(pieces []sequence.Piece) []sequence.Piece {
	var list []sequence.Piece
	for _, p := range pieces {
		at := slices.IndexFunc(list, func(q sequence.Piece) bool { return q.Segment == p.Segment && slices.Equal(q.Labels, p.Labels) })
		if at < 0 {
			list = append(list, p)
		} else {
			list[at].Threads += p.Threads
		}
	}
	return list
}

// drawSymmetric draws threads whose labels could often trade places, which leaves orders open in which to align: some
// have an image in which each two labels have done so.
func drawSymmetric(t *rapid.T) sequence.Threads {
	in := sequence.Threads{Count: 4, Anchors: [][]sequence.Anchor{}, Counting: rapid.Bool().Draw(t, "counting")}
	segments := rapid.IntRange(1, 6).Draw(t, "segments")
	add := func(parts [][]int32, swap int32) {
		var anchors []sequence.Anchor
		begin := len(in.Labels)
		for s, labels := range parts {
			for _, label := range labels {
				in.Labels = append(in.Labels, label^swap)
			}
			anchors = append(anchors, sequence.Anchor{At: len(in.Labels) - begin, Event: uint64(s)})
		}
		in.Ends, in.Anchors = append(in.Ends, len(in.Labels)), append(in.Anchors, anchors)
	}
	images := rapid.Bool().Draw(t, "images")
	for range rapid.IntRange(2, 7).Draw(t, "threads") {
		parts := rapid.SliceOfN(rapid.SliceOfN(rapid.Int32Range(0, 3), 0, 3), segments, segments).Draw(t, "labels")
		add(parts, 0)
		if images {
			add(parts, 1)
		}
	}
	in.DurationNS = slices.Repeat([]int64{1}, len(in.Labels))
	return in
}

// What threads do by segment, in any order, comes to the score of the threads themselves, to the last bit.
func TestPiecesAreAsGood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in sequence.Threads
		if rapid.Bool().Draw(t, "symmetric") {
			in = drawSymmetric(t)
		} else {
			in = drawThreads(t)
		}
		if in.Anchors != nil && rapid.Bool().Draw(t, "a thread without bursts") {
			in.Ends, in.Anchors = append(in.Ends, len(in.Labels)), append(in.Anchors, nil)
		}
		want := align(t, in, 1)
		pieces, threads, sums := cutUp(t, in)
		got, err := sequence.AlignPieces(pieces, threads, sums, in.Counting, rapid.IntRange(1, 4).Draw(t, "workers"))
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) { // NaN is as NaN here
			t.Fatalf("%v:\n%+v, of the threads\n%+v", pieces, got, want)
		}
	})
}

// Where labels could trade places it still does not matter which thread comes first.
func TestOrderDoesNotMatterToSymmetricLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawSymmetric(t)
		order := make([]int, len(in.Ends))
		for i := range order {
			order[i] = i
		}
		other := sequence.Threads{Count: in.Count, DurationNS: in.DurationNS, Counting: in.Counting}
		for _, from := range rapid.Permutation(order).Draw(t, "order") {
			begin := 0
			if from > 0 {
				begin = in.Ends[from-1]
			}
			other.Labels = append(other.Labels, in.Labels[begin:in.Ends[from]]...)
			other.Ends, other.Anchors = append(other.Ends, len(other.Labels)), append(other.Anchors, in.Anchors[from])
		}
		got, want := align(t, other, 1), align(t, in, 1)
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Fatalf("%+v, in another order %+v", want, got)
		}
	})
}

func TestPiecesByHand(t *testing.T) {
	sums := []sequence.Sums{{}, {Bursts: 6, TimeNS: 60}, {Bursts: 1, TimeNS: 30}}
	got, err := sequence.AlignPieces([]sequence.Piece{
		{Segment: 5, Labels: []int32{1}, Threads: 1},
		{Segment: 2, Labels: []int32{1, 2}, Threads: 1},
		{Segment: 2, Labels: []int32{1}, Threads: 1},
		{Segment: 5, Labels: []int32{1}, Threads: 2},
		{Segment: 2, Labels: []int32{1}, Threads: 1},
	}, 3, sums, false, 2)
	if err != nil {
		t.Fatal(err)
	}
	// In segment 2 one of three does 2; in segments 0, 1, 3 and 4 no thread does anything.
	if want := (60. + 30./3) / 90; got.Global != want || got.Segments != 6 || got.Distinct != 4+2+1 || got.Labels[1].Score != 1 {
		t.Errorf("%+v, want the score %v", got, want)
	}
	for threads, pieces := range [][]sequence.Piece{nil, {{Segment: 3, Labels: []int32{1}, Threads: 1}}} {
		got, err := sequence.AlignPieces(pieces, threads, sums, false, 0)
		if err != nil || got.Defined() || got.Segments != 1 || got.Distinct != threads || got.Labels[1].Bursts != 6 {
			t.Errorf("%d threads: %+v, %v", threads, got, err)
		}
	}
}

func TestBadPieces(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(p []sequence.Piece, sums []sequence.Sums, threads *int)
	}{
		{"segment 4: piece 1: burst 1 has label 2: want a label from 0 to 1", func(p []sequence.Piece, _ []sequence.Sums, _ *int) { p[1].Labels[1] = 2 }},
		{"label -1", func(p []sequence.Piece, _ []sequence.Sums, _ *int) { p[0].Labels[0] = -1 }},
		{"segment 4: piece 2 is of 3 threads, and those before it are of 2", func(p []sequence.Piece, _ []sequence.Sums, _ *int) { p[2].Threads = 3 }},
		{"piece 0 is of 0 threads", func(p []sequence.Piece, _ []sequence.Sums, _ *int) { p[0].Threads = 0 }},
		{"piece 2 is of 9223372036854775807 threads", func(p []sequence.Piece, _ []sequence.Sums, _ *int) { p[2].Threads = 1<<63 - 1 }},
		{"-1 threads", func(_ []sequence.Piece, _ []sequence.Sums, n *int) { *n = -1 }},
		{"label 1 has 3 bursts of -5 ns", func(_ []sequence.Piece, s []sequence.Sums, _ *int) { s[1].TimeNS = -5 }},
		{"label 0 has -1 bursts", func(_ []sequence.Piece, s []sequence.Sums, _ *int) { s[0].Bursts = -1 }},
		{"piece 1 is of segment 2147483648", func(p []sequence.Piece, _ []sequence.Sums, _ *int) { p[1].Segment = 1 << 31 }},
	} {
		pieces := []sequence.Piece{{Segment: 0, Labels: []int32{0}, Threads: 4}, {Segment: 4, Labels: []int32{1, 0}, Threads: 2}, {Segment: 4, Labels: []int32{1}, Threads: 2}}
		sums, threads := []sequence.Sums{{Bursts: 6, TimeNS: 6}, {Bursts: 3, TimeNS: 3}}, 4
		if _, err := sequence.AlignPieces(pieces, threads, sums, false, 2); err != nil {
			t.Fatal(err)
		}
		c.spoil(pieces, sums, &threads)
		if _, err := sequence.AlignPieces(pieces, threads, sums, false, 2); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %q", err, c.want)
		}
	}
}

// The hash depends on labels, their order and their number.
func TestHashOf(t *testing.T) {
	seen := make(map[sequence.Hash][]int32)
	for _, labels := range [][]int32{nil, {0}, {0, 0}, {1}, {1, 0}, {0, 1}, {-1}, {1 << 30}} {
		h := sequence.HashOf(labels)
		if other, is := seen[h]; is {
			t.Errorf("%v and %v have one hash", labels, other)
		}
		if h != sequence.HashOf(slices.Clone(labels)) {
			t.Errorf("%v has two hashes", labels)
		}
		seen[h] = labels
	}
}
